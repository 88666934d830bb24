#include "replication/inspection/clone_audit.h"

#include <memory>
#include <utility>

#include "base/status_macros.h"

namespace addons {
namespace {

// librbd keeps the mirrored images of a pool and namespace in the omap of this
// object, under "image_<image id>".
constexpr char kMirroring[] = "rbd_mirroring";
constexpr char kImagePrefix[] = "image_";
constexpr uint64_t kPage = 512;

absl::StatusOr<std::vector<std::string>> MirroredImageIds(Pool& pool) {
  std::vector<std::string> ids;
  std::string after;
  for (;;) {
    const auto page = pool.ReadOmapPage(kMirroring, kImagePrefix, after, kPage);
    if (absl::IsNotFound(page.status())) return ids;  // nothing is mirrored
    ADDONS_RETURN_IF_ERROR(page.status());
    for (const auto& [key, value] : page->values) {
      ids.push_back(key.substr(sizeof(kImagePrefix) - 1));
      after = key;
    }
    if (!page->more || page->values.empty()) return ids;
  }
}

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
                          MirroredImageIds(pool));
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
