#include "replication/look/move_marks.h"

#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/json.h"

namespace addons {
namespace {

constexpr char kOfImage[] = ", image ";
constexpr char kToldNobody[] = ", nobody told";
constexpr char kHeard[] = ", peers heard at ";
constexpr char kDemoted[] = "demoted";
constexpr char kTakenBack[] = "taken back";
constexpr char kGivenBack[] = "given back";

}  // namespace

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

std::string FormatOwnDemotion(const OwnDemotionMark& mark,
                              const std::string& image_id) {
  std::string text = kDemoted;
  if (mark.step == OwnDemotionStep::kTakenBack) text = kTakenBack;
  if (mark.step == OwnDemotionStep::kGivenBack) text = kGivenBack;
  if (mark.told_nobody) absl::StrAppend(&text, kToldNobody);
  if (mark.heard.has_value()) absl::StrAppend(&text, kHeard, *mark.heard);
  return absl::StrCat(text, kOfImage, image_id);
}

std::optional<OwnDemotionMark> ParseOwnDemotion(const std::string& value,
                                                const std::string& image_id) {
  const size_t found = value.rfind(kOfImage);
  if (found != std::string::npos &&
      value.substr(found + sizeof(kOfImage) - 1) != image_id) {
    return std::nullopt;
  }
  absl::string_view text = absl::string_view(value).substr(0, found);
  OwnDemotionMark mark;
  bool clear = true;
  if (const size_t heard = text.find(kHeard);
      heard != absl::string_view::npos) {
    int64_t at = 0;
    clear = absl::SimpleAtoi(text.substr(heard + sizeof(kHeard) - 1), &at);
    mark.heard = at;
    text = text.substr(0, heard);
  }
  mark.told_nobody = absl::ConsumeSuffix(&text, kToldNobody);
  if (text == kTakenBack) {
    mark.step = OwnDemotionStep::kTakenBack;
  } else if (text == kGivenBack) {
    mark.step = OwnDemotionStep::kGivenBack;
  } else {
    clear = clear && text == kDemoted;
  }
  if (!clear) {
    mark = {};
    mark.unclear = true;
  }
  return mark;
}

}  // namespace addons
