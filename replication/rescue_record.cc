#include "replication/rescue_record.h"

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr char kPrefix[] = "rbd-addons-rescue.";
constexpr char kKey[] = "rbd-addons.rescue";

constexpr std::array<std::pair<RescueStep, absl::string_view>, 4> kSteps = {{
    {RescueStep::kSaving, "saving"},
    {RescueStep::kSaved, "saved"},
    {RescueStep::kPromoting, "promoting"},
    {RescueStep::kRestored, "restored"},
}};

bool IsCopy(const MirrorSnapshot& snapshot) {
  return snapshot.kind == MirrorSnapshotKind::kNonPrimary ||
         snapshot.kind == MirrorSnapshotKind::kNonPrimaryDemoted;
}

/// Left behind by a forced promotion that died: says nothing about a copy.
bool IsOrphan(const MirrorSnapshot& snapshot) {
  return snapshot.kind == MirrorSnapshotKind::kNonPrimary &&
         snapshot.primary_mirror_uuid.empty();
}

const MirrorSnapshot* NewestOfAnySite(const MirrorView& view) {
  const auto it = std::find_if_not(view.snapshots.rbegin(),
                                   view.snapshots.rend(), IsOrphan);
  return it == view.snapshots.rend() ? nullptr : &*it;
}

}  // namespace

std::string RescueImageName(absl::string_view image) {
  return absl::StrCat(kPrefix, image);
}

absl::StatusOr<RescueRecord> ReadRescueRecord(Image& rescue_image) {
  ADDONS_ASSIGN_OR_RETURN(const auto text, rescue_image.Metadata(kKey));
  RescueRecord record;
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object()) return record;
  const auto step = json.find("step");
  const auto image_id = json.find("image_id");
  const auto snapshot_id = json.find("snapshot_id");
  if (step == json.end() || !step->is_string() || image_id == json.end() ||
      !image_id->is_string() || snapshot_id == json.end() ||
      !snapshot_id->is_number_unsigned()) {
    return record;
  }
  const auto known =
      std::find_if(kSteps.begin(), kSteps.end(), [&](const auto& entry) {
        return entry.second == step->get_ref<const std::string&>();
      });
  if (known == kSteps.end()) return record;
  record.step = known->first;
  record.image_id = image_id->get<std::string>();
  record.snapshot_id = snapshot_id->get<uint64_t>();
  return record;
}

absl::StatusOr<std::optional<RescueRecord>> ReadRescueRecord(
    Pool& pool, const std::string& image) {
  auto opened = pool.OpenImageReadOnly(RescueImageName(image));
  if (absl::IsNotFound(opened.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(opened.status());
  ADDONS_ASSIGN_OR_RETURN(RescueRecord record, ReadRescueRecord(**opened));
  ADDONS_RETURN_IF_ERROR((*opened)->Close());
  return std::make_optional(std::move(record));
}

absl::Status WriteRescueRecord(Image& rescue_image,
                               const RescueRecord& record) {
  const auto step = std::find_if(
      kSteps.begin(), kSteps.end(),
      [&](const auto& entry) { return entry.first == record.step; });
  return rescue_image.SetMetadata(
      kKey, nlohmann::json{{"step", step->second},
                           {"image_id", record.image_id},
                           {"snapshot_id", record.snapshot_id}}
                .dump());
}

std::vector<uint64_t> HalfCopies(const MirrorView& view) {
  std::vector<uint64_t> ids;
  for (const MirrorSnapshot& snapshot : view.snapshots) {
    if (IsCopy(snapshot) && !snapshot.complete) ids.push_back(snapshot.id);
  }
  return ids;
}

bool InMidCopy(const MirrorView& view) {
  if (view.info.mode == MirrorMode::kJournal) return false;
  const MirrorSnapshot* newest = NewestOfAnySite(view);
  return newest != nullptr && !newest->complete && IsCopy(*newest);
}

const MirrorSnapshot* RescueSnapshot(const MirrorView& view) {
  if (!InMidCopy(view)) return nullptr;
  const MirrorSnapshot* newest = NewestOfAnySite(view);
  const bool whole_before =
      std::any_of(view.snapshots.begin(), view.snapshots.end(),
                  [&](const MirrorSnapshot& snapshot) {
                    return snapshot.id < newest->id && snapshot.complete &&
                           !IsOrphan(snapshot);
                  });
  return whole_before ? newest : nullptr;
}

bool AwaitsRestore(const RescueRecord& record, const MirrorView& view) {
  if (record.step != RescueStep::kPromoting ||
      record.image_id != view.image_id) {
    return false;
  }
  return std::none_of(view.snapshots.begin(), view.snapshots.end(),
                      [&](const MirrorSnapshot& snapshot) {
                        return IsCopy(snapshot) && !IsOrphan(snapshot) &&
                               snapshot.complete &&
                               snapshot.id >= record.snapshot_id;
                      });
}

std::string DescribeAwaitedRestore(absl::string_view image) {
  return absl::StrCat(
      "its forced promotion is half-done: the image is not whole, and its last "
      "whole state is in the image '",
      RescueImageName(image),
      "' of the same pool; promote it on this site to bring that back, and "
      "start no workload before");
}

bool RescueIsLive(const RescueRecord& record, const MirrorView& view) {
  if (AwaitsRestore(record, view)) return true;
  if (view.info.primary || record.image_id != view.image_id ||
      record.step == RescueStep::kRestored) {
    return false;
  }
  const MirrorSnapshot* snapshot = RescueSnapshot(view);
  return snapshot != nullptr && snapshot->id == record.snapshot_id;
}

}  // namespace addons
