#ifndef ADDONS_CLI_COUNT_REASONS_H_
#define ADDONS_CLI_COUNT_REASONS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace addons {

/// Something and why it is so.
struct Reasoned {
  std::string name;
  std::string reason;
};

/// More of them than this are counted before they are listed: a list of
/// hundreds scrolls away what is said above it.
inline constexpr size_t kMostListed = 20;

struct CountedReason {
  std::string reason;  // of the first of them, without its object
  size_t count = 0;
  std::vector<std::string> names;  // of the first three
};

/// The most frequent first. Reasons that differ in numbers alone, or in the
/// object that they begin with, are one.
std::vector<CountedReason> GroupReasons(const std::vector<Reasoned>& all);

/// A line for each of GroupReasons(): "  137: it is in use (pool/a, pool/b,
/// pool/c and 134 more)".
std::string CountReasons(const std::vector<Reasoned>& all);

}  // namespace addons

#endif  // ADDONS_CLI_COUNT_REASONS_H_
