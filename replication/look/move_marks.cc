#include "replication/look/move_marks.h"

#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace addons {
std::string FormatRefusedDemotion(const RefusedDemotion& refused) {
  nlohmann::json object = {{"workload", refused.workload},
                           {"since", refused.since},
                           {"told", refused.told}};
  if (refused.after != 0) object["after"] = refused.after;
  return AsciiJsonText(object);
}

RefusedDemotion ParseRefusedDemotion(const std::string& text) {
  RefusedDemotion refused;
  const nlohmann::json object = ParseJson(text);
  const auto take = [&](const char* key, std::string* value) {
    const auto it = object.find(key);
    if (it != object.end() && it->is_string()) *value = *it;
  };
  bool told = false;
  if (object.is_object()) {
    take("workload", &refused.workload);
    take("since", &refused.since);
    if (const auto it = object.find("told");
        it != object.end() && it->is_number_integer()) {
      refused.told = it->get<int64_t>();
      told = true;
    }
    if (const auto it = object.find("after");
        it != object.end() && it->is_number_unsigned()) {
      refused.after = it->get<uint64_t>();
    }
  }
  refused.unclear = refused.workload.empty() || refused.since.empty() || !told;
  if (refused.workload.empty()) refused.workload = "an unknown client";
  return refused;
}

std::string DescribeRefusedDemotion(const RefusedDemotion& refused) {
  if (refused.workload == kAwaitsFollower) {
    return absl::StrCat(
        "the other site is to be demoted since ", refused.since,
        ", and waits until this site follows it; repeat the demotion there");
  }
  return absl::StrCat(
      "the other site is to be demoted, but a workload still has the image "
      "open there: ",
      refused.workload, ", since ", refused.since, "; stop it there");
}

}  // namespace addons
