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
  JsonFields fields(text);
  RefusedDemotion refused;
  refused.workload = fields.Text("workload");
  refused.since = fields.Text("since");
  refused.told = static_cast<int64_t>(fields.Number("told"));
  refused.unclear = !fields.wrong().empty() || refused.workload.empty() ||
                    refused.since.empty();
  refused.after = fields.Number("after");
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
