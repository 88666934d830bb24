#ifndef ADDONS_BASE_UUID_H_
#define ADDONS_BASE_UUID_H_

#include <cstddef>
#include <string>

namespace addons {

/// Of a uuid as text.
inline constexpr size_t kUuidLength = 36;

/// A random uuid (RFC 4122 version 4), 36 characters in lower case, from the
/// system's random numbers. Thread-safe.
std::string NewUuid();

}  // namespace addons

#endif  // ADDONS_BASE_UUID_H_
