#ifndef ADDONS_CLI_COUNT_REASONS_H_
#define ADDONS_CLI_COUNT_REASONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace addons {

/// Something and why it is so.
struct Reasoned {
  std::string name;
  std::string reason;
  std::string kind{};    // said before the reason, and part of it
  std::string remedy{};  // what to do about it; empty: nothing is said
  /// What its texts may call it by: its image, its id.
  std::vector<std::string> objects{};
};

/// More of them than this are counted before they are listed: a list of
/// hundreds scrolls away what is said above it.
inline constexpr size_t kMostListed = 20;
/// So many of those that are counted are named.
inline constexpr size_t kMostNamed = 3;

struct CountedReason {
  std::string reason;    // of the first of them, without its object
  std::string remedy{};  // of the first of them
  /// Not all say the same, but for numbers and what they call the object.
  bool reasons_differ = false;
  bool remedies_differ = false;
  size_t count = 0;
  std::vector<std::string> names;  // of the first three
  std::vector<size_t> members;     // where each of them stands
};

/// `reason` without the object that it begins with.
std::string ReasonAlone(absl::string_view reason);

/// The most frequent first. Reasons that differ in numbers alone, in UUIDs, or
/// in what they call the object, are one, if that is so of their remedies, too.
/// The names of sites, clusters and pools have to be the same to the letter.
std::vector<CountedReason> GroupReasons(const std::vector<Reasoned>& all);

/// "pool/a, pool/b, pool/c and 134 more".
std::string NamesOf(const CountedReason& group);

/// A line for each of GroupReasons(): "  137: it is in use (pool/a, pool/b,
/// pool/c and 134 more)".
std::string CountReasons(const std::vector<Reasoned>& all);

}  // namespace addons

#endif  // ADDONS_CLI_COUNT_REASONS_H_
