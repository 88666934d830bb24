#include "replication/state/mirrored_clone.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

using nlohmann::json;

constexpr char kGlobalId[] = "global_id";
constexpr char kParent[] = "parent";

bool MirroredBySnapshots(const MirrorView& view) {
  return view.enabled() && view.info.mode == MirrorMode::kSnapshot;
}

/// The mark of the present enabling; an empty object: there is none.
json ReadMark(const MirrorView& view) {
  const auto found = view.marks.find(kCloneMark);
  if (found == view.marks.end()) return json::object();
  json mark = json::parse(found->second, nullptr, false);
  const bool valid = mark.is_object() && mark.contains(kGlobalId) &&
                     mark[kGlobalId] == view.info.global_id &&
                     !view.info.global_id.empty();
  return valid ? mark : json::object();
}

}  // namespace

CloneState CloneStateOf(const MirrorView& view) {
  if (!MirroredBySnapshots(view)) return CloneState::kWhole;
  if (view.parent.has_value()) return CloneState::kHasParent;
  return ReadMark(view).empty() ? CloneState::kWhole
                                : CloneState::kWasFlattened;
}

std::string CloneMarkDue(const MirrorView& view) {
  if (CloneStateOf(view) != CloneState::kHasParent || !ReadMark(view).empty()) {
    return "";
  }
  return json{{kGlobalId, view.info.global_id}, {kParent, view.parent->Spec()}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string DescribeCloneLoss(const MirrorView& view, const std::string& spec) {
  const CloneState state = CloneStateOf(view);
  if (state == CloneState::kWhole) return "";
  const std::string then = absl::StrCat(
      "recreate the copy on the secondary site (`rbd mirror image resync ",
      spec, "` there), and when that has ended run `rbd image-meta remove ",
      spec, " ", kCloneMark,
      "` on the primary site; or disable and enable replication again");
  if (state == CloneState::kHasParent) {
    return absl::StrCat(
        "it is a clone of '", view.parent->Spec(),
        "', and mirroring by snapshots loses what a clone has from its parent: "
        "the copy on the secondary site is incomplete, whatever is reported "
        "of it; flatten the image on the primary site (`rbd flatten ",
        spec, "`), then ", then);
  }
  const json mark = ReadMark(view);
  return absl::StrCat(
      "it was a clone of '", mark.value(kParent, std::string("?")),
      "' and was flattened while it was mirrored by snapshots: the copy on the "
      "secondary site has zeros where the data of the parent should be, "
      "whatever is reported of it; ",
      then);
}

}  // namespace addons
