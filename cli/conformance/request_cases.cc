#include <string>

#include "absl/strings/str_cat.h"
#include "cli/conformance/cases.h"
#include "cli/conformance/methods_under_test.h"

namespace addons {
namespace {

using absl::StatusCode;
using Json = ServerUnderTest::Json;

constexpr size_t kLongestId = 128;
constexpr size_t kTooLarge = 5 << 20;
constexpr char kForeign[] = "conformance-no-such-object";
constexpr char kRotate[] =
    "encryptionkeyrotation.EncryptionKeyRotationController/"
    "EncryptionKeyRotate";

/// After anything that was wrong.
bool StillServes(const Subject& subject, Steps& steps) {
  return steps.Answers("afterwards GetCapabilities",
                       subject.server.Call("identity.Identity/GetCapabilities"),
                       {StatusCode::kOk});
}

Outcome WithoutObject(const Subject& subject, const MethodUnderTest& method) {
  return Expect(subject.server.Call(method.name),
                {StatusCode::kInvalidArgument});
}

Outcome LongId(const Subject& subject, const MethodUnderTest& method) {
  Steps::Codes codes = {StatusCode::kInvalidArgument, StatusCode::kNotFound};
  if (method.done_without_object) codes.insert(StatusCode::kOk);
  return Expect(subject.server.Call(method.name, method.about(std::string(
                                                     kLongestId + 1, 'x'))),
                codes);
}

Outcome NoSuchObject(const Subject& subject, const MethodUnderTest& method) {
  Steps::Codes codes = {StatusCode::kInvalidArgument, StatusCode::kNotFound};
  if (method.done_without_object) codes.insert(StatusCode::kOk);
  return Expect(subject.server.Call(method.name, method.about(kForeign)),
                codes);
}

/// gRPC's own servers call a request that is no message INTERNAL.
const Steps::Codes kUnreadable = {StatusCode::kInvalidArgument,
                                  StatusCode::kInternal};

Outcome NoMessage(const Subject& subject, const MethodUnderTest& method) {
  Steps steps;
  steps.Answers("", subject.server.CallBytes(method.name, "\xff\xff\xff\xff"),
                kUnreadable);
  StillServes(subject, steps);
  return steps.outcome();
}

Outcome TooLarge(const Subject& subject, const MethodUnderTest& method) {
  Steps steps;
  steps.Answers("",
                subject.server.Call(method.name,
                                    method.about(std::string(kTooLarge, 'x'))),
                {StatusCode::kResourceExhausted, StatusCode::kInvalidArgument});
  StillServes(subject, steps);
  return steps.outcome();
}

Outcome WithSecrets(const Subject& subject, const MethodUnderTest& method,
                    Secrets secrets, const Steps::Codes& codes) {
  if (subject.volume.empty()) {
    return Outcome::Skipped("it needs a volume: --volume");
  }
  if (!subject.server.has_secrets()) {
    return Outcome::Skipped("it needs secrets: --secrets-file");
  }
  return Expect(
      subject.server.Call(method.name, method.about(subject.volume), secrets),
      codes);
}

void AddCasesOf(const MethodUnderTest& method, Cases& cases) {
  const auto add = [&](const char* id, const std::string& promise,
                       Outcome (*run)(const Subject&, const MethodUnderTest&)) {
    cases.push_back({absl::StrCat(method.id, ".", id),
                     absl::StrCat(method.name, " ", promise), method.capability,
                     [&method, run](const Subject& subject) {
                       return run(subject, method);
                     }});
  };
  add("without-object", "without an id is INVALID_ARGUMENT", WithoutObject);
  add("long-id",
      absl::StrCat("with an id of ", kLongestId + 1,
                   " bytes is refused, or finds no such object"),
      LongId);
  add("no-such-object",
      method.done_without_object
          ? "about what is not there is OK, or says so"
          : "about what is not there is NOT_FOUND or INVALID_ARGUMENT",
      NoSuchObject);
  add("no-message", "with bytes that are no message is refused, and goes on",
      NoMessage);
  add("too-large", "with a message above 4 MiB is refused, and goes on",
      TooLarge);
  // A trim is the node's own business, and no group is there yet.
  if (!method.of_volume || method.id == "reclaim.node") return;
  add("wrong-key", "with a wrong key is UNAUTHENTICATED",
      [](const Subject& subject, const MethodUnderTest& it) {
        return WithSecrets(subject, it, Secrets::kWrong,
                           {StatusCode::kUnauthenticated});
      });
  add("without-secrets",
      "without secrets is UNAUTHENTICATED or INVALID_ARGUMENT",
      [](const Subject& subject, const MethodUnderTest& it) {
        return WithSecrets(
            subject, it, Secrets::kNone,
            {StatusCode::kUnauthenticated, StatusCode::kInvalidArgument});
      });
}

/// Whether the methods of a capability are there.
Outcome Advertised(const Subject& subject) {
  Steps steps;
  for (const MethodUnderTest& method : MethodsUnderTest()) {
    const bool advertised = subject.capabilities.contains(method.capability);
    const Reply reply = subject.server.Call(method.name);
    steps.Holds(!advertised || !absl::IsUnimplemented(reply.status),
                absl::StrCat(method.capability, " is advertised, and ",
                             method.name, " answers ", Shown(reply)));
  }
  return steps.outcome();
}

Outcome Unadvertised(const Subject& subject) {
  if (subject.capabilities.contains(
          "encryption_key_rotation.ENCRYPTIONKEYROTATION")) {
    return Outcome::Skipped("it advertises the rotation of keys");
  }
  return Expect(subject.server.Call(kRotate), {StatusCode::kUnimplemented});
}

/// Each with a path that cannot be meant.
Outcome TrimPath(const Subject& subject, const std::string& path) {
  Json request = {{"volume_id", kForeign}};
  if (!path.empty()) request["staging_target_path"] = path;
  return Expect(subject.server.Call(
                    "reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", request),
                {StatusCode::kInvalidArgument});
}

}  // namespace

Cases RequestCases() {
  Cases cases = {
      {"advertised.served",
       "no method of a capability that is advertised is UNIMPLEMENTED", "",
       Advertised},
      {"unadvertised.unimplemented",
       "the rotation of keys, where it is not advertised, is UNIMPLEMENTED", "",
       Unadvertised},
      {"reclaim.node.no-path",
       "NodeReclaimSpace without any path is INVALID_ARGUMENT",
       "reclaim_space.ONLINE",
       [](const Subject& subject) { return TrimPath(subject, ""); }},
      {"reclaim.node.relative-path",
       "NodeReclaimSpace with a relative path is INVALID_ARGUMENT",
       "reclaim_space.ONLINE",
       [](const Subject& subject) { return TrimPath(subject, "a/b"); }},
  };
  for (const MethodUnderTest& method : MethodsUnderTest()) {
    AddCasesOf(method, cases);
  }
  return cases;
}

}  // namespace addons
