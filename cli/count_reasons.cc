#include "cli/count_reasons.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/without_numbers.h"

namespace addons {
namespace {

constexpr size_t kNames = 3;
constexpr absl::string_view kAfterObject = "'): ";

std::string WithoutObject(absl::string_view reason) {
  const size_t end = reason.rfind(kAfterObject);
  if (end != absl::string_view::npos) {
    reason.remove_prefix(end + kAfterObject.size());
  }
  return std::string(reason);
}

}  // namespace

std::vector<CountedReason> GroupReasons(const std::vector<Reasoned>& all) {
  std::map<std::string, CountedReason> groups;
  for (const Reasoned& one : all) {
    const std::string reason = WithoutObject(one.reason);
    CountedReason& group = groups[WithoutNumbers(reason)];
    if (group.count++ == 0) group.reason = reason;
    if (group.names.size() < kNames) group.names.push_back(one.name);
  }
  std::vector<CountedReason> sorted;
  sorted.reserve(groups.size());
  for (auto& [kind, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CountedReason& a, const CountedReason& b) {
                     return a.count > b.count;
                   });
  return sorted;
}

std::string CountReasons(const std::vector<Reasoned>& all) {
  std::string text;
  for (const CountedReason& group : GroupReasons(all)) {
    const size_t more = group.count - group.names.size();
    absl::StrAppend(&text, "  ", group.count, ": ", group.reason, " (",
                    absl::StrJoin(group.names, ", "),
                    more == 0 ? "" : absl::StrCat(" and ", more, " more"),
                    ")\n");
  }
  return text;
}

}  // namespace addons
