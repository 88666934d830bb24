#include "cli/audit.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace pb = ::rbdaddons::admin::v1;
using Kind = pb::AuditFinding::Kind;

std::string NameOf(int kind) {
  return absl::AsciiStrToLower(
      pb::AuditFinding::Kind_Name(static_cast<Kind>(kind)));
}

/// All kinds by name, without "all".
std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (int kind = pb::AuditFinding::Kind_MIN;
       kind <= pb::AuditFinding::Kind_MAX; ++kind) {
    if (kind != pb::AuditFinding::UNSPECIFIED) names.push_back(NameOf(kind));
  }
  return names;
}

}  // namespace

std::vector<std::string> AuditKinds() {
  std::vector<std::string> names = KindNames();
  names.emplace_back(kAuditAll);
  return names;
}

void SetAuditKind(const std::string& kind, pb::AuditPoolRequest* request) {
  Kind value = pb::AuditFinding::UNSPECIFIED;
  if (pb::AuditFinding::Kind_Parse(absl::AsciiStrToUpper(kind), &value)) {
    request->add_kinds(value);
  }
}

std::string AuditText(const pb::AuditPoolRequest& request,
                      const pb::AuditPoolResponse& found) {
  if (found.findings().empty()) {
    const std::string looked_at = request.kinds().empty()
                                      ? absl::StrJoin(KindNames(), ", ")
                                      : NameOf(request.kinds(0));
    return absl::StrCat("nothing found (looked at: ", looked_at, ")\n");
  }
  std::string text;
  int unclear = 0;
  for (const pb::AuditFinding& finding : found.findings()) {
    unclear += finding.unclear() ? 1 : 0;
    absl::StrAppend(&text, NameOf(finding.kind()),
                    finding.unclear() ? ", unclear  " : "  ",
                    CleanLine(finding.object(), kMaxShownName), ": ",
                    CleanLine(finding.seen(), kMaxShownText), "\n");
    if (!finding.remedy().empty()) {
      absl::StrAppend(
          &text, "  do: ", CleanLine(finding.remedy(), kMaxShownText), "\n");
    }
  }
  const int findings = found.findings_size();
  absl::StrAppend(&text, findings, findings == 1 ? " finding" : " findings",
                  ", ", unclear, " unclear",
                  found.more() ? ", and there are more: mend these, then ask "
                                 "again\n"
                               : "\n");
  return text;
}

int RunAudit(const AuditCommand& command, Streams& streams) {
  pb::AuditPoolRequest request;
  request.set_cluster_id(command.cluster);
  request.set_pool(command.pool);
  SetAuditKind(command.kind, &request);
  request.set_fence_ends_within_seconds(command.fence_ends_within);
  pb::AuditPoolResponse found;
  const absl::Status called =
      AskWithSecrets(command.endpoint, command.timeout, command.secrets,
                     request, found, streams);
  if (!called.ok()) return FailCall(called, streams);
  return YieldMessage(found, AuditText(request, found), streams);
}

}  // namespace addons
