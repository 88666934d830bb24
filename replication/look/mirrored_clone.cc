#include "replication/look/mirrored_clone.h"

#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace addons {
namespace {

using nlohmann::json;

constexpr char kGlobalId[] = "global_id";
constexpr char kParent[] = "parent";

bool MirroredBySnapshots(const MirrorView& view) {
  return view.enabled() && view.info.mode == MirrorMode::kSnapshot;
}

/// The mark of the present enabling; an empty object: there is none. One that
/// does not say of which enabling it is, as a newer version may write it,
/// counts for this one: a loss that nobody tells of is worse than one that was
/// mended.
json ReadMark(const MirrorView& view) {
  const auto found = view.marks.find(kCloneMark);
  if (found == view.marks.end()) return json::object();
  json mark = ParseJson(found->second);
  const auto of = mark.find(kGlobalId);
  if (!mark.is_object() || of == mark.end() || !of->is_string()) {
    return json{{kGlobalId, view.info.global_id}};
  }
  const bool present =
      of->get_ref<const std::string&>() == view.info.global_id &&
      !view.info.global_id.empty();
  return present ? mark : json::object();
}

std::string ParentIn(const json& mark) {
  const auto parent = mark.find(kParent);
  return parent != mark.end() && parent->is_string()
             ? parent->get<std::string>()
             : "?";
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
  return ReplacedJsonText(
      {{kGlobalId, view.info.global_id}, {kParent, view.parent->Spec()}});
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
  return absl::StrCat(
      "it was a clone of '", ParentIn(ReadMark(view)),
      "' and was flattened while it was mirrored by snapshots: the copy on the "
      "secondary site has zeros where the data of the parent should be, "
      "whatever is reported of it; ",
      then);
}

}  // namespace addons
