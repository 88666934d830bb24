#include "volumegroup/verb_support.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ceph/errors.h"
#include "volume/patience.h"

namespace addons {

SteadyTime LookDeadline(OperationContext& context) {
  return context.DeadlineWithin(kFindPatience);
}

KeySet KeysOf(Resolver& resolver, const std::vector<VolumeHandle>& volumes) {
  KeySet keys;
  for (const VolumeHandle& id : volumes) {
    const auto key = resolver.KeyOfVolume(id);
    if (key.ok()) keys.insert(key->ToString());
  }
  return keys;
}

std::string CreationTime(Clock& clock) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ",
                          absl::FromChrono(clock.WallNow()),
                          absl::UTCTimeZone());
}

absl::Status WhenFull(absl::Status status) {
  const int error = CephErrno(status);
  if (error != ENOSPC && error != EDQUOT) return status;
  return absl::UnavailableError(absl::StrCat(
      status.message(),
      "; the pool is full or its quota is reached: free space or raise the "
      "quota, then repeat the call"));
}

absl::Status CheckMemberCount(const VolumeGroupOptions& options, size_t count) {
  if (count <= options.max_members) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "a volume group of ", count, " volumes is too large: at most ",
      options.max_members, " are allowed (flag --group-max-members)"));
}

}  // namespace addons
