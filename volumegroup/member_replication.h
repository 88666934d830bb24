#ifndef ADDONS_VOLUMEGROUP_MEMBER_REPLICATION_H_
#define ADDONS_VOLUMEGROUP_MEMBER_REPLICATION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "operation/operation_context.h"
#include "volume/resolver.h"

namespace addons {

/// A change of the members of a group that exists.
struct MembershipChange {
  const ResolvedGroup& group;  // as it was before
  const CephUser& user;
  const std::map<std::string, std::string>& parameters;  // of the request
  std::vector<std::string> added;                        // volume ids
  std::vector<std::string> removed;  // those that are not broken
};

/// What replication has to do when the members of a group change: while a group
/// is replicated, those that come are mirrored too, and those that leave are
/// not any more. Called by the operation that holds the keys of the group and
/// of all volumes concerned, on its thread. Thread-safe.
///
///   Validate() -> BeginMutation() -> rbd group: add -> Join() -> journal: add
///              -> Leave() -> rbd group: remove -> journal: remove
///
/// The journal decides who is a member. It changes last, so a call that was
/// interrupted anywhere is repeated with the same change: Join() and Leave()
/// must be idempotent.
class MemberReplication {
 public:
  virtual ~MemberReplication() = default;

  /// Changes nothing. Not OK: the answer, and the group stays as it is.
  virtual absl::Status Validate(OperationContext& context,
                                const MembershipChange& change) = 0;
  /// Not OK: `change.added` do not become members, and nobody is removed.
  virtual absl::Status Join(OperationContext& context,
                            const MembershipChange& change) = 0;
  /// Not OK: `change.removed` stay members.
  virtual absl::Status Leave(OperationContext& context,
                             const MembershipChange& change) = 0;
};

/// For groups whose members are not replicated by this program.
class NoMemberReplication final : public MemberReplication {
 public:
  absl::Status Validate(OperationContext& /*context*/,
                        const MembershipChange& /*change*/) override {
    return absl::OkStatus();
  }
  absl::Status Join(OperationContext& /*context*/,
                    const MembershipChange& /*change*/) override {
    return absl::OkStatus();
  }
  absl::Status Leave(OperationContext& /*context*/,
                     const MembershipChange& /*change*/) override {
    return absl::OkStatus();
  }
};

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_MEMBER_REPLICATION_H_
