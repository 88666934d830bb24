#include "ceph/object_map.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/encoding.h"

namespace addons {
namespace {

constexpr uint64_t kStatesPerByte = 4;
constexpr unsigned kStateBits = 2;
constexpr size_t kMapLength = sizeof(uint32_t);
// Version, oldest version that can read it, length, and the number of objects.
constexpr size_t kMapHeader = 2 + kMapLength + sizeof(uint64_t);
constexpr char kMapVersion = 1;
// Behind the states there is one checksum for each 4 KiB of them.
constexpr uint64_t kMapBlock = 4096;

uint64_t PackedBytes(uint64_t objects) {
  return objects / kStatesPerByte + (objects % kStatesPerByte == 0 ? 0 : 1);
}

unsigned StateShift(uint64_t object) {
  return static_cast<unsigned>(kStatesPerByte - 1 - object % kStatesPerByte) *
         kStateBits;
}

}  // namespace

ObjectState ObjectMap::At(uint64_t object) const {
  if (object >= objects_) return ObjectState::kNonexistent;
  const auto byte =
      static_cast<unsigned char>(packed_.at(object / kStatesPerByte));
  return static_cast<ObjectState>((byte >> StateShift(object)) & 3U);
}

std::string ObjectMapObject(absl::string_view image_id, uint64_t snapshot) {
  std::string name = absl::StrCat("rbd_object_map.", image_id);
  if (snapshot != kHead) {
    absl::StrAppend(&name, ".", absl::Hex(snapshot, absl::kZeroPad16));
  }
  return name;
}

std::string EncodeObjectMap(const std::vector<ObjectState>& states) {
  std::string packed(PackedBytes(states.size()), '\0');
  for (size_t i = 0; i < states.size(); ++i) {
    char& byte = packed[i / kStatesPerByte];
    byte = static_cast<char>(static_cast<unsigned char>(byte) |
                             static_cast<unsigned>(states[i]) << StateShift(i));
  }
  const std::string header = absl::StrCat(
      std::string(2, kMapVersion), EncodeNumber(sizeof(uint64_t), kMapLength),
      EncodeNumber(states.size(), sizeof(uint64_t)));
  return absl::StrCat(EncodeText(header), packed, EncodeText(""));
}

absl::StatusOr<ObjectMap> DecodeObjectMap(absl::string_view bytes) {
  const auto unknown = [] {
    return absl::InternalError(
        "an object map is not written as librbd does up to Ceph 20");
  };
  if (bytes.size() < kMapLength + kMapHeader) return unknown();
  const absl::string_view header = bytes.substr(kMapLength, kMapHeader);
  if (DecodeNumber(bytes.substr(0, kMapLength)) != kMapHeader ||
      header[0] != kMapVersion || header[1] != kMapVersion ||
      DecodeNumber(header.substr(2, kMapLength)) != sizeof(uint64_t)) {
    return unknown();
  }
  const uint64_t objects = DecodeNumber(header.substr(2 + kMapLength));
  const absl::string_view packed = bytes.substr(kMapLength + kMapHeader);
  if (packed.size() < PackedBytes(objects)) return unknown();
  return ObjectMap(objects,
                   std::string(packed.substr(0, PackedBytes(objects))));
}

absl::StatusOr<std::optional<ObjectMap>> ReadObjectMap(
    Pool& pool, const std::string& image_id, uint64_t snapshot,
    uint64_t objects) {
  const std::string object = ObjectMapObject(image_id, snapshot);
  const uint64_t packed = PackedBytes(objects);
  // What lies behind it may be cut; a map of more objects is not understood.
  const uint64_t bytes =
      kMapLength + kMapHeader + packed + packed / kMapBlock + kMapBlock;
  ADDONS_ASSIGN_OR_RETURN(const std::optional<StoredObject> read,
                          pool.ReadObject(object, kHead, bytes));
  if (!read.has_value()) return std::optional<ObjectMap>();
  ADDONS_ASSIGN_OR_RETURN(ObjectMap map, DecodeObjectMap(read->bytes));
  return std::optional<ObjectMap>(std::move(map));
}

bool CalledUnchanged(const std::vector<ObjectMap>& maps, uint64_t object) {
  for (size_t i = 1; i < maps.size(); ++i) {
    const ObjectState state = maps[i].At(object);
    const bool there = state != ObjectState::kNonexistent;
    const bool was = maps[i - 1].At(object) != ObjectState::kNonexistent;
    if (there != was || (there && state != ObjectState::kExistsClean)) {
      return false;
    }
  }
  return true;
}

}  // namespace addons
