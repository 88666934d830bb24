#include "cli/program.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/durations.h"
#include "cli/parameters.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "rpc/endpoint.h"

namespace addons {
namespace {

std::string FromEnvironment(std::initializer_list<const char*> names,
                            const char* otherwise) {
  for (const char* name : names) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (value != nullptr && *value != '\0') return value;
  }
  return otherwise;
}

std::string DefaultEndpoint() {
  return FromEnvironment(
      {"RBD_ADDONS_CSI_ADDONS_ENDPOINT", "CSI_ADDONS_ENDPOINT", "CSI_ENDPOINT"},
      kDefaultEndpoint);
}

std::string DefaultAdminEndpoint() {
  return FromEnvironment({"RBD_ADDONS_ADMIN_ENDPOINT"}, kDefaultAdminEndpoint);
}

/// How the result is printed.
void AddOutputOptions(CLI::App& command, Options& options) {
  CLI::Option& output =
      *command
           .add_option("-o,--output", options.output,
                       "The form of the result: text for people (wide: with "
                       "more columns and all rows, where there are any), json "
                       "or yaml for programs")
           ->check(CLI::IsMember({"text", "wide", "json", "yaml"}))
           ->capture_default_str();
  command
      .add_flag_callback(
          "--json", [&options] { options.output = "json"; },
          "The same as --output json")
      ->excludes(&output);
  command.add_flag("--verbose", options.verbose,
                   "Say the id of the request, as the daemon's log has it");
  AddInputEndOption(command, options);
}

}  // namespace

void AddInputEndOption(CLI::App& command, Options& options) {
  command.add_flag("--end-with-input", options.ends_with_input,
                   "Take the end of standard input for Ctrl-C: that of "
                   "`kubectl exec -i`, which passes on nothing else");
}

Program::Program() : app_("Talks to the daemon rbd-addonsd", "rbd-addons") {
  options_.endpoint = DefaultEndpoint();
  options_.admin_endpoint = DefaultAdminEndpoint();
  app_.require_subcommand(1);
}

void Program::AddVerb(CLI::App& sub, Run run, MayBeWatched watched) {
  AddOutputOptions(sub, options_);
  if (watched == MayBeWatched::kYes) {
    sub.add_flag("--watch{2}", options_.watch,
                 "Show it again every 2 seconds, or every --watch=SECONDS "
                 "(or 90s, 5m), until Ctrl-C");
  }
  AddPlainVerb(sub, std::move(run));
}

void Program::AddPlainVerb(CLI::App& sub, Run run) {
  verbs_.push_back({&sub, std::move(run)});
}

int Program::FindIds(const std::vector<std::string*>& volumes,
                     Streams& streams) {
  if (found_ids_) return 0;
  if (!std::all_of(volumes.begin(), volumes.end(), [](const auto* volume) {
        return LooksLikeVolumeId(*volume);
      })) {
    const auto same = AdminEndpoint(options_);
    if (!same.ok()) return Fail(same.status(), kCliUsage, streams);
  }
  const int code =
      FindVolumeIds({options_.admin_endpoint, TimeoutOf(options_),
                     options_.secrets, options_.pool, options_.cluster},
                    volumes, streams);
  found_ids_ = code == 0;
  return code;
}

std::vector<std::string*> PointersTo(std::vector<std::string>& texts) {
  std::vector<std::string*> pointers;
  pointers.reserve(texts.size());
  for (std::string& text : texts) pointers.push_back(&text);
  return pointers;
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::chrono::milliseconds TimeoutOf(const Options& options) {
  return Milliseconds(options.timeout_seconds);
}

void AddUserOptions(CLI::App& command, SecretsSource& secrets) {
  CLI::Option& file = *command.add_option(
      "--secrets-file", secrets.file,
      absl::StrCat("File with userID and userKey, a JSON object of strings or "
                   "a Secret of Kubernetes as JSON; - is the beginning of "
                   "standard input; also from ",
                   kSecretsFileVariable));
  CLI::Option& user =
      *command
           .add_option("--ceph-user", secrets.ceph_user,
                       absl::StrCat("Name of a Ceph user of this host, whose "
                                    "key its keyring has; or ",
                                    kUserIdVariable, " and ", kUserKeyVariable,
                                    " have both"))
           ->excludes(&file);
  command
      .add_option("--keyring", secrets.keyring,
                  "Its file (/etc/ceph/ceph.client.NAME.keyring)")
      ->needs(&user);
}

absl::StatusOr<std::string> AdminEndpoint(const Options& options) {
  if (options.endpoint == DefaultEndpoint() ||
      options.admin_endpoint != DefaultAdminEndpoint()) {
    return options.admin_endpoint;
  }
  return OtherDaemon();
}

void AddSocketOptions(CLI::App& command, Options& options, Sockets sockets) {
  if (sockets != Sockets::kAdmin) {
    command.add_option("--endpoint", options.endpoint, "Socket of the daemon")
        ->capture_default_str();
  }
  if (sockets == Sockets::kCallers) return;
  CLI::Option* const admin =
      command
          .add_option("--admin-endpoint", options.admin_endpoint,
                      "Socket of the daemon for administrators")
          ->capture_default_str();
  if (sockets != Sockets::kAdmin) return;
  // What names one daemon to all commands is taken as long as this command
  // finds its own socket; the other one must not be taken for that.
  command
      .add_option("--endpoint", options.endpoint,
                  "Not used: this command talks to the administrators' socket")
      ->group("")
      ->needs(admin);
}

void AddConnectionOptions(CLI::App& command, Options& options,
                          Sockets sockets) {
  AddSocketOptions(command, options, sockets);
  AddTimeoutOption(command, options.timeout_seconds, kWaitText);
}

void AddParameters(CLI::App& command, std::vector<std::string>& parameters,
                   const std::string& of) {
  command
      .add_option("--parameter", parameters,
                  "KEY=VALUE" + of + "; may be repeated")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        return std::string(ParseParameters({text}).status().message());
      });
}

void AddClassParameters(CLI::App& command,
                        std::vector<std::string>& parameters) {
  AddParameters(command, parameters,
                " of a VolumeReplicationClass, as promote gets it");
}

void AddVolumePlaceOptions(CLI::App& command, Options& options,
                           CLI::Option* group) {
  for (CLI::Option* const option :
       {command.add_option("--pool", options.pool,
                           "With the name of a PersistentVolume: look for it "
                           "only in this pool"),
        command.add_option("--cluster", options.cluster,
                           "With a name: look for it only in this cluster of "
                           "config.json")}) {
    if (group != nullptr) option->excludes(group);
  }
}

void AddYes(CLI::App& command, bool& yes, const std::string& before) {
  command.add_flag("--yes", yes, "Do not ask before " + before);
}

}  // namespace addons
