#include "cli/count_reasons.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/without_numbers.h"
#include "cli/volume_name.h"

namespace addons {
namespace {

constexpr absl::string_view kAfterObject = "'): ";
constexpr absl::string_view kUuid = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
/// What is called so is a place, and "there" is another one in each of them.
constexpr absl::string_view kPlaces[] = {"site '", "cluster '", "pool '"};

/// How many bytes at the beginning of the text are the name of a place; 0: it
/// begins with none.
size_t PlaceAtBegin(absl::string_view text) {
  for (const absl::string_view place : kPlaces) {
    if (!absl::StartsWith(text, place)) continue;
    const size_t end = text.find('\'', place.size());
    return end == absl::string_view::npos ? 0 : end + 1;
  }
  return 0;
}

/// What the texts of all that are counted as one have in common.
std::string CommonText(absl::string_view text,
                       const std::vector<std::string>& objects) {
  std::string same(text);
  for (const std::string& object : objects) {
    if (!object.empty()) {
      same = absl::StrReplaceAll(same, {{object, "@"}});
    }
  }
  std::string common;
  std::string others;
  const auto end_others = [&] {
    common += WithoutNumbers(others);
    others.clear();
  };
  for (absl::string_view left = same; !left.empty();) {
    size_t length = 1;
    if (BeginsAs(kUuid, left)) {
      length = kUuid.size();
      others += '0';
    } else if (const size_t place = PlaceAtBegin(left); place > 0) {
      length = place;
      end_others();
      absl::StrAppend(&common, left.substr(0, place));
    } else {
      others += left.front();
    }
    left.remove_prefix(length);
  }
  end_others();
  return common;
}

}  // namespace

std::string ReasonAlone(absl::string_view reason) {
  const size_t end = reason.rfind(kAfterObject);
  if (end != absl::string_view::npos) {
    reason.remove_prefix(end + kAfterObject.size());
  }
  return std::string(reason);
}

std::vector<CountedReason> GroupReasons(const std::vector<Reasoned>& all) {
  std::map<std::tuple<std::string, std::string, std::string>, CountedReason>
      groups;
  for (size_t i = 0; i < all.size(); ++i) {
    const Reasoned& one = all[i];
    std::string reason = ReasonAlone(one.reason);
    CountedReason& group = groups[{one.kind, CommonText(reason, one.objects),
                                   CommonText(one.remedy, one.objects)}];
    if (!one.kind.empty()) {
      reason = absl::StrCat(one.kind, reason.empty() ? "" : ": ", reason);
    }
    if (group.count++ == 0) {
      group.reason = reason;
      group.remedy = one.remedy;
    }
    group.reasons_differ = group.reasons_differ || group.reason != reason;
    group.remedies_differ = group.remedies_differ || group.remedy != one.remedy;
    if (group.names.size() < kMostNamed) group.names.push_back(one.name);
    group.members.push_back(i);
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

std::string NamesOf(const CountedReason& group) {
  const size_t more = group.count - group.names.size();
  return absl::StrCat(absl::StrJoin(group.names, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

std::string CountReasons(const std::vector<Reasoned>& all) {
  std::string text;
  for (const CountedReason& group : GroupReasons(all)) {
    absl::StrAppend(&text, "  ", group.count, ": ", group.reason, " (",
                    NamesOf(group), ")\n");
  }
  return text;
}

}  // namespace addons
