#include "inspection/audit/fence_audit.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/shell_command.h"
#include "networkfence/fence_view.h"
#include "networkfence/find_services.h"
#include "networkfence/helper_marker.h"

namespace addons {
namespace {

class FenceAudit {
 public:
  FenceAudit(BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
             const ClusterId& cluster_id, const FenceAuditOptions& options)
      : threads_(threads),
        cluster_(cluster),
        cluster_id_(cluster_id),
        options_(options) {}

  AuditFindings Run() {
    const auto view = ReadFenceView(*cluster_);
    // A Ceph without range blocklists has no fences.
    if (absl::IsFailedPrecondition(view.status())) return {};
    if (!view.ok()) {
      Unclear(absl::StrCat("the blocklist could not be read: ",
                           view.status().message()));
      return std::move(findings_);
    }
    for (const std::string& entry : view->list.unreadable) {
      Unclear(
          absl::StrCat("an entry of the blocklist is not understood: ", entry));
    }
    CheckServices(*view);
    for (const BlocklistEntry& entry : view->list.entries) {
      if (IsFence(entry) && !view->Expired(entry)) CheckEnd(*view, entry);
    }
    for (const HelperMarker& marker : FindMarkers(view->list)) {
      Found(marker.range,
            "the end of this fence was being changed; if no daemon is at that "
            "now, it was interrupted, and the next fence of the range finishes "
            "it",
            FenceAgain(marker.range));
      findings_.back().half_done = true;
    }
    return std::move(findings_);
  }

 private:
  static bool IsFence(const BlocklistEntry& entry) {
    return entry.kind != BlocklistEntry::Kind::kClient;
  }
  void Found(const Cidr& range, std::string seen, std::string remedy) {
    findings_.push_back(
        {AuditKind::kFences, range.Text(), std::move(seen), std::move(remedy)});
  }
  void Unclear(std::string seen) {
    findings_.push_back({AuditKind::kFences,
                         absl::StrCat("cluster '", cluster_id_.text(), "'"),
                         std::move(seen), "", true});
  }
  std::string FenceAgain(const Cidr& range) const {
    return absl::StrCat(
        ShellCommand({"rbd-addons", "fence", range.Text(), "--cluster",
                      cluster_id_.text(), "--secrets-file"}),
        " SECRETS-FILE");
  }

  void CheckEnd(const FenceView& view, const BlocklistEntry& entry) {
    if (!entry.until.has_value()) {
      findings_.push_back({AuditKind::kFences, entry.Range().Text(),
                           "when this fence ends cannot be read",
                           FenceAgain(entry.Range()), true});
      return;
    }
    const absl::Duration left = *entry.until - view.map.modified;
    if (left > absl::FromChrono(options_.soon)) return;
    Found(entry.Range(),
          absl::StrCat("this fence ends at ",
                       absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", *entry.until,
                                        absl::UTCTimeZone()),
                       "; then its clients write again. Where it has done its "
                       "work, unfence it; else"),
          FenceAgain(entry.Range()));
  }

  void CheckServices(const FenceView& view) {
    auto monitors = FindMonitors(*cluster_);
    if (!monitors.ok()) {
      Unclear(absl::StrCat("whom the fences hit could not be looked at: ",
                           monitors.status().message()));
      return;
    }
    const ServicesFound services = FindServices(
        threads_, cluster_, view.map, *std::move(monitors), options_.patience);
    bool any = false;
    for (const BlocklistEntry& entry : view.list.entries) {
      if (!IsFence(entry) || view.Expired(entry)) continue;
      any = true;
      const std::vector<std::string> hit = Covered(services, {entry.Range()});
      if (hit.empty()) continue;
      std::vector<std::string> remove = {"ceph", "osd", "blocklist"};
      if (entry.kind == BlocklistEntry::Kind::kRange) {
        remove.emplace_back("range");
      }
      remove.insert(remove.end(), {"rm", entry.Argument()});
      Found(entry.Range(),
            absl::StrCat("this fence hits ", absl::StrJoin(hit, ", "),
                         ". Lift it, and fence the workload's own addresses"),
            ShellCommand(remove));
    }
    if (!any) return;
    for (const std::string& unknown : services.unknown) {
      Unclear(absl::StrCat("whether a fence hits it could not be looked at: ",
                           unknown));
    }
  }

  BoundedThreads& threads_;
  const std::shared_ptr<Cluster>& cluster_;
  const ClusterId& cluster_id_;
  const FenceAuditOptions options_;
  AuditFindings findings_;
};

}  // namespace

AuditFindings AuditFences(BoundedThreads& threads,
                          const std::shared_ptr<Cluster>& cluster,
                          const ClusterId& cluster_id,
                          const FenceAuditOptions& options) {
  return FenceAudit(threads, cluster, cluster_id, options).Run();
}

}  // namespace addons
