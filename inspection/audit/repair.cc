#include "inspection/audit/repair.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "lease/leased_context.h"

namespace addons {
namespace {

/// Longer than it takes ceph-csi from the reservation of a name to the image.
constexpr std::chrono::seconds kStays{15};

const AuditFinding* FindSame(const AuditFindings& findings,
                             const AuditFinding& wanted) {
  const auto same = std::find_if(
      findings.begin(), findings.end(), [&](const AuditFinding& finding) {
        return finding.kind == wanted.kind && finding.object == wanted.object &&
               finding.repair == wanted.repair && !finding.repair.empty();
      });
  return same == findings.end() ? nullptr : &*same;
}

class Repairing {
 public:
  Repairing(LeasedContext& context, BoundedThreads& threads,
            const ResolvedPlace& place, const AuditRequest& request)
      : context_(context),
        threads_(threads),
        place_(place),
        request_(request) {}

  absl::StatusOr<std::vector<RepairResult>> Run(const AuditFindings& plan) {
    context_.Aim({place_, "rbd_addons.lease.repair",
                  absl::StrCat("repairs of pool '", place_.pool_name, "'")});
    ADDONS_RETURN_IF_ERROR(context_.Take());
    context_.Step("looking through the pool again");
    ADDONS_ASSIGN_OR_RETURN(AuditFindings found, Look());
    if (request_.kinds.contains(AuditKind::kJournal) ||
        request_.kinds.contains(AuditKind::kGroups)) {
      context_.Step("waiting whether it stays so");
      ADDONS_RETURN_IF_ERROR(context_.SleepFor(kStays));
      ADDONS_ASSIGN_OR_RETURN(const AuditFindings now, Look());
      std::erase_if(found, [&](const AuditFinding& finding) {
        return FindSame(now, finding) == nullptr;
      });
    }
    ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
    context_.Step("repairing");
    std::vector<RepairResult> results;
    for (const AuditFinding& wanted : plan) {
      results.push_back(Repair(wanted, FindSame(found, wanted)));
    }
    return results;
  }

 private:
  absl::StatusOr<AuditFindings> Look() {
    return AuditPool(threads_, place_, request_, context_.stop_token());
  }

  RepairResult Repair(const AuditFinding& wanted, const AuditFinding* found) {
    RepairResult result{wanted.kind, wanted.object, wanted.repair,
                        RepairOutcome::kNotNeeded,
                        "it is not found any more, or otherwise now"};
    if (found == nullptr) return result;
    const auto changed = Change(found->change);
    if (!changed.ok()) {
      result.outcome = RepairOutcome::kFailed;
      result.text = std::string(changed.status().message());
    } else if (*changed) {
      result.outcome = RepairOutcome::kDone;
      result.text.clear();
      Log().info("repaired object={} by={}", Quoted(wanted.object),
                 Quoted(wanted.repair));
    }
    return result;
  }

  /// false: it is not as it was found.
  absl::StatusOr<bool> Change(const OmapRepair& repair) {
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> pool,
        place_.cluster->OpenPool(place_.pool_id, repair.rados_namespace,
                                 Access::kMutate));
    auto changed =
        repair.change == OmapRepair::Change::kAdd
            ? pool->ReplaceOmapValue(repair.object, repair.key, std::nullopt,
                                     repair.value)
            : pool->RemoveOmapValue(repair.object, repair.key, repair.value);
    if (absl::IsNotFound(changed.status())) return false;
    return changed;
  }

  LeasedContext& context_;
  BoundedThreads& threads_;
  const ResolvedPlace& place_;
  const AuditRequest& request_;
};

}  // namespace

absl::StatusOr<std::vector<RepairResult>> RepairPool(
    OperationContext& context, LeaseKeeper& leases, BoundedThreads& threads,
    const ResolvedPlace& place, AuditRequest request,
    const AuditFindings& plan) {
  request.kinds.clear();
  for (const AuditFinding& finding : plan) request.kinds.insert(finding.kind);
  return RunLeased(context, leases, "repair", [&](LeasedContext& leased) {
    return Repairing(leased, threads, place, request).Run(plan);
  });
}

}  // namespace addons
