#include "cli/volume_name.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/repeated_call.h"
#include "rbdaddons/admin.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

/// Pool and cluster make no sense with a name that is an id.
absl::Status Superfluous(const std::string& id) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--pool and --cluster are for names, and '", id, "' is an id"));
}

}  // namespace

bool LooksLikeVolumeId(const std::string& text) {
  constexpr size_t kFieldLength = 4;  // of hex digits, with a dash behind
  constexpr size_t kFields = 2;       // version and length
  if (text.size() < kFields * (kFieldLength + 1)) return false;
  for (size_t i = 0; i < kFields * (kFieldLength + 1); ++i) {
    const bool dash = i % (kFieldLength + 1) == kFieldLength;
    const auto byte = static_cast<unsigned char>(text[i]);
    if (dash ? text[i] != '-' : !absl::ascii_isxdigit(byte)) return false;
  }
  return true;
}

std::string TypedName(const std::string& id, const Streams& streams) {
  const auto typed = streams.typed_names.find(id);
  return CleanLine(typed == streams.typed_names.end() ? id : typed->second,
                   kMaxShownName);
}

int FindVolumeIds(const VolumeNames& names,
                  const std::vector<std::string*>& volumes, Streams& streams) {
  for (std::string* const volume : volumes) {
    if (LooksLikeVolumeId(*volume)) {
      if (names.pool.empty() && names.cluster.empty()) continue;
      return Fail(Superfluous(*volume), kCliUsage, streams);
    }
    admin_pb::FindVolumeRequest request;
    request.set_name(*volume);
    request.set_pool(names.pool);
    request.set_cluster_id(names.cluster);
    admin_pb::FindVolumeResponse found;
    const absl::Status called = AskWithSecrets(
        names.endpoint, names.timeout, names.secrets, request, found, streams);
    if (!called.ok()) return FailCall(called, streams);
    streams.err << "volume " << CleanLine(*volume, kMaxShownName) << " is "
                << CleanLine(found.volume_id(), kMaxShownName) << " (image "
                << CleanLine(found.image(), kMaxShownName) << " of cluster "
                << CleanLine(found.cluster_id(), kMaxShownName) << ")"
                << std::endl;
    for (const std::string& place : found.refused_places()) {
      streams.err << "not looked for it, because this user may not read there: "
                  << CleanLine(place, kMaxShownText) << std::endl;
    }
    streams.typed_names.emplace(found.volume_id(), *volume);
    *volume = found.volume_id();
  }
  return 0;
}

}  // namespace addons
