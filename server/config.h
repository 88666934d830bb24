#ifndef ADDONS_SERVER_CONFIG_H_
#define ADDONS_SERVER_CONFIG_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log_format.h"
#include "identity/capabilities.h"
#include "operation/operation_table.h"
#include "server/http_endpoint.h"

namespace addons {

/// How the process ended.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,  // could not start, for instance because the socket is taken
  kExitUsage = 2,   // wrong flags or environment
  kExitForced = 3,  // stopped, but not everything had ended by itself
};

/// All that the daemon is told at its start, by subject. Immutable afterwards.
struct Config {  // NOLINT(clang-analyzer-optin.performance.Padding)
  std::string socket_path;
  /// Of the administrators' services, mode 0600; empty: they are not served.
  std::string admin_socket_path;
  mode_t socket_mode = 0600;
  std::string socket_group;  // a name or a number; empty: the process's
  std::string driver_name = "rbd.csi.ceph.com";
  std::string node_id;
  std::string instance_id = "default";  // part of ceph-csi's object names
  Modes modes;
  std::string config_dir = "/etc/ceph-csi-config";
  /// Ids of this site's clusters, when config.json has other sites' as well.
  std::vector<ClusterId> site_clusters;
  /// Where images are exported as files, which may then be used through loop
  /// devices; see IdentifyImage(). Empty: nowhere.
  std::string image_exports;
  bool rotate_keys = false;  // of encrypted volumes on this node
  std::string kms_config_dir = "/etc/ceph-csi-encryption-kms-config";
  std::string log_level = "info";
  LogFormat log_format = LogFormat::kText;
  bool core_dumps = false;
  std::chrono::milliseconds shutdown_grace = std::chrono::seconds(20);
  /// Without a sign of life for so long, a site counts as gone.
  std::chrono::milliseconds settle_time = std::chrono::seconds(90);
  /// A living peer may be forced aside when it was primary for so long.
  std::chrono::milliseconds takeover_time = std::chrono::seconds(180);
  /// How often replication is looked at when no call asks; zero: never.
  std::chrono::milliseconds watch_interval = std::chrono::seconds(60);
  /// The file or folder with the Ceph user that replication is looked at with;
  /// empty: those of calls.
  std::string watch_user;
  /// This site's rbd-mirror is stopped on purpose before a failover.
  bool force_without_local_mirror = false;
  size_t group_max_members = 100;
  /// What a pool remembers of what happened to its volumes; 0: nothing is
  /// written.
  size_t history_events = 5000;
  /// Volume groups are replicated member by member also where the class does
  /// not say so.
  bool group_members_by_default = false;
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::chrono::milliseconds monitor_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds read_timeout = std::chrono::seconds(10);
  /// The shortest masks that a request to fence may have.
  int fence_shortest_mask_ipv4 = 8;
  int fence_shortest_mask_ipv6 = 32;
  bool enable_fencing = false;  // ceph-csi's: lift automatic fences
  bool serve_metrics = false;
  HttpEndpoint metrics;  // where, if they are served
  OperationLimits operations;
  std::vector<std::string> ignored_flags;  // ceph-csi's, without meaning here
  std::vector<std::string> unknown_variables;  // RBD_ADDONS_... of no flag
};

/// What to do after the command line was read: run with `config`, or print
/// `output`
/// (`errors` to standard error) and exit with `exit_code`.
struct CommandLine {
  std::optional<Config> config;
  int exit_code = kExitOk;
  std::string output;
  std::string errors;
};

/// The value of an environment variable; nullopt when it is not set.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;

/// The process's own environment.
std::optional<std::string> ProcessEnvironment(const std::string& name);
/// The names of all variables in it.
std::vector<std::string> ProcessVariables();

/// Reads flags as Go programs do (-x, --x, --x=v, --x v; switches --x or
/// --x=true), because the pod specs of ceph-csi, whose flags are accepted here
/// too, are written for that; then the variable RBD_ADDONS_<FLAG> for each flag
/// that was not given. The first argument is the program's name. All errors are
/// reported together. `variables` are the names of those that are set, to find
/// misspelt ones; those that Kubernetes makes for a Service of this name are
/// none.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments,
                             const Environment& environment,
                             const std::vector<std::string>& variables = {});

/// The configuration as one log line. It holds no secrets.
std::string Describe(const Config& config);

}  // namespace addons

#endif  // ADDONS_SERVER_CONFIG_H_
