#ifndef ADDONS_INSPECTION_AUDIT_RESCUE_AUDIT_H_
#define ADDONS_INSPECTION_AUDIT_RESCUE_AUDIT_H_

#include "inspection/audit/audited_place.h"

namespace addons {

/// What calls that died have left of images: rescue images, and images whose
/// mirroring is half disabled. A rescue image that may still hold what its
/// image needs has no remedy: to remove it would lose that. Opens each rescue
/// image read-only and reads the mirror state of each mirrored image; blocks as
/// Pool.
void AuditRescues(AuditedPlace& place);

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_RESCUE_AUDIT_H_
