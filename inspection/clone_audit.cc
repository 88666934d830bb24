#include "inspection/clone_audit.h"

#include <utility>

#include "base/status_macros.h"
#include "replication/look/image_directory.h"

namespace addons {
namespace {

absl::StatusOr<CloneFinding> Look(const Pool& pool, Image& image) {
  MirrorView view;
  ADDONS_ASSIGN_OR_RETURN(view.info, image.MirrorInfo());
  ADDONS_ASSIGN_OR_RETURN(view.parent, image.Parent());
  ADDONS_ASSIGN_OR_RETURN(const auto mark, image.Metadata(kCloneMark));
  if (mark.has_value()) view.marks[kCloneMark] = *mark;
  CloneFinding finding;
  finding.image = pool.Spec(image.name());
  finding.state = CloneStateOf(view);
  finding.text = DescribeCloneLoss(view, finding.image);
  ADDONS_RETURN_IF_ERROR(image.Close());
  return finding;
}

}  // namespace

absl::StatusOr<std::vector<CloneFinding>> AuditMirroredClones(
    Pool& pool, const std::stop_token& stop) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                          ReadMirroredImageIds(pool));
  std::vector<CloneFinding> findings;
  for (const std::string& id : ids) {
    if (stop.stop_requested()) {
      return absl::CancelledError("nobody waits for the audit any more");
    }
    auto image = pool.OpenImageByIdReadOnly(id);
    if (absl::IsNotFound(image.status())) continue;
    ADDONS_RETURN_IF_ERROR(image.status());
    auto finding = Look(pool, **image);
    if (absl::IsNotFound(finding.status())) continue;
    ADDONS_RETURN_IF_ERROR(finding.status());
    if (finding->state != CloneState::kWhole) {
      findings.push_back(*std::move(finding));
    }
  }
  return findings;
}

}  // namespace addons
