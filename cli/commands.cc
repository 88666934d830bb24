#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/audit.h"
#include "cli/call.h"
#include "cli/channel.h"
#include "cli/doctor.h"
#include "cli/history.h"
#include "cli/inspection.h"
#include "cli/methods.h"
#include "cli/operations.h"
#include "cli/parameters.h"
#include "cli/replication_verbs.h"
#include "cli/rescue.h"
#include "cli/site.h"
#include "cli/storage_verbs.h"
#include "cli/volume_name.h"
#include "identity/identity.pb.h"
#include "rbdaddons/admin.pb.h"
#include "rpc/endpoint.h"
#include "rpc/method.h"

namespace addons {
namespace {

namespace admin = ::rbdaddons::admin::v1;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

/// How commands take a volume.
constexpr char kVolumeText[] =
    "The volume: its id, POOL/IMAGE, POOL/NAMESPACE/IMAGE, or the name of its "
    "PersistentVolume";

struct Options {
  std::string endpoint;        // of CSI-Addons
  std::string admin_endpoint;  // of the administrators' services
  double timeout_seconds = 180;
  std::string method;
  std::string request;  // JSON, or "-"
  std::string secrets_file;
  bool json = false;
  uint64_t operation_id = 0;
  std::string cluster;
  std::string pool;
  std::string audit_kind = kAuditAll;
  uint32_t fence_ends_within = 86400;
  ReplicationCommand replication;
  StorageCommand storage;
  CheckFailoverCommand check;
  ExplainCommand explain;
  DoctorCommand doctor;
  SiteCommand site;
  double site_timeout_seconds = 600;
  HistoryCommand history;
  RescueCommand rescue;
};

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

/// Who points one of the two sockets at another daemon has to point the other
/// one there, too: what one daemon says must not be done by another.
absl::Status CheckSameDaemon(const Options& options) {
  if (options.endpoint == DefaultEndpoint() ||
      options.admin_endpoint != DefaultAdminEndpoint()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "this asks the administrators' socket of the daemon, too, and --endpoint "
      "names one that is not here: give --admin-endpoint as well"));
}

/// The socket that serves `method`, of the daemon that the options name.
absl::StatusOr<std::string> EndpointFor(const MethodDescriptor& method,
                                        const Options& options) {
  if (!IsForAdministrators(MethodName(method))) return options.endpoint;
  ADDONS_RETURN_IF_ERROR(CheckSameDaemon(options));
  return options.admin_endpoint;
}

std::string ReadAll(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::chrono::milliseconds TimeoutOf(const Options& options) {
  return Milliseconds(options.timeout_seconds);
}

absl::StatusOr<std::unique_ptr<Message>> ReadRequest(
    const Options& options, const MethodDescriptor& method, Streams& streams) {
  const bool from_input = options.request == "-";
  const std::string json = from_input ? ReadAll(streams.in) : options.request;
  ADDONS_ASSIGN_OR_RETURN(const std::string secrets,
                          ReadOptionalFile(options.secrets_file));
  return MakeRequest(method, json,
                     from_input ? TextSource::kInput : TextSource::kCommandLine,
                     secrets);
}

int CallCommand(const Options& options, Streams& streams) {
  const absl::StatusOr<const MethodDescriptor*> method =
      FindMethod(options.method);
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  const absl::StatusOr<std::unique_ptr<Message>> request =
      ReadRequest(options, **method, streams);
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  const auto endpoint = EndpointFor(**method, options);
  if (!endpoint.ok()) return Fail(endpoint.status(), kCliUsage, streams);
  const auto channel = OpenChannel(*endpoint);
  if (!channel.ok()) return Fail(channel.status(), kCliUsage, streams);

  const std::unique_ptr<Message> response =
      NewMessage(*(*method)->output_type());
  const absl::Status called =
      CallMethod(*channel, **method, **request, TimeoutOf(options), *response);
  if (!called.ok()) return Fail(called, called.raw_code(), streams);
  return PrintJson(*response, streams);
}

/// Calls the method that `request` belongs to. Returns the exit code.
int Ask(const Options& options, const Message& request, Message& response,
        Streams& streams) {
  const auto method = FindMethod(MethodOfRequest(request));
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  const auto channel = OpenChannel(IsForAdministrators(MethodName(**method))
                                       ? options.admin_endpoint
                                       : options.endpoint);
  if (!channel.ok()) return Fail(channel.status(), kCliUsage, streams);
  const absl::Status called =
      CallMethod(*channel, **method, request, TimeoutOf(options), response);
  return called.ok() ? 0 : Fail(called, called.raw_code(), streams);
}

int OperationsCommand(const Options& options, Streams& streams) {
  admin::ListOperationsResponse response;
  const int code =
      Ask(options, admin::ListOperationsRequest(), response, streams);
  if (code != 0) return code;
  if (options.json) return PrintJson(response, streams);
  streams.out << OperationsText(response);
  return 0;
}

int CancelCommand(const Options& options, Streams& streams) {
  admin::CancelOperationRequest request;
  request.set_operation_id(options.operation_id);
  admin::CancelOperationResponse response;
  const int code = Ask(options, request, response, streams);
  if (code != 0) return code;
  streams.out << CancelText(response);
  return 0;
}

int AuditCommand(const Options& options, Streams& streams) {
  const admin::AuditPoolRequest described;
  const auto method = FindMethod(MethodOfRequest(described));
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  const absl::StatusOr<std::unique_ptr<Message>> request =
      ReadRequest(options, **method, streams);
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  auto& audit = static_cast<admin::AuditPoolRequest&>(**request);
  audit.set_cluster_id(options.cluster);
  audit.set_pool(options.pool);
  SetAuditKind(options.audit_kind, &audit);
  audit.set_fence_ends_within_seconds(options.fence_ends_within);
  admin::AuditPoolResponse response;
  const int code = Ask(options, audit, response, streams);
  if (code != 0) return code;
  if (options.json) return PrintJson(response, streams);
  streams.out << AuditText(audit, response);
  return 0;
}

int ProbeCommand(const Options& options, Streams& streams) {
  identity::ProbeResponse response;
  const int code = Ask(options, identity::ProbeRequest(), response, streams);
  if (code != 0) return code;
  if (response.has_ready() && !response.ready().value()) {
    const absl::Status starting =
        absl::UnavailableError("the daemon is starting");
    return Fail(starting, starting.raw_code(), streams);
  }
  streams.out << "ready\n";
  return 0;
}

int MethodsCommand(Streams& streams) {
  for (const MethodDescriptor* method : AllMethods()) {
    streams.out << MethodName(*method) << "\n";
  }
  return 0;
}

CLI::Option& AddUserOption(CLI::App& command, std::string& secrets_file) {
  return *command
              .add_option("--secrets-file", secrets_file,
                          "File with userID and userKey, a JSON object of "
                          "strings")
              ->required();
}

/// Which sockets of the daemon a command talks to.
enum class Sockets { kCallers, kAdmin, kBoth };

void AddSocketOptions(CLI::App& command, Options& options, Sockets sockets) {
  if (sockets != Sockets::kAdmin) {
    command.add_option("--endpoint", options.endpoint, "Socket of the daemon")
        ->capture_default_str();
  } else {
    // It was this one's before, and must not be taken for what it is not.
    command.add_option("--endpoint", "Not of this command")
        ->group("")
        ->check([](const std::string&) {
          return std::string(
              "this command talks to the administrators' socket: give "
              "--admin-endpoint");
        });
  }
  if (sockets == Sockets::kCallers) return;
  command
      .add_option("--admin-endpoint", options.admin_endpoint,
                  "Socket of the daemon for administrators")
      ->capture_default_str();
}

void AddConnectionOptions(CLI::App& command, Options& options,
                          Sockets sockets = Sockets::kCallers) {
  AddSocketOptions(command, options, sockets);
  command.add_option("--timeout", options.timeout_seconds, "Seconds to wait")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
}

/// `of` is what the parameters are of, with an example. One that is none is
/// refused before anything is asked.
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

/// For commands that take one volume.
void AddVolumePlaceOptions(CLI::App& command, Options& options,
                           CLI::Option* group = nullptr) {
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

/// The verbs of replication, as subcommands. Returns them with what each is.
std::vector<std::pair<const CLI::App*, ReplicationVerb>> AddReplicationVerbs(
    CLI::App& app, Options& options) {
  struct Verb {
    ReplicationVerb verb;
    const char* name;
    const char* text;
    const char* force;  // what it does by force; null: it has no such form
    bool parameters;
  };
  constexpr std::array<Verb, 6> kVerbs = {{
      {ReplicationVerb::kInfo, "info",
       "Show how far the copy of a volume is, seen from this site", nullptr,
       false},
      {ReplicationVerb::kEnable, "enable", "Begin to replicate a volume",
       nullptr, true},
      {ReplicationVerb::kPromote, "promote",
       "Make this site's image of a volume the primary one",
       "Without the other site: returns to the last complete copy", true},
      {ReplicationVerb::kDemote, "demote",
       "Make this site's image of a volume a secondary one", nullptr, false},
      {ReplicationVerb::kResync, "resync",
       "Bring this site's copy of a volume in step with the other site",
       "Delete it and copy anew where the two sites differ", false},
      {ReplicationVerb::kDisable, "disable", "End the replication of a volume",
       "Also of a copy whose primary is lost for good", false},
  }};
  std::vector<std::pair<const CLI::App*, ReplicationVerb>> added;
  ReplicationCommand& command = options.replication;
  for (const Verb& verb : kVerbs) {
    CLI::App& sub = *app.add_subcommand(verb.name, verb.text);
    sub.add_option("id", command.id,
                   absl::StrCat(kVolumeText, "; with --group: the group's id"))
        ->required();
    AddVolumePlaceOptions(sub, options,
                          sub.add_flag("--group", command.group,
                                       "It is the id of a volume group"));
    if (verb.force != nullptr) {
      sub.add_flag("--force", command.force, verb.force);
      sub.add_flag("--yes", command.yes, "Do not ask before --force");
    }
    if (verb.parameters) {
      AddParameters(sub, command.parameters,
                    " of a VolumeReplicationClass, for example "
                    "schedulingInterval=5m");
    }
    if (verb.verb == ReplicationVerb::kInfo) {
      sub.add_flag("--json", command.json, "Print it as JSON");
    }
    AddUserOption(sub, command.secrets_file);
    AddConnectionOptions(sub, options, Sockets::kBoth);
    added.emplace_back(&sub, verb.verb);
  }
  return added;
}

/// Tells `command` where the daemon is, and how long to wait for it.
template <typename Command>
void AimAtDaemon(const Options& options, Command& command) {
  command.endpoint = options.endpoint;
  command.timeout = TimeoutOf(options);
}

/// The same for one of the administrators' questions.
template <typename Command>
void AimAtAdminSocket(const Options& options, Command& command) {
  command.endpoint = options.admin_endpoint;
  command.timeout = TimeoutOf(options);
}

std::vector<std::string*> PointersTo(std::vector<std::string>& texts) {
  std::vector<std::string*> pointers;
  pointers.reserve(texts.size());
  for (std::string& text : texts) pointers.push_back(&text);
  return pointers;
}

/// Whether one of `verbs` was given; then `command` is of that one.
template <typename Verb, typename Command>
bool IsGiven(const std::vector<std::pair<const CLI::App*, Verb>>& verbs,
             const Options& options, Command& command) {
  for (const auto& [sub, verb] : verbs) {
    if (!sub->parsed()) continue;
    command.verb = verb;
    AimAtDaemon(options, command);
    return true;
  }
  return false;
}

using StorageVerbs = std::vector<std::pair<const CLI::App*, StorageVerb>>;

void AddFenceVerbs(CLI::App& app, Options& options, StorageVerbs& added) {
  struct Verb {
    StorageVerb verb;
    const char* name;
    const char* text;
    bool changes;
  };
  constexpr std::array<Verb, 4> kVerbs = {{
      {StorageVerb::kFence, "fence", "Cut addresses off from a cluster", true},
      {StorageVerb::kUnfence, "unfence", "Let addresses in again", true},
      {StorageVerb::kFences, "fences", "List what is fenced", false},
      {StorageVerb::kFenceClient, "fence-client",
       "Show under which addresses the cluster knows the daemon's host", false},
  }};
  StorageCommand& command = options.storage;
  for (const Verb& verb : kVerbs) {
    CLI::App& sub = *app.add_subcommand(verb.name, verb.text);
    if (verb.changes) {
      sub.add_option("cidr", command.cidrs,
                     "Addresses or ranges, for example 10.0.0.5/32")
          ->required();
      AddParameters(sub, command.parameters, " of a NetworkFenceClass");
    } else {
      sub.add_flag("--json", command.json, "Print it as JSON");
    }
    sub.add_option("--cluster", command.cluster, "Its id in config.json")
        ->required();
    AddUserOption(sub, command.secrets_file);
    AddConnectionOptions(sub, options);
    added.emplace_back(&sub, verb.verb);
  }
}

void AddSpaceVerbs(CLI::App& app, Options& options, StorageVerbs& added) {
  StorageCommand& command = options.storage;
  CLI::App& reclaim = *app.add_subcommand(
      "reclaim", "Give space that a volume holds as zeros back to the pool");
  reclaim.add_option("id", command.id, kVolumeText)->required();
  AddVolumePlaceOptions(reclaim, options);
  AddParameters(reclaim, command.parameters, ", for example sparseSize=64Ki");
  AddUserOption(reclaim, command.secrets_file);
  CLI::App& trim = *app.add_subcommand(
      "trim", "Give space of deleted files back, on the node of the volume");
  trim.add_option("id", command.id, "Id of the volume")->required();
  trim.add_option("--path", command.path, "Where the volume is staged")
      ->required();
  AddUserOption(trim, command.secrets_file).required(false);
  for (const auto& [sub, verb] : {std::pair(&reclaim, StorageVerb::kReclaim),
                                  std::pair(&trim, StorageVerb::kTrim)}) {
    sub->add_flag("--json", command.json, "Print it as JSON");
    AddConnectionOptions(
        *sub, options,
        verb == StorageVerb::kReclaim ? Sockets::kBoth : Sockets::kCallers);
    added.emplace_back(sub, verb);
  }
}

void AddGroupVerbs(CLI::App& app, Options& options, StorageVerbs& added) {
  struct Verb {
    StorageVerb verb;
    const char* name;
    const char* text;
    const char* id;       // what it is about; null: nothing
    const char* volumes;  // which it takes; null: none
  };
  constexpr const char* kId = "Id of the group";
  constexpr std::array<Verb, 5> kVerbs = {{
      {StorageVerb::kGroupList, "list", "List the volume groups", nullptr,
       nullptr},
      {StorageVerb::kGroupShow, "show", "Show a group and its volumes", kId,
       nullptr},
      {StorageVerb::kGroupCreate, "create", "Make a group of volumes",
       "Name of the group; the same name is the same group",
       "Id of a member; may be repeated"},
      {StorageVerb::kGroupModify, "set-members", "Give a group other members",
       kId, "Id of a member; those that are not named leave the group"},
      {StorageVerb::kGroupDelete, "delete",
       "Delete a group that has no members; volumes stay", kId, nullptr},
  }};
  StorageCommand& command = options.storage;
  CLI::App& group = *app.add_subcommand("group", "Volume groups");
  group.require_subcommand(1);
  for (const Verb& verb : kVerbs) {
    CLI::App& sub = *group.add_subcommand(verb.name, verb.text);
    if (verb.id != nullptr) {
      sub.add_option("id", command.id, verb.id)->required();
    }
    if (verb.volumes != nullptr) {
      sub.add_option("--volume", command.volumes, verb.volumes)
          ->allow_extra_args(false);
      AddParameters(sub, command.parameters,
                    " of a VolumeGroupReplicationClass, for example "
                    "pool=replicapool");
    }
    sub.add_flag("--json", command.json, "Print it as JSON");
    AddUserOption(sub, command.secrets_file);
    AddConnectionOptions(sub, options);
    added.emplace_back(&sub, verb.verb);
  }
}

/// As promote gets them.
void AddClassParameters(CLI::App& command,
                        std::vector<std::string>& parameters) {
  AddParameters(command, parameters,
                " of a VolumeReplicationClass, as promote gets it");
}

const CLI::App& AddExplain(CLI::App& app, Options& options) {
  ExplainCommand& command = options.explain;
  CLI::App& sub = *app.add_subcommand(
      "explain",
      "Show all that this site knows of a volume or volume group, and what "
      "promote, demote and resync would answer now");
  sub.add_option("id", command.id, kVolumeText)->required();
  AddVolumePlaceOptions(
      sub, options,
      sub.add_flag("--group", command.group, "It is the id of a volume group"));
  AddClassParameters(sub, command.parameters);
  sub.add_flag("--json", command.json, "Print it as JSON");
  AddUserOption(sub, command.secrets_file);
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  return sub;
}

const CLI::App& AddDoctor(CLI::App& app, Options& options) {
  DoctorCommand& command = options.doctor;
  CLI::App& sub = *app.add_subcommand(
      "doctor",
      "Look through the installation: files, limits, clusters, capabilities, "
      "mirroring. Ends with 0 when nothing is wrong, or with 9");
  sub.add_flag("--before-handover", command.before_handover,
               "Also what has to be true before this daemon takes over from "
               "another server");
  sub.add_flag("--all", command.all, "Print what is in order, too");
  sub.add_flag("--json", command.json, "Print it as JSON");
  AddUserOption(sub, command.secrets_file);
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  return sub;
}

const CLI::App& AddHistory(CLI::App& app, Options& options) {
  HistoryCommand& command = options.history;
  CLI::App& sub = *app.add_subcommand(
      "history",
      "Show what happened to a volume, a volume group or a pool: calls with "
      "their answers, and changes of roles");
  CLI::Option& id = *sub.add_option("id", command.id, kVolumeText);
  CLI::Option& pool = *sub.add_option("--pool", command.pool,
                                      "Name of a pool: all of it instead")
                           ->excludes(&id);
  sub.add_flag("--group", command.group, "It is the id of a volume group")
      ->needs(&id);
  sub.add_option("--cluster", command.cluster,
                 "With --pool: its cluster in config.json, where that has "
                 "several")
      ->needs(&pool);
  sub.add_option("--since", command.since,
                 "2h, or a time such as 2026-11-20T03:00:00Z");
  sub.add_option("--limit", command.limit, "How many of the newest are shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 2000));
  sub.add_flag("--json", command.json, "Print it as JSON");
  AddUserOption(sub, command.secrets_file);
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  return sub;
}

const CLI::App& AddRescue(CLI::App& app, Options& options) {
  RescueCommand& command = options.rescue;
  CLI::App& sub = *app.add_subcommand(
      "rescue",
      "Show how far a forced promotion in the middle of a copy is, and decide "
      "what becomes of an image that was written to meanwhile");
  sub.add_option("id", command.id, kVolumeText)->required();
  CLI::Option& keep =
      *sub.add_flag("--keep", command.keep,
                    "Keep what is in the image, drop the saved state");
  sub.add_flag("--restore", command.restore,
               "Write the saved state over what is in the image")
      ->excludes(&keep);
  sub.add_flag("--yes", command.yes, "Do not ask before either");
  sub.add_flag("--json", command.json, "Print it as JSON");
  AddVolumePlaceOptions(sub, options);
  AddUserOption(sub, command.secrets_file);
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  return sub;
}

const CLI::App& AddCheckFailover(CLI::App& app, Options& options) {
  CheckFailoverCommand& command = options.check;
  CLI::App& sub = *app.add_subcommand(
      "check-failover",
      "Say whether volumes and volume groups could be promoted on this site "
      "now, and what a forced promotion would lose");
  CLI::Option& ids = *sub.add_option("id", command.ids, kVolumeText);
  CLI::Option& groups = *sub.add_option("--group", command.groups,
                                        "Id of a volume group; may be repeated")
                             ->allow_extra_args(false);
  CLI::Option& pool =
      *sub.add_option("--pool", command.pool,
                      "Name of a pool: all its mirrored images instead")
           ->excludes(&ids)
           ->excludes(&groups);
  sub.add_flag("--all", command.all, "All mirrored images of this site instead")
      ->excludes(&ids)
      ->excludes(&groups)
      ->excludes(&pool);
  sub.add_option("--cluster", command.cluster,
                 "With --pool or --all: only this cluster of config.json")
      ->excludes(&ids)
      ->excludes(&groups);
  CLI::Option& planned =
      *sub.add_flag("--planned", command.planned,
                    "Exit with 0 only when all would be promoted planned");
  sub.add_flag("--force", command.forced,
               "Exit with 0 only when all would be promoted by force")
      ->excludes(&planned);
  AddClassParameters(sub, command.parameters);
  sub.add_flag("--json", command.json, "Print it as JSON");
  AddUserOption(sub, command.secrets_file);
  AddConnectionOptions(sub, options, Sockets::kAdmin);
  return sub;
}

/// What moves whole pools, as subcommands of `site`. Returns them with what
/// each is.
std::vector<std::pair<const CLI::App*, SiteVerb>> AddSiteVerbs(
    CLI::App& app, Options& options) {
  struct Verb {
    SiteVerb verb;
    const char* name;
    const char* text;
    bool may_lose;
  };
  constexpr std::array<Verb, 3> kVerbs = {{
      {SiteVerb::kRelocate, "relocate",
       "Planned, on the site that takes over: promote what was demoted on the "
       "other one; never by force",
       false},
      {SiteVerb::kFailover, "failover",
       "After a disaster, on the site that takes over: promote everything, by "
       "force where nothing else is possible",
       true},
      {SiteVerb::kFailback, "failback",
       "On the site that has come back: follow the other one again; never "
       "promotes",
       true},
  }};
  SiteCommand& command = options.site;
  CLI::App& site = *app.add_subcommand(
      "site", "Move all volumes and volume groups of pools to this site");
  site.require_subcommand(1);
  std::vector<std::pair<const CLI::App*, SiteVerb>> added;
  for (const Verb& verb : kVerbs) {
    CLI::App& sub = *site.add_subcommand(verb.name, verb.text);
    sub.add_option("pool", command.pools, "Names of pools")->required();
    sub.add_option("--cluster", command.cluster,
                   "Their cluster in config.json, where that has several");
    if (verb.verb == SiteVerb::kRelocate) {
      CLI::Option& from =
          *sub.add_option("--from", command.from,
                          "Socket of the other site's daemon: demote there "
                          "first");
      CLI::Option& from_admin =
          *sub.add_option("--from-admin", command.from_admin,
                          "As --admin-endpoint, of that daemon")
               ->needs(&from);
      from.needs(&from_admin);
      CLI::Option& secrets =
          *sub.add_option("--from-secrets-file", command.from_secrets_file,
                          "As --secrets-file, for that daemon")
               ->needs(&from);
      from.needs(&secrets);
      sub.add_option("--from-cluster", command.from_cluster,
                     "As --cluster, for that daemon")
          ->needs(&from);
    }
    if (verb.verb != SiteVerb::kFailback) {
      AddClassParameters(sub, command.parameters);
    }
    sub.add_option("--at-once", command.at_once,
                   "How many volumes and groups at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 256));
    sub.add_flag("--without-groups", command.without_groups,
                 "Take each volume by itself, where groups cannot be listed");
    sub.add_flag("--dry-run", command.dry_run,
                 "Show what would be done, and change nothing");
    if (verb.may_lose) {
      sub.add_flag("--yes", command.yes,
                   "Do not ask before what may lose data");
    }
    sub.add_option_function<std::string>(
           "--output",
           [&command](const std::string& output) {
             command.json = output == "json";
           },
           "text or json")
        ->check(CLI::IsMember({"text", "json"}));
    AddUserOption(sub, command.secrets_file);
    AddSocketOptions(sub, options, Sockets::kBoth);
    sub.add_option("--timeout", options.site_timeout_seconds,
                   "Seconds to wait for all of it")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 86400.0));
    added.emplace_back(&sub, verb.verb);
  }
  return added;
}

}  // namespace

int RunCli(const std::vector<std::string>& arguments, std::istream& in,
           std::ostream& out, std::ostream& err) {
  Streams streams{in, out, err};
  Options options;
  options.endpoint = DefaultEndpoint();
  options.admin_endpoint = DefaultAdminEndpoint();
  CLI::App app("Talks to the daemon rbd-addonsd", "rbd-addons");
  app.footer(
      "Exit codes: 0, or the number of the gRPC code that the call ended with "
      "(14: the daemon\ndoes not answer, or is starting); 64: wrong use; 130: "
      "interrupted.");
  app.set_version_flag("--version", "rbd-addons " ADDONS_VERSION);
  app.require_subcommand(1);

  CLI::App& call =
      *app.add_subcommand("call", "Call a method and print its answer");
  call.add_option("method", options.method,
                  "Package.Service/Method, or Method where that is unambiguous")
      ->required();
  call.add_option(
      "request", options.request,
      "The request as a JSON object; - reads it from standard input");
  call.add_option("--secrets-file", options.secrets_file,
                  "File with the request's secrets, a JSON object of strings");
  AddConnectionOptions(call, options, Sockets::kBoth);
  CLI::App& probe =
      *app.add_subcommand("probe", "Ask whether the daemon is ready");
  AddConnectionOptions(probe, options);
  CLI::App& operations = *app.add_subcommand(
      "operations", "Show what the daemon is doing, the oldest first");
  operations.add_flag("--json", options.json, "Print it as JSON");
  AddConnectionOptions(operations, options, Sockets::kAdmin);
  CLI::App& cancel =
      *app.add_subcommand("cancel", "Stop an operation of the daemon");
  cancel
      .add_option("id", options.operation_id,
                  "Its id, as 'operations' shows it")
      ->required()
      ->check(CLI::PositiveNumber);
  AddConnectionOptions(cancel, options, Sockets::kAdmin);
  CLI::App& audit = *app.add_subcommand(
      "audit", "Look for what is wrong although every status says otherwise");
  audit.add_option("what", options.audit_kind, "What to look at")
      ->capture_default_str()
      ->check(CLI::IsMember(AuditKinds()));
  audit.add_option("--pool", options.pool, "Name of the pool")->required();
  audit.add_option("--cluster", options.cluster,
                   "Its cluster in config.json, where that has several");
  audit
      .add_option("--fence-ends-within", options.fence_ends_within,
                  "Name fences that end within so many seconds")
      ->capture_default_str()
      ->check(CLI::Range(1U, 315360000U));
  AddUserOption(audit, options.secrets_file);
  audit.add_flag("--json", options.json, "Print it as JSON");
  AddConnectionOptions(audit, options, Sockets::kAdmin);
  const auto replication_verbs = AddReplicationVerbs(app, options);
  const CLI::App& check_failover = AddCheckFailover(app, options);
  const CLI::App& explain = AddExplain(app, options);
  const CLI::App& doctor = AddDoctor(app, options);
  const auto site_verbs = AddSiteVerbs(app, options);
  const CLI::App& history = AddHistory(app, options);
  const CLI::App& rescue = AddRescue(app, options);
  StorageVerbs storage_verbs;
  AddFenceVerbs(app, options, storage_verbs);
  AddSpaceVerbs(app, options, storage_verbs);
  AddGroupVerbs(app, options, storage_verbs);
  const CLI::App& methods =
      *app.add_subcommand("methods", "List the methods that can be called");

  try {
    // CLI11 takes them last first and without the program's name.
    app.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend() - 1));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : kCliUsage;
  }
  const auto find_ids = [&](const std::string& secrets_file,
                            const std::vector<std::string*>& volumes) {
    if (!std::all_of(volumes.begin(), volumes.end(), [](const auto* volume) {
          return LooksLikeVolumeId(*volume);
        })) {
      const absl::Status same = CheckSameDaemon(options);
      if (!same.ok()) return Fail(same, kCliUsage, streams);
    }
    return FindVolumeIds({options.admin_endpoint, TimeoutOf(options),
                          secrets_file, options.pool, options.cluster},
                         volumes, streams);
  };
  if (IsGiven(replication_verbs, options, options.replication)) {
    ReplicationCommand& command = options.replication;
    if (!command.group) {
      const int code = find_ids(command.secrets_file, {&command.id});
      if (code != 0) return code;
    }
    return RunReplicationCommand(options.replication, streams);
  }
  if (IsGiven(storage_verbs, options, options.storage)) {
    StorageCommand& command = options.storage;
    if (command.verb == StorageVerb::kReclaim) {
      const int code = find_ids(command.secrets_file, {&command.id});
      if (code != 0) return code;
    }
    return RunStorageCommand(options.storage, streams);
  }
  if (IsGiven(site_verbs, options, options.site)) {
    const absl::Status same = CheckSameDaemon(options);
    if (!same.ok()) return Fail(same, kCliUsage, streams);
    options.site.admin_endpoint = options.admin_endpoint;
    options.site.timeout = Milliseconds(options.site_timeout_seconds);
    return RunSite(options.site, streams);
  }
  if (check_failover.parsed()) {
    const int code =
        find_ids(options.check.secrets_file, PointersTo(options.check.ids));
    if (code != 0) return code;
    AimAtAdminSocket(options, options.check);
    return RunCheckFailover(options.check, streams);
  }
  if (explain.parsed()) {
    if (!options.explain.group) {
      const int code =
          find_ids(options.explain.secrets_file, {&options.explain.id});
      if (code != 0) return code;
    }
    AimAtAdminSocket(options, options.explain);
    return RunExplain(options.explain, streams);
  }
  if (doctor.parsed()) {
    AimAtAdminSocket(options, options.doctor);
    return RunDoctor(options.doctor, streams);
  }
  if (history.parsed()) {
    if (!options.history.id.empty() && !options.history.group) {
      const int code =
          find_ids(options.history.secrets_file, {&options.history.id});
      if (code != 0) return code;
    }
    AimAtAdminSocket(options, options.history);
    return RunHistory(options.history, streams);
  }
  if (rescue.parsed()) {
    const int code =
        find_ids(options.rescue.secrets_file, {&options.rescue.id});
    if (code != 0) return code;
    AimAtAdminSocket(options, options.rescue);
    return RunRescue(options.rescue, streams);
  }
  if (methods.parsed()) return MethodsCommand(streams);
  if (probe.parsed()) return ProbeCommand(options, streams);
  if (operations.parsed()) return OperationsCommand(options, streams);
  if (cancel.parsed()) return CancelCommand(options, streams);
  if (audit.parsed()) return AuditCommand(options, streams);
  return CallCommand(options, streams);
}

}  // namespace addons
