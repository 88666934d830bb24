#include "cli/volume_name.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

bool BeginsAs(absl::string_view pattern, absl::string_view text) {
  if (text.size() < pattern.size()) return false;
  return std::equal(
      pattern.begin(), pattern.end(), text.begin(), [](char wanted, char c) {
        return wanted == 'h'
                   ? absl::ascii_isxdigit(static_cast<unsigned char>(c))
                   : c == wanted;
      });
}

bool LooksLikeVolumeId(const std::string& text) {
  return BeginsAs("hhhh-hhhh-", text);  // version and length
}

std::string TypedName(const std::string& id, const Streams& streams) {
  const auto typed = streams.typed_names.find(id);
  return CleanLine(typed == streams.typed_names.end() ? id : typed->second,
                   kMaxShownName);
}

std::string WithTypedNames(std::string text, const Streams& streams) {
  absl::StrReplaceAll(streams.typed_names, &text);
  return text;
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
    const absl::Status called = AskWithSecrets(names, request, found, streams);
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
