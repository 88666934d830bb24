#include "replication/look/rescue_record.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr char kPrefix[] = "rbd-addons-rescue.";
constexpr char kKey[] = "rbd-addons.rescue";

constexpr std::array<std::pair<RescueStep, absl::string_view>, 7> kSteps = {{
    {RescueStep::kSaving, "saving"},
    {RescueStep::kSaved, "saved"},
    {RescueStep::kPromoting, "promoting"},
    {RescueStep::kMarked, "promoting a marked copy"},
    {RescueStep::kWritten, "written since"},
    {RescueStep::kWhole, "whole"},
    {RescueStep::kRestored, "restored"},
}};

constexpr char kRangesKey[] = "rbd-addons.rescue.ranges";
/// Of a value of metadata; one that is longer makes every open slower.
constexpr size_t kMaxRangesText = 16384;

constexpr size_t kMaxShownRecord = 300;

std::string RangesKey(uint64_t generation, uint64_t value) {
  return absl::StrCat(kRangesKey, ".", generation, ".", value);
}

/// nullopt: the record is not one that this version writes, or older ones did.
std::optional<RescueRecord> ParseRecord(const std::string& text) {
  JsonFields fields(text);
  RescueRecord record;
  const std::string step = fields.Text("step");
  const auto known =
      std::find_if(kSteps.begin(), kSteps.end(),
                   [&](const auto& entry) { return entry.second == step; });
  if (known == kSteps.end()) return std::nullopt;
  record.step = known->first;
  record.image_id = fields.Text("image_id");
  record.snapshot_id = fields.Number("snapshot_id");
  record.bytes = fields.Number("bytes");
  record.ranges_generation = fields.Number("ranges_generation");
  record.ranges_values = fields.Number("ranges_values");
  for (const auto& [name, came_later] :
       {std::pair("promotion_snapshot_id", &record.promotion_snapshot_id),
        std::pair("state_snapshot_id", &record.state_snapshot_id),
        std::pair("marked_objects", &record.marked_objects)}) {
    if (fields.Has(name)) *came_later = fields.Number(name);
  }
  if (!fields.wrong().empty()) return std::nullopt;
  return record;
}

/// Left behind by a forced promotion that died: says nothing about a copy.
bool IsOrphan(const MirrorSnapshot& snapshot) {
  return snapshot.kind == MirrorSnapshotKind::kNonPrimary &&
         snapshot.primary_mirror_uuid.empty();
}

bool IsBetween(const ImageSnapshot& snapshot, uint64_t from, uint64_t to) {
  return snapshot.id > from && snapshot.id < to;
}

/// 0: there is none.
uint64_t OldestPrimaryAfter(const MirrorView& view, uint64_t snapshot_id) {
  const auto found =
      std::find_if(view.snapshots.begin(), view.snapshots.end(),
                   [&](const MirrorSnapshot& snapshot) {
                     return snapshot.id > snapshot_id &&
                            snapshot.kind == MirrorSnapshotKind::kPrimary;
                   });
  return found == view.snapshots.end() ? 0 : found->id;
}

const MirrorSnapshot* NewestOfAnySite(const MirrorView& view) {
  const auto it = std::find_if_not(view.snapshots.rbegin(),
                                   view.snapshots.rend(), IsOrphan);
  return it == view.snapshots.rend() ? nullptr : &*it;
}

}  // namespace

bool IsMarked(const RescueRecord& record, const MirrorSnapshot& snapshot) {
  return record.step == RescueStep::kMarked &&
         snapshot.id == record.snapshot_id &&
         snapshot.last_copied_object == record.marked_objects;
}

absl::string_view StepName(RescueStep step) {
  return std::find_if(kSteps.begin(), kSteps.end(),
                      [&](const auto& entry) { return entry.first == step; })
      ->second;
}

ImageName RescueImageName(const ImageName& image) {
  return ImageName(absl::StrCat(kPrefix, image.text()));
}

absl::StatusOr<RescueRecord> ReadRescueRecord(Image& rescue_image) {
  ADDONS_ASSIGN_OR_RETURN(const auto text, rescue_image.Metadata(kKey));
  // It was made a moment ago, and whoever made it has died.
  if (!text.has_value()) return RescueRecord();
  std::optional<RescueRecord> record = ParseRecord(*text);
  if (record.has_value()) return *std::move(record);
  // What it holds may be all that is left of the last complete state.
  return absl::UnavailableError(absl::StrCat(
      "Failed to read the record of the rescue image '",
      rescue_image.name().text(),
      "': it was made by a newer version of rbd-addons, or is damaged, and "
      "that image may hold the last complete state, so nothing is changed; "
      "use that version (",
      absl::CHexEscape(text->substr(0, kMaxShownRecord)), ")"));
}

absl::StatusOr<std::optional<RescueRecord>> ReadRescueRecord(
    Pool& pool, const ImageName& image) {
  const ImageName name = RescueImageName(image);
  // Nearly always there is none, and to open an image that is not there takes
  // twenty times as long.
  ADDONS_ASSIGN_OR_RETURN(const bool there, pool.HasImage(name));
  if (!there) return std::nullopt;
  auto opened = pool.OpenImageReadOnly(name);
  if (absl::IsNotFound(opened.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(opened.status());
  ADDONS_ASSIGN_OR_RETURN(RescueRecord record, ReadRescueRecord(**opened));
  ADDONS_RETURN_IF_ERROR((*opened)->Close());
  return std::make_optional(std::move(record));
}

absl::StatusOr<std::optional<RescueRecord>> ReadRescueRecord(
    Pool& pool, const ImageName& image, MirrorView* view) {
  auto record = ReadRescueRecord(pool, image);
  if (record.ok()) ShowMarked(*record, view);
  return record;
}

absl::Status WriteRescueRecord(Image& rescue_image,
                               const RescueRecord& record) {
  const auto step = std::find_if(
      kSteps.begin(), kSteps.end(),
      [&](const auto& entry) { return entry.first == record.step; });
  return rescue_image.SetMetadata(
      kKey, JsonText({{"step", step->second},
                      {"image_id", record.image_id},
                      {"snapshot_id", record.snapshot_id},
                      {"bytes", record.bytes},
                      {"ranges_generation", record.ranges_generation},
                      {"ranges_values", record.ranges_values},
                      {"promotion_snapshot_id", record.promotion_snapshot_id},
                      {"state_snapshot_id", record.state_snapshot_id},
                      {"marked_objects", record.marked_objects}}));
}

absl::StatusOr<std::vector<ImageRange>> ReadRescueRanges(
    Image& rescue_image, const RescueRecord& record) {
  std::vector<ImageRange> ranges;
  for (uint64_t i = 0; i < record.ranges_values; ++i) {
    const std::string key = RangesKey(record.ranges_generation, i);
    ADDONS_ASSIGN_OR_RETURN(const auto text, rescue_image.Metadata(key));
    bool readable = text.has_value();
    for (const absl::string_view one :
         absl::StrSplit(text.value_or(""), ',', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(one, absl::MaxSplits('+', 1));
      ImageRange range;
      readable = readable && absl::SimpleHexAtoi(parts.first, &range.offset) &&
                 absl::SimpleHexAtoi(parts.second, &range.length);
      ranges.push_back(range);
    }
    if (!readable) {
      return absl::InternalError(absl::StrCat("metadata '", key, "' of image '",
                                              rescue_image.name().text(),
                                              "' is missing or damaged"));
    }
  }
  return ranges;
}

absl::Status WriteRescueRanges(Image& rescue_image,
                               const std::vector<ImageRange>& ranges,
                               RescueRecord* record) {
  const uint64_t generation = record->ranges_generation + 1;
  uint64_t values = 0;
  std::string text;
  for (size_t i = 0; i < ranges.size(); ++i) {
    absl::StrAppend(&text, absl::Hex(ranges[i].offset), "+",
                    absl::Hex(ranges[i].length), ",");
    if (text.size() < kMaxRangesText && i + 1 < ranges.size()) continue;
    ADDONS_RETURN_IF_ERROR(
        rescue_image.SetMetadata(RangesKey(generation, values++), text));
    text.clear();
  }
  record->ranges_generation = generation;
  record->ranges_values = values;
  return absl::OkStatus();
}

std::vector<uint64_t> HalfCopies(const std::vector<MirrorSnapshot>& snapshots,
                                 const std::optional<RescueRecord>& record) {
  std::vector<uint64_t> ids;
  for (const MirrorSnapshot& snapshot : snapshots) {
    const bool half = snapshot.copied() &&
                      (!snapshot.complete ||
                       (record.has_value() && IsMarked(*record, snapshot)));
    if (half) ids.push_back(snapshot.id);
  }
  return ids;
}

std::vector<uint64_t> HalfCopies(const MirrorView& view) {
  return HalfCopies(view.snapshots, std::nullopt);
}

bool InMidCopy(const MirrorView& view) {
  if (view.info.mode == MirrorMode::kJournal) return false;
  const MirrorSnapshot* newest = NewestOfAnySite(view);
  return newest != nullptr && !newest->complete && newest->copied();
}

const MirrorSnapshot* WholeBeforeRescue(const MirrorView& view) {
  if (!InMidCopy(view)) return nullptr;
  const MirrorSnapshot* newest = NewestOfAnySite(view);
  const auto it = std::find_if(view.snapshots.rbegin(), view.snapshots.rend(),
                               [&](const MirrorSnapshot& snapshot) {
                                 return snapshot.id < newest->id &&
                                        snapshot.complete &&
                                        !IsOrphan(snapshot);
                               });
  return it == view.snapshots.rend() ? nullptr : &*it;
}

const MirrorSnapshot* RescueSnapshot(const MirrorView& view) {
  return WholeBeforeRescue(view) == nullptr ? nullptr : NewestOfAnySite(view);
}

const ImageSnapshot* UserSnapshotInMidCopy(const MirrorView& view) {
  const MirrorSnapshot* wanted = RescueSnapshot(view);
  if (wanted == nullptr) return nullptr;
  const MirrorSnapshot* whole = WholeBeforeRescue(view);
  const auto it =
      std::find_if(view.other_snapshots.begin(), view.other_snapshots.end(),
                   [&](const ImageSnapshot& snapshot) {
                     return IsBetween(snapshot, whole->id, wanted->id);
                   });
  return it == view.other_snapshots.end() ? nullptr : &*it;
}

std::vector<uint64_t> UserSnapshotsInMidCopy(
    const std::vector<ImageSnapshot>& snapshots, uint64_t whole_id,
    uint64_t incomplete_id) {
  std::vector<uint64_t> ids;
  for (const ImageSnapshot& snapshot : snapshots) {
    if (IsBetween(snapshot, whole_id, incomplete_id)) {
      ids.push_back(snapshot.id);
    }
  }
  return ids;
}

std::vector<uint64_t> UserSnapshotsWithoutCopy(const MirrorView& view) {
  const MirrorSnapshot* const newest = NewestOfAnySite(view);
  if (view.info.mode == MirrorMode::kJournal || newest == nullptr ||
      !newest->copied()) {
    return {};
  }
  std::vector<uint64_t> ids;
  for (const ImageSnapshot& snapshot : view.other_snapshots) {
    if (snapshot.kind == SnapshotKind::kUser && snapshot.id > newest->id) {
      ids.push_back(snapshot.id);
    }
  }
  return ids;
}

void ShowMarked(const std::optional<RescueRecord>& record, MirrorView* view) {
  if (!record.has_value() || record->image_id != view->image_id) return;
  for (MirrorSnapshot& snapshot : view->snapshots) {
    if (!IsMarked(*record, snapshot)) continue;
    snapshot.complete = false;
    view->marked_complete_id = snapshot.id;
  }
}

bool MarkedCopyWentOn(const std::optional<RescueRecord>& record,
                      const MirrorView& view) {
  if (!record.has_value() || record->step != RescueStep::kMarked ||
      record->image_id != view.image_id || view.info.primary) {
    return false;
  }
  const auto begin = view.snapshots.begin();
  const auto end = view.snapshots.end();
  const auto marked =
      std::find_if(begin, end, [&](const MirrorSnapshot& snapshot) {
        return snapshot.id == record->snapshot_id;
      });
  // One that was noted as incomplete again may have become complete.
  if (marked != end && marked->last_copied_object != record->marked_objects) {
    return false;
  }
  return std::any_of(begin, end, [&](const MirrorSnapshot& snapshot) {
    return snapshot.copied() && !IsOrphan(snapshot) &&
           snapshot.id > record->snapshot_id;
  });
}

std::string DescribeUserSnapshotInMidCopy(const ImageSnapshot& snapshot) {
  return absl::StrCat(
      "a copy has arrived in part that brought the snapshot '", snapshot.name,
      "' of the other site with it: the last complete state is not on this "
      "site any more, only the one before it, and Ceph crashes on such an "
      "image (tracker.ceph.com/issues/70075), so nothing was changed; let the "
      "copy become complete (start the other site and rbd-mirror here again), "
      "or see docs/runbooks/snapshot-in-mid-copy.md");
}

uint64_t PromotionSnapshot(const RescueRecord& record, const MirrorView& view) {
  return record.promotion_snapshot_id != 0
             ? record.promotion_snapshot_id
             : OldestPrimaryAfter(view, record.snapshot_id);
}

const MirrorSnapshot* UnsavedHalfCopy(
    const MirrorView& view, const std::optional<RescueRecord>& record) {
  if (!view.info.primary || view.info.mode == MirrorMode::kJournal) {
    return nullptr;
  }
  const auto half =
      std::find_if(view.snapshots.rbegin(), view.snapshots.rend(),
                   [](const MirrorSnapshot& snapshot) {
                     return snapshot.copied() && !IsOrphan(snapshot);
                   });
  if (half == view.snapshots.rend() || half->complete) return nullptr;
  // Nothing but the promotion's own came after it.
  if (OldestPrimaryAfter(view, half->id) != view.Newest()->id) return nullptr;
  const bool saved = record.has_value() && record->image_id == view.image_id &&
                     record->snapshot_id == half->id &&
                     record->step != RescueStep::kSaving;
  return saved ? nullptr : &*half;
}

bool AwaitsRestore(const RescueRecord& record, const MirrorView& view) {
  const bool begun = record.step == RescueStep::kPromoting ||
                     record.step == RescueStep::kMarked ||
                     record.step == RescueStep::kWritten ||
                     record.step == RescueStep::kWhole;
  if (!begun || record.image_id != view.image_id) return false;
  return std::none_of(view.snapshots.begin(), view.snapshots.end(),
                      [&](const MirrorSnapshot& snapshot) {
                        return snapshot.copied() && !IsOrphan(snapshot) &&
                               snapshot.complete &&
                               snapshot.id >= record.snapshot_id &&
                               !IsMarked(record, snapshot);
                      });
}

std::string DescribeAwaitedRestore(const RescueRecord& record,
                                   const ImageName& image,
                                   absl::string_view rescue_spec) {
  if (record.step == RescueStep::kWritten) {
    // Both are in one pool and namespace.
    const std::string spec = absl::StrCat(
        rescue_spec.substr(0, rescue_spec.rfind('/') + 1), image.text());
    return absl::StrCat(
        "its forced promotion was interrupted before it had its last complete "
        "state back, and it was written to since: what it holds is not "
        "complete, and that state is not brought back over those writes; stop "
        "the workload and decide: `rbd-addons rescue ",
        spec, " --restore` brings that state back, `rbd-addons rescue ", spec,
        " --keep` keeps what is there; then promote it on this site");
  }
  return absl::StrCat(
      "its forced promotion is half-done: the image is not complete, and its "
      "last complete state is in the image '",
      RescueImageName(image).text(),
      "' of the same pool; promote it on this site to bring that back, and "
      "start no workload before");
}

bool RescueIsLive(const RescueRecord& record, const MirrorView& view) {
  if (AwaitsRestore(record, view) || MarkedCopyWentOn(record, view)) {
    return true;
  }
  if (view.info.primary || record.image_id != view.image_id ||
      record.step == RescueStep::kRestored) {
    return false;
  }
  const MirrorSnapshot* snapshot = RescueSnapshot(view);
  return snapshot != nullptr && snapshot->id == record.snapshot_id;
}

}  // namespace addons
