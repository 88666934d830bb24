#include "cli/count_reasons.h"

#include <algorithm>
#include <map>

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

std::string CountReasons(const std::vector<Reasoned>& all) {
  struct Group {
    std::string reason;
    size_t count = 0;
    std::vector<std::string> names;
  };
  std::map<std::string, Group> groups;
  for (const Reasoned& one : all) {
    const std::string reason = WithoutObject(one.reason);
    Group& group = groups[WithoutNumbers(reason)];
    if (group.count++ == 0) group.reason = reason;
    if (group.names.size() < kNames) group.names.push_back(one.name);
  }
  std::vector<const Group*> sorted;
  sorted.reserve(groups.size());
  for (const auto& [kind, group] : groups) sorted.push_back(&group);
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const Group* a, const Group* b) { return a->count > b->count; });
  std::string text;
  for (const Group* group : sorted) {
    const size_t more = group->count - group->names.size();
    absl::StrAppend(&text, "  ", group->count, ": ", group->reason, " (",
                    absl::StrJoin(group->names, ", "),
                    more == 0 ? "" : absl::StrCat(" and ", more, " more"),
                    ")\n");
  }
  return text;
}

}  // namespace addons
