#include "inspection/installation_check.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ceph/pool.h"
#include "inspection/audit/audit_pool.h"
#include "inspection/failover_check.h"
#include "replication/look/role_log.h"
#include "replication/schedule_store.h"
#include "watch/pool_look.h"

namespace addons {
namespace {

/// Of how many intervals a copy may be old: as deploy/ has its alerts.
constexpr double kLate = 2;
constexpr double kTooLate = 3;
/// How many images a finding names.
constexpr size_t kMostNamed = 5;

std::string Names(std::vector<std::string> names) {
  const size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, "; "),
                      more > 0 ? absl::StrCat("; and ", more, " more") : "");
}

std::string Images(size_t count) {
  return absl::StrCat(count, count == 1 ? " image" : " images");
}

std::string Spec(const ResolvedPlace& place) {
  return absl::StrCat(place.pool_name, place.rados_namespace.empty() ? "" : "/",
                      place.rados_namespace);
}

// --- moves

enum class Rest { kStill, kMoving, kUnseen };

/// Whether an image rests where it is; `why` else.
Rest RestOf(const FailoverFinding& image, std::string* why) {
  if (image.role.empty()) {
    *why = image.forecast.planned.reason;
    return Rest::kUnseen;
  }
  if (image.split_brain) {
    *why = "its two sides went different ways";
    return Rest::kMoving;
  }
  const bool primary = image.role == kRolePrimary;
  if (primary && image.primary_elsewhere.empty()) return Rest::kStill;
  if (primary) {
    *why = absl::StrCat("it is primary here, and ", image.primary_elsewhere,
                        " says the same");
    return Rest::kMoving;
  }
  if (image.role != "secondary") {
    *why = absl::StrCat("it is ", image.role);
    return Rest::kMoving;
  }
  if (!image.primary_elsewhere.empty()) return Rest::kStill;
  *why = image.others_report ? "it is secondary, and no site says that it is "
                               "primary"
                             : "it is secondary, and no other site reports";
  return image.others_report ? Rest::kMoving : Rest::kUnseen;
}

Finding CheckMoves(OperationContext& context,
                   ReplicationEnvironment& environment,
                   const MirroredPlace& place) {
  Finding finding{"handover.moves", FindingVerdict::kUnclear, place.object, "",
                  "look at the images with rbd-addons explain"};
  const auto images =
      CheckFailoverOfPool(context, environment, place.place, std::nullopt);
  if (!images.ok()) {
    finding.seen = std::string(images.status().message());
    return finding;
  }
  std::vector<std::string> moving;
  std::vector<std::string> unseen;
  for (const FailoverFinding& image : *images) {
    std::string why;
    const Rest rest = RestOf(image, &why);
    if (rest == Rest::kStill) continue;
    (rest == Rest::kMoving ? moving : unseen)
        .push_back(absl::StrCat(image.image, ": ", why));
  }
  if (!moving.empty()) {
    finding.verdict = FindingVerdict::kProblem;
    finding.seen = absl::StrCat(Images(moving.size()),
                                " in the middle of something: ", Names(moving));
    finding.remedy =
        "finish what was begun with the server that runs now, then ask again; "
        "rbd-addons explain tells what each image waits for";
  } else if (!unseen.empty()) {
    finding.seen =
        absl::StrCat("it is not clear of ", Images(unseen.size()),
                     " whether a move is under way: ", Names(unseen));
  } else {
    finding.verdict = FindingVerdict::kOk;
    finding.seen =
        absl::StrCat(Images(images->size()), ", none in the middle of a move");
    finding.remedy.clear();
  }
  return finding;
}

// --- what the audit knows

struct AuditedKind {
  AuditKind kind;
  const char* id;
  const char* none;  // what is said where nothing is found
};

constexpr AuditedKind kAudited[] = {
    {AuditKind::kJournal, "handover.volumes",
     "the journal and the images of volumes fit"},
    {AuditKind::kClones, "handover.clones",
     "no mirrored image is a clone (one that was flattened while it was "
     "mirrored, and before this daemon ran, cannot be told)"},
    {AuditKind::kGroups, "handover.groups",
     "journal and rbd group of each volume group fit"},
    {AuditKind::kRescues, "handover.leftovers",
     "no call that died has left anything of an image"},
    {AuditKind::kFences, "handover.fences",
     "no fence is half changed, ends within the hour or hits a service"}};
static_assert(kAudited[4].kind == AuditKind::kFences);

/// What is the same whoever serves is no more than a warning: volumes whose
/// copy or journal is not whole, and fences but those that are half changed.
FindingVerdict VerdictOf(const AuditFinding& finding) {
  if (finding.unclear) return FindingVerdict::kUnclear;
  switch (finding.kind) {
    case AuditKind::kClones:
    case AuditKind::kJournal:
      return FindingVerdict::kWarning;
    case AuditKind::kFences:
      return finding.half_done ? FindingVerdict::kProblem
                               : FindingVerdict::kWarning;
    default:
      return FindingVerdict::kProblem;
  }
}

Findings CheckAudits(OperationContext& context, BoundedThreads& threads,
                     const MirroredPlace& place,
                     const std::string& instance_id) {
  AuditRequest request;
  request.instance_id = instance_id;
  request.fences.soon = std::chrono::hours(1);
  std::vector<AuditedKind> asked(std::begin(kAudited), std::end(kAudited));
  // Fences are the whole cluster's.
  if (!place.first_of_cluster) asked.pop_back();
  for (const AuditedKind& audited : asked) request.kinds.insert(audited.kind);
  const auto found =
      AuditPool(threads, place.place, request, context.stop_token());
  Findings findings;
  for (const AuditedKind& audited : asked) {
    if (!found.ok()) {
      findings.push_back(
          {audited.id, FindingVerdict::kUnclear, place.object,
           std::string(found.status().message()),
           absl::StrCat("rbd-addons audit --pool ", place.place.pool_name)});
      continue;
    }
    const size_t before = findings.size();
    for (const AuditFinding& one : *found) {
      if (one.kind != audited.kind) continue;
      findings.push_back({audited.id, VerdictOf(one),
                          absl::StrCat(one.object, " of ", place.object),
                          one.seen, one.remedy});
    }
    if (findings.size() == before) {
      findings.push_back(
          {audited.id, FindingVerdict::kOk, place.object, audited.none, ""});
    }
  }
  return findings;
}

/// Whether a schedule is for the image at all: in journal mode it is not. One
/// of which that cannot be seen counts as scheduled.
bool HasSnapshots(Pool& pool, const std::string& image_id) {
  const auto info = pool.MirrorInfoById(image_id);
  return !info.ok() ||
         (info->has_value() && (*info)->mode == MirrorMode::kSnapshot);
}

/// Empty: none is wrong, or they cannot be read: that is said elsewhere.
Findings CheckStoredSchedules(const MirroredPlace& place, Pool& pool) {
  const auto whole =
      place.place.cluster->OpenPool(pool.id(), "", Access::kRead);
  if (!whole.ok()) return {};
  const auto found = FindWrongSchedules(**whole, pool);
  if (!found.ok() || found->wrong.empty()) return {};
  const std::vector<WrongSchedule>& wrong = found->wrong;
  // One that does not run does harm, the others are late.
  const auto harmful = std::find_if(
      wrong.begin(), wrong.end(),
      [](const WrongSchedule& one) { return !one.schedule.Runs(); });
  const bool problem = harmful != wrong.end();
  const WrongSchedule& worst = problem ? *harmful : wrong.front();
  return {
      {"schedule.wrong",
       problem ? FindingVerdict::kProblem : FindingVerdict::kWarning,
       place.object,
       absl::StrCat(worst.seen,
                    "; schedules that are not right: ", wrong.size()),
       absl::StrCat("rbd-addons audit schedules --pool ", place.place.pool_name,
                    " names each with the command that "
                    "removes it; a promotion of a volume sets the one of "
                    "its class anew")}};
}

/// How old the copies of the images are that are primary here.
struct Pace {
  size_t scheduled = 0;
  double worst = 0;                  // age by interval
  std::vector<std::string> late;     // for a person
  std::vector<std::string> unknown;  // with a schedule, and no age
  std::vector<std::string> never;    // without a schedule
};

Pace PaceOf(const MirroredPlace& place, Pool& pool, const WatchedPool& seen) {
  Pace pace;
  for (const WatchedImage& image : seen.images) {
    if (image.role != WatchedRole::kPrimary) continue;
    const bool has_schedule = image.interval_seconds.has_value();
    if (!image.lag_ratio.has_value()) {
      if (!HasSnapshots(pool, image.image_id)) continue;
      (has_schedule ? pace.unknown : pace.never).push_back(image.image);
    }
    if (!has_schedule) continue;
    ++pace.scheduled;
    if (!image.lag_ratio.has_value()) continue;
    pace.worst = std::max(pace.worst, *image.lag_ratio);
    if (*image.lag_ratio < kLate) continue;
    pace.late.push_back(absl::StrCat(
        Spec(place.place), "/", image.image, ": ", *image.lag_seconds,
        " s with a schedule of ", *image.interval_seconds, " s"));
  }
  return pace;
}

}  // namespace

Findings CheckPace(OperationContext& context,
                   ReplicationEnvironment& environment,
                   const MirroredPlace& place) {
  Finding finding{"schedule.kept", FindingVerdict::kUnclear, place.object, "",
                  absl::StrCat("rbd mirror snapshot schedule status --pool ",
                               Spec(place.place),
                               ", and the managers: ceph mgr module ls")};
  const auto pool = place.place.OpenPool(Access::kRead);
  WatchedPool seen;
  absl::Status looked = pool.status();
  if (looked.ok()) {
    looked =
        PoolLook(environment.clock)
            .Look(
                context, *place.place.cluster, **pool,
                environment.options.settle_time,
                [](const std::string&) { return std::nullopt; }, "", &seen);
  }
  if (!looked.ok() || !seen.schedules_unseen.empty()) {
    finding.seen =
        looked.ok() ? seen.schedules_unseen : std::string(looked.message());
    return {finding};
  }
  const auto& [scheduled, worst, late, unknown, never] =
      PaceOf(place, **pool, seen);
  if (late.empty() && !unknown.empty()) {
    finding.seen = absl::StrCat(
        "how old the copy is is not known of ", Images(unknown.size()),
        " with a schedule, because no rbd-mirror of the other site reports of "
        "it, or it was not copied yet: ",
        Names(unknown));
    finding.remedy =
        "look at rbd-mirror of the other site, and what it says of the image: "
        "rbd mirror image status";
  } else if (late.empty()) {
    finding.verdict = FindingVerdict::kOk;
    finding.seen = absl::StrCat(Images(scheduled),
                                " with a schedule, each copied within two of "
                                "its intervals");
    finding.remedy.clear();
  } else {
    finding.verdict =
        worst < kTooLate ? FindingVerdict::kWarning : FindingVerdict::kProblem;
    finding.seen = absl::StrCat(
        Images(late.size()),
        " whose last whole copy is older than two intervals: ", Names(late));
    absl::StrAppend(&finding.remedy,
                    "; where snapshots are taken in time, the copying is too "
                    "slow: rbd mirror image status");
  }
  Findings findings = CheckStoredSchedules(place, **pool);
  findings.insert(findings.begin(), std::move(finding));
  if (!never.empty()) {
    findings.push_back(
        {"schedule.none", FindingVerdict::kWarning, place.object,
         absl::StrCat(
             "without a schedule nothing that is written is copied, and "
             "none is for ",
             Images(never.size()),
             " that this site has as primary: ", Names(never)),
         "set schedulingInterval in the VolumeReplicationClass, or rbd mirror "
         "snapshot schedule add"});
  }
  return findings;
}

Findings CheckBeforeHandover(OperationContext& context,
                             ReplicationEnvironment& environment,
                             BoundedThreads& threads,
                             const MirroredPlace& place,
                             const std::string& instance_id) {
  Findings findings = {CheckMoves(context, environment, place)};
  Findings audited = CheckAudits(context, threads, place, instance_id);
  std::move(audited.begin(), audited.end(), std::back_inserter(findings));
  return findings;
}

}  // namespace addons
