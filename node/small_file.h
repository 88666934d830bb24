#ifndef ADDONS_NODE_SMALL_FILE_H_
#define ADDONS_NODE_SMALL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace addons {

/// The content of a file of /proc or /sys, whatever size it says to have;
/// nullopt when it cannot be read (errno says why) or has more than 16 MiB.
std::optional<std::string> ReadSmallFile(const std::string& path);

/// The same without white space at both ends, as sysfs attributes are read.
std::optional<std::string> ReadAttribute(const std::string& path);

/// An attribute that is a decimal number; nullopt also when it is none.
std::optional<uint64_t> ReadNumber(const std::string& path);

}  // namespace addons

#endif  // ADDONS_NODE_SMALL_FILE_H_
