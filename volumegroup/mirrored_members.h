#ifndef ADDONS_VOLUMEGROUP_MIRRORED_MEMBERS_H_
#define ADDONS_VOLUMEGROUP_MIRRORED_MEMBERS_H_

#include "replication/environment.h"
#include "volumegroup/member_replication.h"

namespace addons {

/// Keeps the mirroring of members in step with the group: what
/// replication/group_membership.h does, and when. Thread-safe.
class MirroredMembers final : public MemberReplication {
 public:
  /// `environment` is not owned and outlives this.
  explicit MirroredMembers(ReplicationEnvironment& environment)
      : environment_(environment) {}

  absl::Status Validate(OperationContext& context,
                        const MembershipChange& change) override;
  absl::Status Join(OperationContext& context,
                    const MembershipChange& change) override;
  absl::Status Leave(OperationContext& context,
                     const MembershipChange& change) override;

 private:
  ReplicationEnvironment& environment_;
};

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_MIRRORED_MEMBERS_H_
