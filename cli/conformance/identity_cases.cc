#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "cli/conformance/cases.h"
#include "csi/csi.pb.h"
#include "identity/identity.pb.h"

namespace addons {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;

constexpr char kGetIdentity[] = "identity.Identity/GetIdentity";
constexpr char kGetCapabilities[] = "identity.Identity/GetCapabilities";
constexpr char kProbe[] = "identity.Identity/Probe";
constexpr size_t kLongestName = 63;
constexpr int kRepeats = 100;
constexpr milliseconds kAtOnce{1000};

bool IsAlphanumeric(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

bool IsDomainName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName &&
         IsAlphanumeric(name.front()) && IsAlphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(), [](char letter) {
           return IsAlphanumeric(letter) || letter == '-' || letter == '.';
         });
}

Outcome Identity(const Subject& subject) {
  const Reply reply = subject.server.Call(kGetIdentity);
  Steps steps;
  if (!steps.Answers("", reply, {StatusCode::kOk})) return steps.outcome();
  const auto& identity = reply.As<::identity::GetIdentityResponse>();
  steps.Holds(IsDomainName(identity.name()),
              absl::StrCat("the name is '", identity.name(), "'"));
  steps.Holds(!identity.vendor_version().empty(),
              "the vendor's version is empty");
  return steps.outcome();
}

Outcome SameName(const Subject& subject) {
  const Reply addons = subject.server.Call(kGetIdentity);
  const Reply csi = subject.server.Call("csi.v1.Identity/GetPluginInfo");
  if (absl::IsUnimplemented(csi.status)) {
    return Outcome::Skipped("it does not serve csi.v1.Identity");
  }
  Steps steps;
  if (!steps.Answers("GetIdentity", addons, {StatusCode::kOk}) ||
      !steps.Answers("GetPluginInfo", csi, {StatusCode::kOk})) {
    return steps.outcome();
  }
  const std::string one = addons.As<::identity::GetIdentityResponse>().name();
  const std::string other = csi.As<::csi::v1::GetPluginInfoResponse>().name();
  steps.Holds(one == other, absl::StrCat("'", one, "' and '", other, "'"));
  return steps.outcome();
}

Outcome Probe(const Subject& subject) {
  const Reply reply = subject.server.Call(kProbe);
  Steps steps;
  if (!steps.Answers("", reply, {StatusCode::kOk})) return steps.outcome();
  const auto& probe = reply.As<::identity::ProbeResponse>();
  steps.Holds(!probe.has_ready() || probe.ready().value(),
              "it says that it is not ready");
  return steps.outcome();
}

Outcome TypedCapabilities(const Subject& subject) {
  const Reply reply = subject.server.Call(kGetCapabilities);
  Steps steps;
  if (!steps.Answers("", reply, {StatusCode::kOk})) return steps.outcome();
  const auto& all = reply.As<::identity::GetCapabilitiesResponse>();
  steps.Holds(all.capabilities_size() > 0, "it advertises nothing");
  for (const auto& capability : all.capabilities()) {
    steps.Holds(capability.type_case() != ::identity::Capability::TYPE_NOT_SET,
                "a capability has no type");
  }
  return steps.outcome();
}

Outcome RoleIsAdvertised(const Subject& subject) {
  Steps steps;
  const bool controller =
      subject.capabilities.contains("service.CONTROLLER_SERVICE");
  for (const char* const needs :
       {"reclaim_space.OFFLINE", "network_fence.NETWORK_FENCE",
        "volume_replication.VOLUME_REPLICATION", "volume_group.VOLUME_GROUP"}) {
    steps.Holds(controller || !subject.capabilities.contains(needs),
                absl::StrCat(needs,
                             " without service.CONTROLLER_SERVICE: "
                             "nobody would call it"));
  }
  return steps.outcome();
}

Outcome StableCapabilities(const Subject& subject) {
  Steps steps;
  std::string first;
  for (int i = 0; i < kRepeats && !steps.failed(); ++i) {
    const Reply reply = subject.server.Call(kGetCapabilities);
    if (!steps.Answers("", reply, {StatusCode::kOk})) break;
    const std::string now = reply.answer->SerializeAsString();
    if (first.empty()) first = now;
    steps.Holds(now == first, absl::StrCat("answer ", i + 1, " is another"));
    steps.Holds(reply.took < kAtOnce, absl::StrCat("answer ", i + 1, " took ",
                                                   reply.took.count(), " ms"));
  }
  return steps.outcome();
}

}  // namespace

Cases IdentityCases() {
  return {
      {"identity.name",
       "GetIdentity tells a name in domain-name notation of at most 63 "
       "characters, and a version",
       "", Identity},
      {"identity.same-name",
       "csi.v1.Identity, where it is served, tells the same name", "",
       SameName},
      {"identity.probe", "Probe is OK, and ready is true or not told", "",
       Probe},
      {"identity.capabilities", "GetCapabilities tells typed capabilities", "",
       TypedCapabilities},
      {"identity.role",
       "what only controllers can do is advertised with CONTROLLER_SERVICE, "
       "without which the operator never finds it",
       "", RoleIsAdvertised},
      {"identity.stable",
       "GetCapabilities answers the same each time, and at once: the sidecar "
       "and the operator give up when it fails",
       "", StableCapabilities},
  };
}

}  // namespace addons
