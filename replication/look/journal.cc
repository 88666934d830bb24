#include "replication/look/journal.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {

absl::StatusOr<bool> JournalReplayBegan(Pool& pool,
                                        const std::string& image_id) {
  const auto value =
      pool.ReadOmapKey(absl::StrCat("journal.", image_id), "next_tag_tid");
  if (absl::IsNotFound(value.status())) return false;
  ADDONS_RETURN_IF_ERROR(value.status());
  if (!value->has_value() || (*value)->size() != sizeof(uint64_t)) return false;
  uint64_t tags = 0;
  for (size_t i = 0; i < sizeof(uint64_t); ++i) {
    tags |= uint64_t{static_cast<unsigned char>((**value)[i])} << (8 * i);
  }
  return tags > 1;
}

namespace {

constexpr char kOwnClient[] = "client_";
constexpr int kClearTries = 3;

std::string HeaderObject(const std::string& image_id) {
  return absl::StrCat("journal.", image_id);
}

/// Reads what Ceph encoded, little-endian; `ok` turns false at the end.
class Reader {
 public:
  explicit Reader(absl::string_view text) : text_(text) {}

  uint64_t Number(size_t bytes) {
    uint64_t value = 0;
    if (!Take(bytes)) return 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= uint64_t{static_cast<unsigned char>(text_[at_ - bytes + i])}
               << (8 * i);
    }
    return value;
  }
  /// The header of a versioned struct: version, oldest reader, length.
  void StructHeader() {
    ok_ &= Number(1) >= 1;
    ok_ &= Number(1) == 1;
    const uint64_t length = Number(4);
    ok_ &= length <= text_.size() - at_;
  }
  void Skip(uint64_t bytes) { Take(bytes); }
  size_t at() const { return at_; }
  bool ok() const { return ok_; }

 private:
  bool Take(uint64_t bytes) {
    if (!ok_ || bytes > text_.size() - at_) {
      ok_ = false;
      return false;
    }
    at_ += bytes;
    return true;
  }

  const absl::string_view text_;
  size_t at_ = 0;
  bool ok_ = true;
};

/// The value of the own client; nullopt: the image has no journal. UNAVAILABLE:
/// it is of another shape, so whether it asks for a resync is not known.
absl::StatusOr<std::optional<std::string>> ReadClient(
    Pool& pool, const std::string& image_id) {
  auto value = pool.ReadOmapKey(HeaderObject(image_id), kOwnClient);
  if (absl::IsNotFound(value.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(value.status());
  if (value->has_value() && !ResyncFlagOffset(**value).has_value()) {
    return absl::UnavailableError(
        absl::StrCat("what the journal of the image with id ", image_id,
                     " notes of its own client is of a form that this build of "
                     "rbd-addons does not know; it needs a newer one"));
  }
  return *std::move(value);
}

}  // namespace

std::optional<size_t> ResyncFlagOffset(absl::string_view client) {
  Reader reader(client);
  reader.StructHeader();
  reader.Skip(reader.Number(4));  // name
  const uint64_t data = reader.Number(4);
  const size_t data_at = reader.at();
  reader.StructHeader();
  constexpr uint64_t kImageClient = 0;
  const bool image_client = reader.Number(4) == kImageClient;
  reader.Skip(8);  // tag class
  const size_t flag = reader.at();
  reader.Skip(1);
  const bool inside = reader.ok() && reader.at() - data_at <= data;
  if (!inside || !image_client) return std::nullopt;
  return flag;
}

absl::StatusOr<bool> JournalResyncRequested(Pool& pool,
                                            const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const auto client, ReadClient(pool, image_id));
  return client.has_value() && (*client)[*ResyncFlagOffset(*client)] != 0;
}

absl::Status ClearJournalResync(Pool& pool, const std::string& image_id) {
  for (int tries = 0; tries < kClearTries; ++tries) {
    ADDONS_ASSIGN_OR_RETURN(const auto client, ReadClient(pool, image_id));
    if (!client.has_value()) return absl::OkStatus();
    const size_t flag = *ResyncFlagOffset(*client);
    if ((*client)[flag] == 0) return absl::OkStatus();
    std::string cleared = *client;
    cleared[flag] = 0;
    ADDONS_ASSIGN_OR_RETURN(
        const bool replaced,
        pool.ReplaceOmapValue(HeaderObject(image_id), kOwnClient, *client,
                              cleared));
    if (replaced) return absl::OkStatus();
  }
  return absl::AbortedError(
      absl::StrCat("the journal of the image with id ", image_id,
                   " is being written to; repeat the call"));
}

}  // namespace addons
