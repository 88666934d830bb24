#ifndef ADDONS_INSPECTION_AUDIT_JOURNAL_AUDIT_H_
#define ADDONS_INSPECTION_AUDIT_JOURNAL_AUDIT_H_

#include "inspection/audit/audited_place.h"

namespace addons {

/// ceph-csi's journal of volumes against the images: names that are reserved
/// for a volume without journal object or image, images that were renamed,
/// journal objects of images to which no name leads, and mirrored images of
/// which the journal on this site knows nothing. Objects of the journal that
/// neither a name nor an image leads to are not found. Reads the directory, and
/// one object for each name and each image that no name leads to; blocks as
/// Pool.
void AuditJournal(AuditedPlace& place);

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_JOURNAL_AUDIT_H_
