#include "ceph/librados/header_encoding.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ceph/encoding.h"
#include "ceph/image_objects.h"
#include "ceph/librados/ceph_enums.h"
#include "ceph/librados/mirror_records.h"

namespace addons {
namespace {

// Of librbd, which does not export them.
constexpr uint64_t kNonPrimaryFeature = uint64_t{1} << 10;
constexpr int kMirrorNamespace = 3;

/// Reads what Ceph encodes, from the front. What is not there reads as nothing,
/// and then ok() is false for good.
class Decoder {
 public:
  explicit Decoder(absl::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  /// Where the rest begins in `bytes`, which it is a part of.
  size_t OffsetIn(absl::string_view bytes) const {
    return static_cast<size_t>(rest_.data() - bytes.data());
  }
  uint64_t Number(size_t bytes) { return DecodeNumber(Take(bytes)); }
  uint8_t Byte() { return static_cast<uint8_t>(Number(1)); }
  uint32_t Word() { return static_cast<uint32_t>(Number(4)); }
  uint64_t Long() { return Number(8); }
  std::string Text() { return std::string(Take(Word())); }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (uint32_t left = Word(); ok_ && left > 0; --left) {
      texts.push_back(Text());
    }
    return texts;
  }
  Timestamp Time() {
    const int64_t seconds = Word();
    return {seconds, static_cast<int64_t>(Word())};
  }
  /// The fields of a struct that was written as this version, for readers of
  /// `oldest` and newer ones: where either is another one, the fields may be.
  Decoder Struct(uint8_t version, uint8_t oldest) {
    const bool known = Byte() == version && Byte() == oldest;
    Decoder fields(Take(Word()));
    fields.ok_ = ok_ && known;
    return fields;
  }

 private:
  absl::string_view Take(size_t bytes) {
    if (!ok_ || bytes > rest_.size()) {
      ok_ = false;
      return {};
    }
    const absl::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  absl::string_view rest_;
  bool ok_ = true;
};

/// Ceph's cls_rbd_snap, or cls::rbd::SnapshotInfo, which is the same.
struct SnapshotFields {
  uint64_t id = 0;
  std::string name;
  int type = 0;                 // of its namespace
  MirrorSnapshotRecord mirror;  // where the type is that
  size_t state_at = 0;          // likewise: where its state begins
};

std::optional<SnapshotFields> DecodeSnapshot(absl::string_view bytes) {
  SnapshotFields snapshot;
  Decoder whole(bytes);
  Decoder fields = whole.Struct(8, 8);
  snapshot.id = fields.Long();
  snapshot.name = fields.Text();
  fields.Long();  // the size
  fields.Byte();  // whether it is protected
  fields.Long();  // flags
  Decoder space = fields.Struct(1, 1);
  const Timestamp created = fields.Time();
  snapshot.type = static_cast<int>(space.Word());
  if (snapshot.type == kMirrorNamespace) {
    MirrorSnapshotRecord& mirror = snapshot.mirror;
    mirror.id = snapshot.id;
    mirror.created = created;
    snapshot.state_at = space.OffsetIn(bytes);
    mirror.state = space.Byte();
    mirror.complete = space.Byte() != 0;
    mirror.peer_uuids = space.Texts();
    mirror.primary_mirror_uuid = space.Text();
    mirror.primary_snapshot_id = space.Long();
    mirror.last_copied_object = space.Long();
  }
  if (!fields.ok() || !space.ok()) return std::nullopt;
  return snapshot;
}

/// Puts it where it belongs; false: it is written otherwise.
bool AddSnapshot(absl::string_view bytes, ImageHeader* header) {
  std::optional<SnapshotFields> snapshot = DecodeSnapshot(bytes);
  if (!snapshot.has_value()) return false;
  if (snapshot->type == kMirrorNamespace) {
    header->mirror_snapshots.push_back(
        ToMirrorSnapshot(std::move(snapshot->mirror)));
  } else {
    header->other_snapshots.push_back({snapshot->id, std::move(snapshot->name),
                                       ToSnapshotKind(snapshot->type)});
  }
  return true;
}

/// Ceph's cls::rbd::GroupSpec.
std::optional<ImageGroup> DecodeGroup(absl::string_view bytes) {
  Decoder fields = Decoder(bytes).Struct(1, 1);
  ImageGroup group;
  group.pool_id = static_cast<int64_t>(fields.Long());
  group.id = fields.Text();
  if (!fields.ok()) return std::nullopt;
  return group;
}

/// A number that is all of an entry; nullopt: there is none.
std::optional<uint64_t> NumberAt(const OmapValues& entries, const char* key,
                                 size_t bytes) {
  const auto found = entries.find(key);
  if (found == entries.end() || found->second.size() != bytes) {
    return std::nullopt;
  }
  return Decoder(found->second).Number(bytes);
}

SiteStatus TakeStatus(Decoder* fields, std::string mirror_uuid) {
  SiteStatus status;
  status.mirror_uuid = std::move(mirror_uuid);
  status.state = ToMirrorStatusState(fields->Byte());
  status.description = fields->Text();
  status.last_update = fields->Time().seconds;
  status.up = fields->Byte() != 0;
  return status;
}

}  // namespace

std::optional<ImageHeader> DecodeImageHeader(const OmapValues& entries) {
  ImageHeader header;
  const auto size = NumberAt(entries, "size", sizeof(uint64_t));
  const auto order = NumberAt(entries, "order", sizeof(uint8_t));
  const auto features = NumberAt(entries, "features", sizeof(uint64_t));
  const auto created = entries.find("create_timestamp");
  constexpr uint64_t kLargestOrder = 25;
  if (!size || !order || !features || *order > kLargestOrder ||
      created == entries.end() || entries.contains("stripe_count")) {
    return std::nullopt;
  }
  header.size.bytes = *size;
  header.size.object_bytes = uint64_t{1} << *order;
  header.size.objects =
      (*size + header.size.object_bytes - 1) / header.size.object_bytes;
  constexpr uint64_t kNothingIsValid = ~uint64_t{0};
  const uint64_t flags =
      NumberAt(entries, "flags", sizeof(uint64_t))
          .value_or(entries.contains("flags") ? kNothingIsValid : 0);
  header.features = ToImageFeatures(*features, flags);
  header.marked_non_primary = (*features & kNonPrimaryFeature) != 0;
  if (entries.contains("data_pool_id")) {
    const auto pool = NumberAt(entries, "data_pool_id", sizeof(int64_t));
    if (!pool.has_value()) return std::nullopt;
    header.data_pool_id = static_cast<int64_t>(*pool);
  }
  if (const auto group = entries.find("rbd_group_ref");
      group != entries.end()) {
    header.group = DecodeGroup(group->second);
    if (!header.group.has_value()) return std::nullopt;
  }
  Decoder time(created->second);
  header.created = time.Time();
  if (!time.ok()) return std::nullopt;
  header.has_parent = entries.contains("parent");
  header.snapshot_limit =
      NumberAt(entries, kSnapshotLimitKey, sizeof(uint64_t));
  for (const auto& [key, value] : entries) {
    absl::string_view rest = key;
    if (absl::ConsumePrefix(&rest, kMetadataPrefix)) {
      header.metadata[std::string(rest)] = value;
    } else if (absl::StartsWith(key, "snapshot_") &&
               !AddSnapshot(value, &header)) {
      return std::nullopt;
    }
  }
  return header;
}

std::optional<std::string> EncodeCopyOfKind(absl::string_view record,
                                            MirrorSnapshotKind kind) {
  const std::optional<SnapshotFields> snapshot = DecodeSnapshot(record);
  if (!snapshot.has_value() || snapshot->type != kMirrorNamespace) {
    return std::nullopt;
  }
  const MirrorSnapshotKind now = ToMirrorSnapshotKind(snapshot->mirror.state);
  if (now != MirrorSnapshotKind::kNonPrimary &&
      now != MirrorSnapshotKind::kNonPrimaryDemoted) {
    return std::nullopt;
  }
  std::string changed(record);
  changed[snapshot->state_at] = static_cast<char>(FromMirrorSnapshotKind(kind));
  return changed;
}

std::optional<MirrorImageInfo> DecodeMirrorRecord(absl::string_view bytes) {
  Decoder fields = Decoder(bytes).Struct(2, 1);
  MirrorImageInfo info;
  info.global_id = fields.Text();
  info.state = ToMirrorImageState(fields.Byte());
  info.mode = ToMirrorMode(fields.Byte());
  if (!fields.ok()) return std::nullopt;
  return info;
}

std::optional<std::vector<SiteStatus>> DecodeSiteStatuses(
    absl::string_view bytes) {
  Decoder fields = Decoder(bytes).Struct(2, 1);
  std::vector<SiteStatus> sites;
  SiteStatus local = TakeStatus(&fields, "");
  if (fields.Byte() != 0) AddReport(std::move(local), &sites);
  for (uint32_t left = fields.Word(); fields.ok() && left > 0; --left) {
    std::string uuid = fields.Text();
    AddReport(TakeStatus(&fields, std::move(uuid)), &sites);
  }
  if (!fields.ok()) return std::nullopt;
  return sites;
}

}  // namespace addons
