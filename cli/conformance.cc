#include "cli/conformance.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/channel.h"
#include "cli/conformance/cases.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/parameters.h"
#include "identity/identity.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

using nlohmann::ordered_json;
using Verdict = Outcome::Verdict;
using Strings = std::vector<std::string>;

struct Tried {
  const Case* one = nullptr;
  Outcome outcome;
  std::chrono::milliseconds took{0};
};

/// In this order: what is wrong everywhere first, then what changes something,
/// and at last whether anything has told a secret.
Cases AllCases() {
  Cases all;
  for (Cases (*const part)() :
       {IdentityCases, RequestCases, ReplicationCases, FenceCases, GroupCases,
        ReclaimCases, CallerCases}) {
    Cases cases = part();
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

/// Whether one of `names` is the case's id, or a part of it in front.
bool IsNamed(const Case& one, const Strings& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return one.id == name || absl::StartsWith(one.id, absl::StrCat(name, "."));
  });
}

absl::Status CheckNames(const Cases& cases, const Strings& names) {
  for (const std::string& name : names) {
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const Case& one) { return IsNamed(one, {name}); })) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no case '", name, "'; 'conformance --list' names all"));
    }
  }
  return absl::OkStatus();
}

/// What a person gave as the Secret; empty: nothing.
absl::StatusOr<std::map<std::string, std::string>> SecretsOf(
    const SecretsSource& source) {
  std::map<std::string, std::string> secrets;
  ADDONS_ASSIGN_OR_RETURN(const std::string text, ReadSecrets(source));
  if (text.empty()) return secrets;
  const auto json = ParseJson(text);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("the secrets are not a JSON object");
  }
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value of '", key, "' in the secrets is no string"));
    }
    secrets[key] = value.get<std::string>();
  }
  return secrets;
}

/// "volume_group.LIST_VOLUME_GROUPS"; a value that this program does not know
/// is its number.
std::string CapabilityName(const ::identity::Capability& capability) {
  const google::protobuf::Reflection& reflection = *capability.GetReflection();
  const google::protobuf::FieldDescriptor* const kind =
      reflection.GetOneofFieldDescriptor(
          capability, capability.GetDescriptor()->FindOneofByName("type"));
  if (kind == nullptr) return "";
  const google::protobuf::Message& value =
      reflection.GetMessage(capability, kind);
  const google::protobuf::FieldDescriptor* const type =
      value.GetDescriptor()->FindFieldByName("type");
  return absl::StrCat(kind->name(), ".",
                      value.GetReflection()->GetEnum(value, type)->name());
}

absl::StatusOr<std::set<std::string>> ReadCapabilities(
    const ServerUnderTest& server) {
  const Reply reply = server.Call("identity.Identity/GetCapabilities");
  ADDONS_RETURN_IF_ERROR(reply.status);
  std::set<std::string> names;
  for (const auto& capability :
       reply.As<::identity::GetCapabilitiesResponse>().capabilities()) {
    names.insert(CapabilityName(capability));
  }
  return names;
}

Tried Try(const Case& one, const Subject& subject) {
  Tried tried{&one, {}, {}};
  const auto began = std::chrono::steady_clock::now();
  if (!one.capability.empty() &&
      !subject.capabilities.contains(one.capability)) {
    tried.outcome =
        Outcome::Skipped(absl::StrCat(one.capability, " is not advertised"));
  } else {
    tried.outcome = one.run(subject);
  }
  tried.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  return tried;
}

const char* Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "FAILED";
    case Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

std::string Line(const Tried& tried) {
  std::string line =
      absl::StrCat(Name(tried.outcome.verdict), "  ", tried.one->id);
  if (tried.outcome.verdict == Verdict::kFailed) {
    absl::StrAppend(&line, "\n  expected  ", tried.one->promise,
                    "\n  seen      ",
                    CleanLine(tried.outcome.seen, kMaxShownText));
  } else if (tried.outcome.verdict == Verdict::kSkipped) {
    absl::StrAppend(&line, ": ", tried.outcome.seen);
  }
  return absl::StrCat(line, "\n");
}

size_t Count(const std::vector<Tried>& all, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [verdict](const Tried& tried) {
        return tried.outcome.verdict == verdict;
      }));
}

ordered_json Results(const std::vector<Tried>& all) {
  ordered_json cases = ordered_json::array();
  for (const Tried& tried : all) {
    ordered_json one;
    one["id"] = tried.one->id;
    one["promise"] = tried.one->promise;
    one["verdict"] = absl::AsciiStrToLower(Name(tried.outcome.verdict));
    one["seen"] = CleanLine(tried.outcome.seen, kMaxShownText);
    one["took_ms"] = tried.took.count();
    cases.push_back(std::move(one));
  }
  ordered_json results;
  results["cases"] = std::move(cases);
  results["passed"] = Count(all, Verdict::kPassed);
  results["failed"] = Count(all, Verdict::kFailed);
  results["skipped"] = Count(all, Verdict::kSkipped);
  return results;
}

std::string Xml(absl::string_view text) {
  return absl::StrReplaceAll(
      CleanLine(text, kMaxShownText),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

absl::Status WriteJunit(const std::string& path,
                        const std::vector<Tried>& all) {
  std::ofstream file(path);
  file << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite "
          "name=\"conformance\" tests=\""
       << all.size() << "\" failures=\"" << Count(all, Verdict::kFailed)
       << "\" skipped=\"" << Count(all, Verdict::kSkipped) << "\">\n";
  for (const Tried& tried : all) {
    file << "<testcase name=\"" << tried.one->id << "\" time=\""
         << std::chrono::duration<double>(tried.took).count() << "\">";
    if (tried.outcome.verdict == Verdict::kFailed) {
      file << "<failure message=\"" << Xml(tried.outcome.seen) << "\"/>";
    } else if (tried.outcome.verdict == Verdict::kSkipped) {
      file << "<skipped message=\"" << Xml(tried.outcome.seen) << "\"/>";
    }
    file << "</testcase>\n";
  }
  file << "</testsuite>\n";
  file.close();
  if (file.good()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("Failed to write the results into '", path, "'"));
}

struct Plan {
  Cases cases;
  std::map<std::string, std::string> secrets;
  std::shared_ptr<grpc::Channel> channel;
};

/// All that can be wrong before the server is asked.
absl::StatusOr<Plan> MakePlan(const ConformanceCommand& command) {
  Plan plan;
  Cases all = AllCases();
  ADDONS_RETURN_IF_ERROR(CheckNames(all, command.only));
  ADDONS_RETURN_IF_ERROR(CheckNames(all, command.skip));
  for (Case& one : all) {
    if (!command.only.empty() && !IsNamed(one, command.only)) continue;
    if (!IsNamed(one, command.skip)) plan.cases.push_back(std::move(one));
  }
  ADDONS_ASSIGN_OR_RETURN(plan.secrets, SecretsOf(command.secrets));
  ADDONS_ASSIGN_OR_RETURN(plan.channel, OpenChannel(command.endpoint));
  return plan;
}

absl::StatusOr<Subject> MakeSubject(const ConformanceCommand& command,
                                    const ServerUnderTest& server) {
  Subject subject{
      server, {}, command.volume, command.group_volumes, command.range, {},
      {},     {}};
  ADDONS_ASSIGN_OR_RETURN(subject.replication_parameters,
                          ParseParameters(command.replication_parameters));
  ADDONS_ASSIGN_OR_RETURN(subject.group_parameters,
                          ParseParameters(command.group_parameters));
  ADDONS_ASSIGN_OR_RETURN(subject.fence_parameters,
                          ParseParameters(command.fence_parameters));
  return subject;
}

int ListCases(const Cases& cases, Streams& streams) {
  ordered_json list = ordered_json::array();
  std::string text;
  for (const Case& one : cases) {
    list.push_back({{"id", one.id}, {"promise", one.promise}});
    absl::StrAppend(&text, one.id, "\n  ", one.promise, "\n");
  }
  return Yield(list, text, streams);
}

}  // namespace

int RunConformance(const ConformanceCommand& command, Streams& streams) {
  const absl::StatusOr<Plan> plan = MakePlan(command);
  if (!plan.ok()) return Fail(plan.status(), kCliUsage, streams);
  if (command.list) return ListCases(plan->cases, streams);
  const ServerUnderTest server(plan->channel, command.timeout, plan->secrets);
  absl::StatusOr<Subject> subject = MakeSubject(command, server);
  if (!subject.ok()) return Fail(subject.status(), kCliUsage, streams);
  auto capabilities = ReadCapabilities(server);
  if (!capabilities.ok()) {
    const absl::Status status =
        NamingListener(capabilities.status(), command.endpoint);
    return Fail(status, status.raw_code(), streams);
  }
  subject->capabilities = *std::move(capabilities);
  std::vector<Tried> all;
  for (const Case& one : plan->cases) {
    all.push_back(Try(one, *subject));
    if (streams.format == OutputFormat::kText) {
      streams.out << Line(all.back()) << std::flush;
    }
  }
  const size_t failed = Count(all, Verdict::kFailed);
  Yield(Results(all),
        absl::StrCat(Count(all, Verdict::kPassed), " passed, ", failed,
                     " failed, ", Count(all, Verdict::kSkipped), " skipped\n"),
        streams);
  if (!command.junit_file.empty()) {
    const absl::Status written = WriteJunit(command.junit_file, all);
    if (!written.ok()) return Fail(written, kCliUsage, streams);
  }
  return failed == 0 ? 0 : kWouldNotWork;
}

}  // namespace addons
