#include "absl/strings/str_cat.h"
#include "cli/conformance/cases.h"
#include "cli/conformance/methods_under_test.h"

namespace addons {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;

constexpr char kGetCapabilities[] = "identity.Identity/GetCapabilities";
constexpr char kProbe[] = "identity.Identity/Probe";
constexpr char kInfo[] = "replication.Controller/GetVolumeReplicationInfo";
constexpr size_t kCallers = 64;
constexpr int kLeavers = 20;
constexpr milliseconds kAtOnce{2000};

Outcome Together(const Subject& subject) {
  Steps steps;
  std::string first;
  for (const Reply& reply :
       subject.server.CallAtOnce(kCallers, kGetCapabilities)) {
    if (!steps.Answers("", reply, {StatusCode::kOk})) break;
    const std::string now = reply.answer->SerializeAsString();
    if (first.empty()) first = now;
    steps.Holds(now == first, "two callers got different answers");
  }
  return steps.outcome();
}

bool AnswersAtOnce(const Subject& subject, Steps& steps) {
  const Reply reply = subject.server.Call(kProbe);
  return steps.Answers("afterwards Probe", reply, {StatusCode::kOk}) &&
         steps.Holds(
             reply.took < kAtOnce,
             absl::StrCat("afterwards Probe took ", reply.took.count(), " ms"));
}

/// Calls whose callers leave a little later each time, by `leave`.
Outcome Left(const Subject& subject, Reply (ServerUnderTest::*leave)(
                                         const std::string& method,
                                         const ServerUnderTest::Json& request,
                                         milliseconds after) const) {
  if (subject.volume.empty()) {
    return Outcome::Skipped("it needs a volume: --volume");
  }
  Steps steps;
  for (int i = 0; i < kLeavers && !steps.failed(); ++i) {
    // It may have been answered before.
    const Reply reply = (subject.server.*leave)(
        kInfo, AboutVolume(subject.volume), milliseconds(1 + i));
    steps.Holds(
        !absl::IsInternal(reply.status) && !absl::IsUnknown(reply.status),
        Shown(reply));
  }
  AnswersAtOnce(subject, steps);
  return steps.outcome();
}

Outcome Cancelled(const Subject& subject) {
  return Left(subject, &ServerUnderTest::CallAndCancel);
}

Outcome Late(const Subject& subject) {
  return Left(subject, &ServerUnderTest::CallBriefly);
}

Outcome KeepsSecrets(const Subject& subject) {
  if (!subject.server.has_secrets()) {
    return Outcome::Skipped("it needs secrets: --secrets-file");
  }
  const std::string leak = subject.server.leak();
  return leak.empty() ? Outcome{} : Outcome::Failed(leak);
}

}  // namespace

Cases CallerCases() {
  return {
      {"callers.together",
       absl::StrCat(kCallers, " callers at once get the same answer"), "",
       Together},
      {"callers.cancelled",
       "calls that are cancelled harm nobody: Probe answers at once",
       "volume_replication.VOLUME_REPLICATION", Cancelled},
      {"callers.late",
       "calls whose deadline is short harm nobody: Probe answers at once",
       "volume_replication.VOLUME_REPLICATION", Late},
      {"secrets.kept",
       "no answer of all cases before held the value of a "
       "secret",
       "", KeepsSecrets},
  };
}

}  // namespace addons
