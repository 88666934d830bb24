#include "cli/doctor.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

using Numbers = std::map<admin_pb::Finding::Verdict, int>;

Numbers Count(const admin_pb::DiagnoseResponse& found) {
  Numbers numbers;
  for (const admin_pb::Finding& finding : found.findings()) {
    ++numbers[finding.verdict()];
  }
  return numbers;
}

std::string VerdictText(admin_pb::Finding::Verdict verdict,
                        const Palette& palette) {
  const std::string text =
      absl::AsciiStrToLower(admin_pb::Finding::Verdict_Name(verdict));
  switch (verdict) {
    case admin_pb::Finding::OK:
      return palette.Good(text);
    case admin_pb::Finding::PROBLEM:
      return palette.Bad(text);
    default:
      return palette.Poor(text);
  }
}

/// What a person does first, where something is a problem or unclear; else
/// empty.
std::string NextStep(const admin_pb::DiagnoseResponse& found) {
  for (const admin_pb::Finding& finding : found.findings()) {
    if (finding.verdict() != admin_pb::Finding::PROBLEM &&
        finding.verdict() != admin_pb::Finding::UNCLEAR) {
      continue;
    }
    const std::string remedy = CleanLine(finding.remedy(), kMaxShownText);
    return absl::StrCat("next: ", remedy.substr(0, remedy.find(';')),
                        "; then rbd-addons doctor again\n");
  }
  return "";
}

}  // namespace

std::string DoctorText(const admin_pb::DiagnoseResponse& found, bool all,
                       const Palette& palette) {
  std::string text;
  for (const admin_pb::Finding& finding : found.findings()) {
    if (finding.verdict() == admin_pb::Finding::OK && !all) continue;
    absl::StrAppend(&text, VerdictText(finding.verdict(), palette), "  ",
                    CleanLine(finding.id(), kMaxShownName),
                    finding.object().empty() ? "" : ", ",
                    CleanLine(finding.object(), kMaxShownName), "\n  ",
                    CleanLine(finding.seen(), kMaxShownText), "\n");
    if (!finding.remedy().empty()) {
      absl::StrAppend(
          &text, "  do: ", CleanLine(finding.remedy(), kMaxShownText), "\n");
    }
  }
  Numbers numbers = Count(found);
  const int problems = numbers[admin_pb::Finding::PROBLEM];
  const int warnings = numbers[admin_pb::Finding::WARNING];
  absl::StrAppend(&text, found.findings_size(), " checks: ", problems,
                  problems == 1 ? " problem, " : " problems, ",
                  numbers[admin_pb::Finding::UNCLEAR], " unclear, ", warnings,
                  warnings == 1 ? " warning, " : " warnings, ",
                  numbers[admin_pb::Finding::OK], " in order");
  if (const int confirm = numbers[admin_pb::Finding::CONFIRM]; confirm > 0) {
    absl::StrAppend(&text, ", ", confirm, " for a person to confirm");
  }
  text.push_back('\n');
  text += NextStep(found);
  if (found.has_handover_safe()) {
    absl::StrAppend(&text, "before a hand-over: ",
                    found.handover_safe() ? "safe" : "not safe yet", "\n");
  }
  return text;
}

int RunDoctor(const DoctorCommand& command, Streams& streams) {
  admin_pb::DiagnoseRequest request;
  request.set_before_handover(command.before_handover);
  for (const std::string& id : command.confirmed) request.add_confirmed(id);
  admin_pb::DiagnoseResponse found;
  DoctorCommand asked = command;
  // A daemon without a configuration needs no user to say so.
  asked.secrets.required = false;
  const absl::Status called = AskWithSecrets(asked, request, found, streams);
  if (absl::IsUnauthenticated(called)) {
    const absl::Status none = ReadSecrets(command.secrets).status();
    if (!none.ok()) return Fail(none, kCliUsage, streams);
  }
  if (!called.ok()) return FailCall(called, streams);
  const int printed = YieldMessage(
      found, DoctorText(found, command.all, Palette(streams)), streams);
  if (printed != 0) return printed;
  Numbers numbers = Count(found);
  // What has no verdict is from a newer daemon, and not in order.
  const int good =
      numbers[admin_pb::Finding::OK] + numbers[admin_pb::Finding::WARNING];
  return good == found.findings_size() && good > 0 ? 0 : kWouldNotWork;
}

}  // namespace addons
