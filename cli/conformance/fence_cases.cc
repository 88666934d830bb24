#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/conformance/cases.h"
#include "fence/fence.pb.h"

namespace addons {
namespace {

using absl::StatusCode;
using Json = ServerUnderTest::Json;

constexpr char kFenceCapability[] = "network_fence.NETWORK_FENCE";
constexpr char kFence[] = "fence.FenceController/FenceClusterNetwork";
constexpr char kUnfence[] = "fence.FenceController/UnfenceClusterNetwork";
constexpr char kList[] = "fence.FenceController/ListClusterFence";
constexpr char kClients[] = "fence.FenceController/GetFenceClients";
constexpr size_t kFenceCallers = 8;

Json Request(const Subject& subject, const std::vector<std::string>& ranges) {
  Json request = Json::object();
  for (const auto& [key, value] : subject.fence_parameters) {
    request["parameters"][key] = value;
  }
  for (const std::string& range : ranges) {
    request["cidrs"].push_back({{"cidr", range}});
  }
  return request;
}

/// Whether the range is listed is `wanted`.
void ExpectListed(const Subject& subject, bool wanted, Steps& steps) {
  const Reply reply = subject.server.Call(kList, Request(subject, {}));
  if (absl::IsUnimplemented(reply.status)) return;  // not every server lists
  if (!steps.Answers("ListClusterFence", reply, {StatusCode::kOk})) return;
  const auto& list = reply.As<::fence::ListClusterFenceResponse>();
  const bool listed = std::any_of(
      list.cidrs().begin(), list.cidrs().end(),
      [&](const auto& entry) { return entry.cidr() == subject.range; });
  steps.Holds(listed == wanted,
              absl::StrCat(subject.range, listed ? " is" : " is not",
                           " in the list of fences"));
}

Outcome NotARange(const Subject& subject) {
  Steps steps;
  steps.Answers("without a range",
                subject.server.Call(kFence, Request(subject, {})),
                {StatusCode::kInvalidArgument});
  steps.Answers("'no-address'",
                subject.server.Call(kFence, Request(subject, {"no-address"})),
                {StatusCode::kInvalidArgument});
  steps.Answers(
      "a prefix of 33 bits",
      subject.server.Call(kFence, Request(subject, {"198.51.100.1/33"})),
      {StatusCode::kInvalidArgument});
  return steps.outcome();
}

Outcome AllOrNothing(const Subject& subject) {
  Steps steps;
  ExpectListed(subject, false, steps);
  steps.Answers("a good range beside one that is none",
                subject.server.Call(
                    kFence, Request(subject, {subject.range, "no-address"})),
                {StatusCode::kInvalidArgument});
  ExpectListed(subject, false, steps);
  return steps.outcome();
}

Outcome Twice(const Subject& subject, const char* method, bool fenced) {
  const Json request = Request(subject, {subject.range});
  Steps steps;
  steps.Answers("at first", subject.server.CallPatiently(method, request),
                {StatusCode::kOk});
  ExpectListed(subject, fenced, steps);
  steps.Answers("again", subject.server.CallPatiently(method, request),
                {StatusCode::kOk});
  ExpectListed(subject, fenced, steps);
  return steps.outcome();
}

Outcome AtOnce(const Subject& subject) {
  Steps steps;
  for (const Reply& reply : subject.server.CallAtOnce(
           kFenceCallers, kFence, Request(subject, {subject.range}))) {
    steps.Answers("", reply, {StatusCode::kOk, StatusCode::kAborted});
  }
  ExpectListed(subject, true, steps);
  return steps.outcome();
}

Outcome Clients(const Subject& subject) {
  const Reply reply = subject.server.Call(kClients, Request(subject, {}));
  Steps steps;
  if (!steps.Answers("", reply, {StatusCode::kOk})) return steps.outcome();
  for (const auto& client :
       reply.As<::fence::GetFenceClientsResponse>().clients()) {
    steps.Holds(!client.id().empty(), "a client has no id");
    steps.Holds(client.addresses_size() > 0,
                absl::StrCat("client ", client.id(), " has no address"));
  }
  return steps.outcome();
}

Case Of(const char* id, const std::string& promise,
        std::function<Outcome(const Subject&)> run) {
  return {absl::StrCat("fence.", id), promise, kFenceCapability,
          [run = std::move(run)](const Subject& subject) {
            if (subject.range.empty()) {
              return Outcome::Skipped("it needs a range: --fence");
            }
            return run(subject);
          }};
}

}  // namespace

Cases FenceCases() {
  return {
      {"fence.not-a-range",
       "fencing nothing, or what is no range, is INVALID_ARGUMENT",
       kFenceCapability, NotARange},
      Of("all-or-nothing", "a request with one bad range fences none",
         AllOrNothing),
      Of("fence", "fencing is OK, and OK again; the list has the range",
         [](const Subject& subject) { return Twice(subject, kFence, true); }),
      Of("together",
         absl::StrCat(kFenceCallers,
                      " callers that fence one range at once get OK "
                      "or ABORTED, and the list has it"),
         AtOnce),
      Of("unfence",
         "unfencing is OK, and OK again; the list does not have the range",
         [](const Subject& subject) {
           return Twice(subject, kUnfence, false);
         }),
      {"fence.clients", "clients to be fenced have an id and addresses",
       "network_fence.GET_CLIENTS_TO_FENCE",
       [](const Subject& subject) {
         if (subject.fence_parameters.empty()) {
           return Outcome::Skipped(
               "it needs the parameters of a class: --fence-parameter");
         }
         return Clients(subject);
       }},
  };
}

}  // namespace addons
