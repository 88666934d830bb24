#include "volume/volume_id.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/uuid.h"
#include "volume/migrated_handle.h"

namespace addons {
namespace {

constexpr uint16_t kVersion = 1;  // the only one that ceph-csi ever wrote
constexpr size_t kVersionAt = 0;
constexpr size_t kLengthAt = 5;
constexpr size_t kClusterAt = 10;
constexpr size_t kHexLength = 4;  // of version and length
constexpr size_t kPoolLength = 16;
// VVVV-LLLL-...-PPPPPPPPPPPPPPPP-<uuid>
constexpr size_t kFixedLength = kClusterAt + 1 + kPoolLength + 1 + kUuidLength;
constexpr size_t kMaxLength = 128;
constexpr size_t kMaxClusterLength = kMaxLength - kFixedLength;
static_assert(kFixedLength == 64);

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

/// The uuid becomes a part of object names. Its syntax is ceph-csi's business,
/// but what no uuid has must not get into such a name.
bool IsUuidCharacter(char c) {
  return c > ' ' && c < 0x7f && c != '/' && c != '\'' && c != '"';
}

/// The message follows what the handle is called.
absl::Status Malformed(absl::string_view text, absl::string_view problem) {
  constexpr size_t kShown = kMaxLength;
  return absl::InvalidArgumentError(
      absl::StrCat(" '", absl::CHexEscape(text.substr(0, kShown)),
                   text.size() > kShown ? "..." : "", "': ", problem));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::Status ParseHex(absl::string_view text, size_t at, size_t length,
                      absl::string_view field, uint64_t* value) {
  *value = 0;
  for (size_t i = at; i < at + length; ++i) {
    const int digit = HexDigit(text[i]);
    if (digit < 0) {
      return Malformed(text, absl::StrCat("no hex digit at byte ", i,
                                          " (in the ", field, ")"));
    }
    *value = *value << 4 | static_cast<uint64_t>(digit);
  }
  return absl::OkStatus();
}

absl::Status CheckSeparator(absl::string_view text, size_t at) {
  if (text[at] == '-') return absl::OkStatus();
  return Malformed(text, absl::StrCat("separator missing at byte ", at));
}

/// What can be said about the text as a whole.
absl::Status CheckText(absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError(" is empty");
  if (IsMigratedHandle(text)) {
    return Malformed(
        text,
        "this is the handle of a volume migrated from the in-tree "
        "plugin; such volumes have no journal and are not supported");
  }
  if (text.size() < kFixedLength) {
    return Malformed(
        text, absl::StrCat("too short: ", text.size(), " bytes, at least ",
                           kFixedLength, " are needed"));
  }
  if (text.size() > kMaxLength) {
    return Malformed(text,
                     absl::StrCat("too long: ", text.size(), " bytes, at most ",
                                  kMaxLength, " are allowed"));
  }
  const auto* const control = std::find_if(text.begin(), text.end(), IsControl);
  if (control != text.end()) {
    return Malformed(text, absl::StrCat("control character at byte ",
                                        control - text.begin()));
  }
  return absl::OkStatus();
}

absl::Status CheckUuid(absl::string_view text, size_t at) {
  const size_t length = text.size() - at;
  if (length != kUuidLength) {
    return Malformed(
        text,
        absl::StrCat("the uuid at the end has ", length, " bytes instead of ",
                     kUuidLength, " (is the length of the cluster id right?)"));
  }
  for (size_t i = at; i < text.size(); ++i) {
    if (!IsUuidCharacter(text[i])) {
      return Malformed(text, absl::StrCat("invalid character at byte ", i,
                                          " (in the uuid)"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<VolumeId> ParseHandle(absl::string_view text) {
  if (auto status = CheckText(text); !status.ok()) return status;

  VolumeId id;
  uint64_t number = 0;
  auto status =
      ParseHex(text, kVersionAt, kHexLength, "encoding version", &number);
  if (!status.ok()) return status;
  id.version = static_cast<uint16_t>(number);
  status = CheckSeparator(text, kVersionAt + kHexLength);
  if (!status.ok()) return status;

  status = ParseHex(text, kLengthAt, kHexLength, "length of the cluster id",
                    &number);
  if (!status.ok()) return status;
  status = CheckSeparator(text, kLengthAt + kHexLength);
  if (!status.ok()) return status;
  const size_t cluster_length = number;
  if (cluster_length > text.size() - kFixedLength) {
    return Malformed(
        text, absl::StrCat("too short for a cluster id of ", cluster_length,
                           " bytes, which the number at byte ", kLengthAt,
                           " announces"));
  }
  id.cluster_id =
      ClusterId(std::string(text.substr(kClusterAt, cluster_length)));

  const size_t pool_at = kClusterAt + cluster_length + 1;
  status = CheckSeparator(text, pool_at - 1);
  if (!status.ok()) return status;
  status = ParseHex(text, pool_at, kPoolLength, "pool id", &number);
  if (!status.ok()) return status;
  id.pool_id = static_cast<int64_t>(number);  // wraps, as ceph-csi does it
  status = CheckSeparator(text, pool_at + kPoolLength);
  if (!status.ok()) return status;

  const size_t uuid_at = pool_at + kPoolLength + 1;
  status = CheckUuid(text, uuid_at);
  if (!status.ok()) return status;
  id.uuid = std::string(text.substr(uuid_at));
  return id;
}

}  // namespace

absl::StatusOr<VolumeId> VolumeId::Parse(absl::string_view text,
                                         absl::string_view what) {
  auto id = ParseHandle(text);
  if (id.ok() && id->version != kVersion) {
    id = Malformed(text, absl::StrCat("encoding version ", id->version,
                                      " is not known; only 0001 is"));
  }
  if (id.ok()) return id;
  return absl::InvalidArgumentError(absl::StrCat(
      what, id.status().message(),
      text.empty() || IsMigratedHandle(text) || HasShape(text)
          ? ""
          : "; the handle of a static volume, which no journal has, is not "
            "served by this call"));
}

bool VolumeId::HasShape(absl::string_view text) {
  return ParseHandle(text).ok();
}

absl::StatusOr<std::string> VolumeId::ToString() const {
  const std::string& cluster = cluster_id.text();
  if (cluster.size() > kMaxClusterLength) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to compose a volume id: the cluster id '",
        absl::CHexEscape(absl::string_view(cluster).substr(0, kMaxLength)),
        "' has ", cluster.size(), " bytes, at most ", kMaxClusterLength,
        " fit"));
  }
  if (uuid.size() != kUuidLength) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to compose a volume id: the uuid '",
        absl::CHexEscape(absl::string_view(uuid).substr(0, kMaxLength)),
        "' has ", uuid.size(), " bytes instead of ", kUuidLength));
  }
  return absl::StrFormat("%04x-%04x-%s-%016x-%s", version, cluster.size(),
                         cluster, static_cast<uint64_t>(pool_id), uuid);
}

}  // namespace addons
