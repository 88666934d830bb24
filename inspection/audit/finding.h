#ifndef ADDONS_INSPECTION_AUDIT_FINDING_H_
#define ADDONS_INSPECTION_AUDIT_FINDING_H_

#include <string>
#include <vector>

namespace addons {

/// What an audit looks at.
enum class AuditKind {
  kClones,     // mirrored images whose copy is not whole
  kJournal,    // ceph-csi's journal of volumes, and the images
  kSchedules,  // mirror snapshot schedules of images that are gone
  kGroups,     // journal and rbd group of volume groups
  kRescues,    // what calls that died have left of images
  kFences,     // the cluster's blocklist
  kCopies,     // what mirroring by snapshots leaves out
  kImages,     // what stands in the way of mirrored images
};

/// One change of an entry of an object's omap, in one atomic step.
struct OmapRepair {
  enum class Change {
    kRemove,  // if the key still has `value`
    kAdd,     // `value`, if there is no such key
  };
  Change change = Change::kRemove;
  std::string rados_namespace;
  std::string object;
  std::string key;
  std::string value;
};

/// One thing that is wrong, or could not be looked at.
struct AuditFinding {
  AuditKind kind = AuditKind::kJournal;
  /// "pool/image" and the like; of a fence: the range.
  std::string object;
  std::string seen;
  /// Commands for a shell that mend it, once what `seen` names as a condition
  /// is given; empty: none does.
  std::string remedy;
  /// It could not be looked at, or what is right cannot be told.
  bool unclear = false;
  /// A change that was begun has not come to its end.
  bool half_done = false;
  /// What RepairPool() would do about it, in words that are the same at each
  /// look; empty: nothing, it is for a person.
  std::string repair{};
  OmapRepair change{};
};
using AuditFindings = std::vector<AuditFinding>;

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_FINDING_H_
