#ifndef ADDONS_VOLUMEGROUP_MEMBERS_H_
#define ADDONS_VOLUMEGROUP_MEMBERS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "volumegroup/environment.h"

namespace addons {

/// A volume that is, or shall be, a member, as it was found.
struct MemberView {
  VolumeHandle volume_id;
  /// OK: all that follows is known. Otherwise the volume is broken or cannot be
  /// looked at, and this is why.
  absl::Status problem;
  /// Set also when the journal has the volume and the image is missing.
  std::optional<ResolvedVolume> volume;
  std::string image_id;
  uint64_t size_bytes = 0;
  std::optional<GroupSpec> group;  // the rbd group that it is in
  bool secondary = false;          // mirrored to this site, not from it
  MirrorImageInfo mirror;          // role and state

  /// The volume is gone for certain: its journal entry or its image.
  bool broken() const {
    return absl::IsNotFound(problem) || absl::IsInvalidArgument(problem);
  }
};

/// What identifies a volume on this site: on a peer site one volume may be
/// named by the ids of both sites. The id of one whose cluster is not
/// configured stands for itself. Asks no cluster.
std::string Identity(Resolver& resolver, const VolumeHandle& volume_id);

/// Volumes by their identity. The first id of a volume is kept.
std::map<std::string, VolumeHandle> ByIdentity(
    Resolver& resolver, const std::vector<VolumeHandle>& volumes);

/// Finds the volumes, to change something there, and reads what is noted of
/// their images, several at a time, until `deadline` at most. An image that is
/// mirrored in journal mode, and one of which something is not understood, is
/// opened read-only. One result per id, in this order.
std::vector<MemberView> LookAtMembers(const VolumeGroupEnvironment& environment,
                                      const CephUserRef& user,
                                      const std::vector<VolumeHandle>& volumes,
                                      SteadyTime deadline);

/// As LookAtMembers(), with fewer reads: of each volume that is there
/// its size is known, and nothing else of the image.
std::vector<MemberView> MeasureMembers(
    const VolumeGroupEnvironment& environment, const CephUserRef& user,
    const std::vector<VolumeHandle>& volumes, Access access,
    SteadyTime deadline);

/// Adds to `seen` how those of `views` that are there are mirrored.
void NoteSeen(const std::vector<MemberView>& views, SeenMirroring* seen);

/// Whether `view` may join. `unfit` is the code for a volume that can never be
/// in this group: of another cluster or namespace. FAILED_PRECONDITION: it is
/// in another group. Otherwise view.problem. Reads the journal of the other
/// group: a volume that this does not list was left behind by an interrupted
/// call, and may join.
absl::Status CheckMayJoin(const ResolvedGroup& group, const MemberView& view,
                          absl::StatusCode unfit);

/// Puts the images into the rbd group, which exists, several at a time, and
/// takes them out of one that they were left behind in. Secondary ones stay
/// out: rbd-mirror cannot delete an image that is in a group, and a resync
/// would leave its old copy in the trash for ever (measured, 16.2.15). One
/// result per view. Idempotent.
std::vector<absl::Status> Attach(const VolumeGroupEnvironment& environment,
                                 const ResolvedGroup& group,
                                 const std::vector<MemberView>& views);

/// Takes the images out of the rbd group, several at a time. Of a broken member
/// what is left of it is removed as well as possible: that never fails. One
/// result per view. Idempotent.
std::vector<absl::Status> Detach(const VolumeGroupEnvironment& environment,
                                 const ResolvedGroup& group,
                                 const std::vector<MemberView>& views);

/// The first status that is not OK, naming the volume and how many more there
/// are.
absl::Status FirstProblem(const std::vector<MemberView>& views,
                          const std::vector<absl::Status>& results);

/// For answers. A broken member is marked in its context ("problem").
GroupAnswer::Volume ToAnswer(const MemberView& view);

/// Ceph's answer to a call that belongs to a change: ENOENT and EEXIST mean
/// that somebody else changed the same things at the same moment. They become
/// ABORTED, so that no caller takes them for an answer about the group.
absl::Status DuringChange(const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_MEMBERS_H_
