#include "ceph/librados/header_encoding.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ceph/librados/ceph_enums.h"

namespace addons {
namespace {

using std::chrono::system_clock;

// Of librbd, which does not export them.
constexpr uint64_t kNonPrimaryFeature = uint64_t{1} << 10;
constexpr int kMirrorNamespace = 3;

/// Reads what Ceph encodes, from the front. What is not there reads as nothing,
/// and then ok() is false for good.
class Decoder {
 public:
  explicit Decoder(absl::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  uint64_t Number(size_t bytes) {
    const absl::string_view taken = Take(bytes);
    uint64_t number = 0;
    for (size_t i = 0; i < taken.size(); ++i) {
      number |= uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    }
    return number;
  }
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

/// Ceph's cls_rbd_snap, put where it belongs; false: it is written otherwise.
bool AddSnapshot(absl::string_view bytes, ImageHeader* header) {
  Decoder whole(bytes);
  Decoder fields = whole.Struct(8, 8);
  const uint64_t id = fields.Long();
  std::string name = fields.Text();
  fields.Long();  // the size
  fields.Byte();  // whether it is protected
  fields.Long();  // flags
  Decoder space = fields.Struct(1, 1);
  const Timestamp created = fields.Time();
  const auto type = static_cast<int>(space.Word());
  if (type != kMirrorNamespace) {
    header->other_snapshots.push_back(
        {id, std::move(name), ToSnapshotKind(type)});
    return fields.ok() && space.ok();
  }
  MirrorSnapshot snapshot;
  snapshot.id = id;
  snapshot.kind = ToMirrorSnapshotKind(space.Byte());
  snapshot.complete = space.Byte() != 0;
  std::vector<std::string> peers = space.Texts();
  std::string primary = space.Text();
  const uint64_t primary_id = space.Long();
  const uint64_t copied = space.Long();
  // As Image::MirrorSnapshots().
  if (snapshot.kind == MirrorSnapshotKind::kPrimary ||
      snapshot.kind == MirrorSnapshotKind::kPrimaryDemoted) {
    snapshot.unsynced_peer_uuids = std::move(peers);
  } else {
    snapshot.primary_mirror_uuid = std::move(primary);
    snapshot.primary_snapshot_id = primary_id;
    snapshot.last_copied_object = copied;
  }
  snapshot.created = system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(
          std::chrono::seconds(created.seconds) +
          std::chrono::nanoseconds(created.nanoseconds)));
  header->mirror_snapshots.push_back(std::move(snapshot));
  return fields.ok() && space.ok();
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
  header.marked_non_primary = (*features & kNonPrimaryFeature) != 0;
  Decoder time(created->second);
  header.created = time.Time();
  if (!time.ok()) return std::nullopt;
  header.has_parent = entries.contains("parent");
  for (const auto& [key, value] : entries) {
    absl::string_view rest = key;
    if (absl::ConsumePrefix(&rest, "metadata_")) {
      header.metadata[std::string(rest)] = value;
    } else if (absl::StartsWith(key, "snapshot_") &&
               !AddSnapshot(value, &header)) {
      return std::nullopt;
    }
  }
  return header;
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
  const auto add = [&](SiteStatus status) {
    if (status.last_update != 0) sites.push_back(std::move(status));
  };
  SiteStatus local = TakeStatus(&fields, "");
  if (fields.Byte() != 0) add(std::move(local));
  for (uint32_t left = fields.Word(); fields.ok() && left > 0; --left) {
    std::string uuid = fields.Text();
    add(TakeStatus(&fields, std::move(uuid)));
  }
  if (!fields.ok()) return std::nullopt;
  return sites;
}

}  // namespace addons
