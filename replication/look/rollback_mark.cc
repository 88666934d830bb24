#include "replication/look/rollback_mark.h"

#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace addons {
namespace {

// Whoever disables mirroring by hand and enables it again keeps the image.
constexpr char kOf[] = "global_id";
constexpr char kOfImage[] = "image";
constexpr char kPoint[] = "point";
constexpr char kKept[] = "kept";
constexpr char kAlso[] = "also";
constexpr char kSince[] = "since";
constexpr char kOfPromotion[] = "promotion";
constexpr char kUntouched[] = "untouched";
constexpr char kWholeBefore[] = "whole_before";

}  // namespace

std::string FormatRollbackMark(const RollbackMark& mark,
                               const MirrorView& view) {
  nlohmann::json value = {{kOf, view.info.global_id},
                          {kOfImage, view.image_id},
                          {kPoint, mark.point},
                          {kKept, mark.kept},
                          {kSince, mark.since}};
  if (!mark.also.empty()) value[kAlso] = mark.also;
  if (mark.of_promotion) value[kOfPromotion] = true;
  if (mark.untouched) value[kUntouched] = true;
  if (mark.whole_before > 0) value[kWholeBefore] = mark.whole_before;
  return AsciiJsonText(value);
}

std::optional<RollbackMark> ReadRollbackMark(const MirrorView& view) {
  const auto found = view.marks.find(kRollbackKey);
  if (found == view.marks.end()) return std::nullopt;
  JsonFields fields(found->second);
  const bool of_this = fields.Text(kOf) == view.info.global_id ||
                       fields.Text(kOfImage) == view.image_id;
  RollbackMark mark;
  mark.point = fields.Text(kPoint);
  mark.kept = fields.Text(kKept);
  mark.since = fields.Text(kSince);
  if (fields.Has(kAlso)) mark.also = fields.Text(kAlso);
  if (fields.Has(kOfPromotion)) mark.of_promotion = fields.Flag(kOfPromotion);
  if (fields.Has(kUntouched)) mark.untouched = fields.Flag(kUntouched);
  if (fields.Has(kWholeBefore)) mark.whole_before = fields.Number(kWholeBefore);
  mark.unclear = !fields.wrong().empty() || mark.point.empty();
  // What cannot be read may be of this image.
  if (!mark.unclear && !of_this) return std::nullopt;
  if (mark.untouched && fields.Text(kOfImage) != view.image_id) {
    return std::nullopt;
  }
  return mark;
}

bool NeededByRollback(const std::optional<RollbackMark>& mark,
                      absl::string_view point) {
  if (!mark.has_value()) return false;
  return mark->unclear || mark->point == point ||
         (!mark->kept.empty() && mark->kept == point) ||
         (!mark->also.empty() && mark->also == point);
}

bool MayGoTo(const std::optional<RollbackMark>& mark, const Point& point) {
  return mark.has_value() && mark->untouched &&
         point.snapshot < mark->whole_before;
}

std::string DescribeRollback(const RollbackMark& mark) {
  if (mark.unclear) {
    return "a rollback to a point has not ended, and a newer version noted it, "
           "in a form that this one does not know: what the image holds is a "
           "mixture; go on with that version";
  }
  if (mark.untouched) {
    return absl::StrCat(
        "a promotion to point '", mark.point, "' has begun at ", mark.since,
        " and has not ended: the image holds what had arrived last, not the "
        "point. Start no workload; `rbd-addons promote --point ",
        mark.point, "` (of a secondary with `--force`) goes on");
  }
  return absl::StrCat(
      "a rollback to point '", mark.point, "' has begun at ", mark.since,
      " and has not ended: what the image holds is a mixture. Start no "
      "workload; `rbd-addons point rollback` to '",
      mark.point, "' goes on where the image is primary",
      mark.kept.empty() ? ""
                        : absl::StrCat(", and to '", mark.kept,
                                       "' brings back what it held before"));
}

}  // namespace addons
