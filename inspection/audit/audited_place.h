#ifndef ADDONS_INSPECTION_AUDIT_AUDITED_PLACE_H_
#define ADDONS_INSPECTION_AUDIT_AUDITED_PLACE_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/image_name.h"
#include "ceph/pool.h"
#include "inspection/audit/finding.h"

namespace addons {

/// A pool and RADOS namespace that is audited, and what was found there. Used
/// by one thread.
struct AuditedPlace {
  Pool& pool;  // not owned
  /// The driver's --instanceid.
  std::string instance_id;
  /// Of all images, by internal id; and which of these ids are mirrored.
  std::map<std::string, ImageName> images{};
  std::map<std::string, ImageName> mirrored{};
  AuditFindings findings{};
  /// There are images whose names could not be read.
  bool unnamed_images = false;

  void Found(AuditKind kind, std::string object, std::string seen,
             std::string remedy) {
    findings.push_back(
        {kind, std::move(object), std::move(seen), std::move(remedy)});
  }
  /// RepairPool() would make this change for what was found last.
  void MayRepair(std::string repair, OmapRepair change) {
    findings.back().repair = std::move(repair);
    findings.back().change = std::move(change);
  }
  void Unclear(AuditKind kind, std::string object, std::string seen) {
    findings.push_back({kind, std::move(object), std::move(seen), "", true});
  }
  void NotSeen(AuditKind kind, std::string object, const absl::Status& status) {
    Unclear(kind, std::move(object),
            absl::StrCat("it could not be looked at: ", status.message()));
  }
};

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_AUDITED_PLACE_H_
