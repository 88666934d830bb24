#ifndef ADDONS_INSPECTION_AUDIT_GROUP_AUDIT_H_
#define ADDONS_INSPECTION_AUDIT_GROUP_AUDIT_H_

#include "inspection/audit/audited_place.h"

namespace addons {

/// The volume groups of the journal against their rbd groups, which on each
/// site have those members that are primary or not mirrored: members that are
/// missing there or incomplete, images too many, names without a group. And the
/// rbd groups that a newer Ceph mirrors as groups, whoever has made them.
/// Volumes of another pool are not followed, and unclear. Reads the journal of
/// each member and its mirror state; blocks as Pool.
void AuditGroups(AuditedPlace& place);

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_GROUP_AUDIT_H_
