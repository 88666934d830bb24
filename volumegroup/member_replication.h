#ifndef ADDONS_VOLUMEGROUP_MEMBER_REPLICATION_H_
#define ADDONS_VOLUMEGROUP_MEMBER_REPLICATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "operation/operation_context.h"
#include "replication/parameters.h"
#include "volume/resolver.h"

namespace addons {

/// A change of the members of a group that exists.
struct MembershipChange {
  const ResolvedGroup& group;  // as it was before
  const CephUser& user;
  FlattenMode flatten = FlattenMode::kNever;  // for volumes that are added
  std::vector<std::string> kept;              // volume ids
  std::vector<std::string> added;
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

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_MEMBER_REPLICATION_H_
