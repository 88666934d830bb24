#include "cli/audit.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/confirm.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using Kind = admin_pb::AuditFinding::Kind;

std::string NameOf(int kind) {
  return absl::AsciiStrToLower(
      admin_pb::AuditFinding::Kind_Name(static_cast<Kind>(kind)));
}

/// The kinds by name, without "all", and without those that must be asked for.
enum class Kinds { kEach, kInAll };
std::vector<std::string> KindNames(Kinds which) {
  std::vector<std::string> names;
  for (int kind = admin_pb::AuditFinding::Kind_MIN;
       kind <= admin_pb::AuditFinding::Kind_MAX; ++kind) {
    if (kind == admin_pb::AuditFinding::UNSPECIFIED) continue;
    if (kind == admin_pb::AuditFinding::COPIES && which == Kinds::kInAll) {
      continue;
    }
    names.push_back(NameOf(kind));
  }
  return names;
}

}  // namespace

std::vector<std::string> AuditKinds() {
  std::vector<std::string> names = KindNames(Kinds::kEach);
  names.emplace_back(kAuditAll);
  return names;
}

void SetAuditKind(const std::string& kind,
                  admin_pb::AuditPoolRequest* request) {
  Kind value = admin_pb::AuditFinding::UNSPECIFIED;
  if (admin_pb::AuditFinding::Kind_Parse(absl::AsciiStrToUpper(kind), &value)) {
    request->add_kinds(value);
  }
}

std::string AuditText(const admin_pb::AuditPoolRequest& request,
                      const admin_pb::AuditPoolResponse& found,
                      Listing listing) {
  if (found.findings().empty()) {
    const std::string looked_at =
        request.kinds().empty() ? absl::StrJoin(KindNames(Kinds::kInAll), ", ")
                                : NameOf(request.kinds(0));
    return absl::StrCat("nothing found (looked at: ", looked_at, ")\n");
  }
  int unclear = 0;
  std::vector<Reasoned> rows;
  for (const admin_pb::AuditFinding& finding : found.findings()) {
    unclear += finding.unclear() ? 1 : 0;
    rows.push_back({CleanLine(finding.object(), kMaxShownName),
                    CleanLine(finding.seen(), kMaxShownText),
                    absl::StrCat(NameOf(finding.kind()),
                                 finding.unclear() ? ", unclear" : ""),
                    CleanLine(finding.remedy(), kMaxShownText),
                    {finding.object()}});
  }
  std::string text = ListRows(rows, listing, [&rows](size_t i) {
    const Reasoned& row = rows[i];
    return absl::StrCat(row.kind, "  ", row.name, ": ", row.reason, "\n",
                        row.remedy.empty() ? "" : "  do: ", row.remedy,
                        row.remedy.empty() ? "" : "\n");
  });
  const int findings = found.findings_size();
  absl::StrAppend(&text, findings, findings == 1 ? " finding" : " findings",
                  ", ", unclear, " unclear",
                  found.more() ? ", and there are more: mend these, then ask "
                                 "again\n"
                               : "\n");
  return text;
}

namespace {

/// What has no outcome is from a newer daemon, and not known to be done.
bool Failed(const admin_pb::Repair& repair) {
  return repair.outcome() != admin_pb::Repair::DONE &&
         repair.outcome() != admin_pb::Repair::NOT_NEEDED;
}

}  // namespace

std::string RepairsText(const admin_pb::RepairPoolResponse& done,
                        Listing listing) {
  std::vector<Reasoned> rows;
  for (const admin_pb::Repair& repair : done.repairs()) {
    std::string outcome =
        absl::AsciiStrToLower(admin_pb::Repair::Outcome_Name(repair.outcome()));
    std::replace(outcome.begin(), outcome.end(), '_', ' ');
    rows.push_back({CleanLine(repair.object(), kMaxShownName),
                    absl::StrCat(CleanLine(repair.repair(), kMaxShownText),
                                 repair.text().empty() ? "" : ": ",
                                 CleanLine(repair.text(), kMaxShownText)),
                    std::move(outcome),
                    Failed(repair)
                        ? "mend what it says, then run the same command again"
                        : "",
                    {repair.object()}});
  }
  return ListRows(rows, listing, [&rows](size_t i) {
    const Reasoned& row = rows[i];
    return absl::StrCat(row.kind, "  ", row.name, ": ", row.reason, "\n");
  });
}

namespace {

/// What the daemon may do, as it takes it back.
admin_pb::RepairPoolRequest PlanOf(const admin_pb::AuditPoolRequest& audited,
                                   const admin_pb::AuditPoolResponse& found) {
  admin_pb::RepairPoolRequest request;
  request.set_cluster_id(audited.cluster_id());
  request.set_pool(audited.pool());
  for (const admin_pb::AuditFinding& finding : found.findings()) {
    if (finding.repair().empty()) continue;
    admin_pb::AuditFinding& planned = *request.add_plan();
    planned.set_kind(finding.kind());
    planned.set_object(finding.object());
    planned.set_repair(finding.repair());
  }
  return request;
}

std::string PlanText(const admin_pb::RepairPoolRequest& request) {
  if (request.plan().empty()) {
    return "there is nothing that the daemon may repair\n";
  }
  std::string text = "the daemon would\n";
  for (const admin_pb::AuditFinding& finding : request.plan()) {
    absl::StrAppend(&text, "  ", CleanLine(finding.object(), kMaxShownName),
                    ": ", CleanLine(finding.repair(), kMaxShownText), "\n");
  }
  return text;
}

int Repair(const AuditCommand& command,
           const admin_pb::AuditPoolRequest& audited,
           const admin_pb::AuditPoolResponse& found, Streams& streams) {
  admin_pb::RepairPoolRequest request = PlanOf(audited, found);
  const std::string shown = absl::StrCat(
      AuditText(audited, found, ListingOf(streams)), PlanText(request));
  admin_pb::RepairPoolResponse done;
  if (command.yes || request.plan().empty()) {
    streams.err << shown;
  } else if (!SaysYes(shown, "the above", streams)) {
    return kCliUsage;
  }
  if (!request.plan().empty()) {
    const absl::Status called =
        AskWithSecrets(command.endpoint, command.timeout, command.secrets,
                       request, done, streams);
    if (!called.ok()) return FailCall(called, streams);
  }
  const int printed =
      YieldMessage(done, RepairsText(done, ListingOf(streams)), streams);
  if (printed != 0) return printed;
  return std::any_of(done.repairs().begin(), done.repairs().end(), Failed)
             ? kWouldNotWork
             : 0;
}

}  // namespace

int RunAudit(const AuditCommand& command, Streams& streams) {
  admin_pb::AuditPoolRequest request;
  request.set_cluster_id(command.cluster);
  request.set_pool(command.pool);
  SetAuditKind(command.kind, &request);
  request.set_fence_ends_within_seconds(command.fence_ends_within);
  admin_pb::AuditPoolResponse found;
  const absl::Status called =
      AskWithSecrets(command.endpoint, command.timeout, command.secrets,
                     request, found, streams);
  if (!called.ok()) return FailCall(called, streams);
  if (command.repair) return Repair(command, request, found, streams);
  return YieldMessage(found, AuditText(request, found, ListingOf(streams)),
                      streams);
}

}  // namespace addons
