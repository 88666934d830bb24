#include "server/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "rpc/endpoint.h"

namespace addons {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Setter = std::function<absl::Status(Config&, const std::string&)>;

struct Flag {
  std::string name;
  std::string help;
  std::string default_text;
  Setter set;
  bool is_switch = false;
  // Where else a value may come from, after the flag and RBD_ADDONS_<NAME>, in
  // this order: other variables, and other names of the flag ("--name").
  std::vector<std::string> more_sources = {};
};

// Flags of ceph-csi's rbd plugin (and of its logging library) that its pod
// specs pass and that mean nothing here.
constexpr std::array<absl::string_view, 25> kForeignFlags = {
    "clustername",
    "crush-location-labels",
    "domainlabels",
    "drivernamespace",
    "feature-gates",
    "histogramoption",
    "kubeconfig",
    "log_backtrace_at",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "logslowopinterval",
    "maxsnapshotsonimage",
    "minsnapshotsonimage",
    "mountcachedir",
    "pidlimit",
    "pluginpath",
    "polltime",
    "rbdhardmaxclonedepth",
    "rbdsoftmaxclonedepth",
    "stagingpath",
    "stderrthreshold",
    "timeout",
    "v",
    "vmodule"};
constexpr std::array<absl::string_view, 12> kForeignSwitches = {
    "add_dir_header",       "alsologtostderr",   "automaxprocs",
    "enable-read-affinity", "enablegrpcmetrics", "enableprofiling",
    "logtostderr",          "one_output",        "setmetadata",
    "skip_headers",         "skip_log_headers",  "skipforceflatten"};

template <typename Names>
bool IsOneOf(const Names& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status Wrong(absl::string_view reason) {
  return absl::InvalidArgumentError(reason);
}

absl::StatusOr<bool> ParseBool(const std::string& text) {
  bool value = false;
  if (!absl::SimpleAtob(text, &value))
    return Wrong("is neither true nor false");
  return value;
}

Setter SetBool(std::function<bool&(Config&)> field) {
  return [field = std::move(field)](Config& config, const std::string& text) {
    const absl::StatusOr<bool> value = ParseBool(text);
    if (value.ok()) field(config) = *value;
    return value.status();
  };
}

Setter SetDuration(std::function<Milliseconds&(Config&)> field,
                   Milliseconds at_least) {
  return [field = std::move(field), at_least](
             Config& config, const std::string& text) -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(const Milliseconds value, ParseDuration(text));
    if (value < at_least) {
      return Wrong(absl::StrCat("is less than ", FormatDuration(at_least)));
    }
    field(config) = value;
    return absl::OkStatus();
  };
}

Setter SetCount(std::function<size_t&(Config&)> field, uint32_t at_most,
                uint32_t at_least = 1) {
  return [field = std::move(field), at_most, at_least](
             Config& config, const std::string& text) {
    uint32_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value < at_least ||
        value > at_most) {
      return Wrong(
          absl::StrCat("is not a number from ", at_least, " to ", at_most));
    }
    field(config) = value;
    return absl::OkStatus();
  };
}

Setter SetMask(const std::function<int&(Config&)>& field, int bits) {
  return [=](Config& config, const std::string& text) {
    int value = 0;
    if (!absl::SimpleAtoi(text, &value) || value < 1 || value > bits) {
      return Wrong(absl::StrCat("is not a number from 1 to ", bits));
    }
    field(config) = value;
    return absl::OkStatus();
  };
}

absl::Status SetEndpoint(Config& config, const std::string& text) {
  ADDONS_ASSIGN_OR_RETURN(config.socket_path, SocketPath(text));
  return absl::OkStatus();
}

absl::Status SetAdminEndpoint(Config& config, const std::string& text) {
  ADDONS_ASSIGN_OR_RETURN(config.admin_socket_path, SocketPath(text));
  return absl::OkStatus();
}

// The name ends up in a lease and is compared byte for byte with that in
// volumes.
absl::Status SetDriverName(Config& config, const std::string& text) {
  if (text.empty()) return absl::OkStatus();  // ceph-csi: the default name
  const auto alphanumeric = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  };
  const bool good_characters = std::all_of(
      text.begin(), text.end(),
      [&](char c) { return alphanumeric(c) || c == '-' || c == '.'; });
  if (text.size() > 63 || !good_characters || !alphanumeric(text.front()) ||
      !alphanumeric(text.back())) {
    return Wrong(
        "is not a driver name: at most 63 letters, digits, dots and dashes, "
        "with a "
        "letter or digit at both ends");
  }
  config.driver_name = text;
  return absl::OkStatus();
}

absl::Status SetNodeId(Config& config, const std::string& text) {
  if (text.size() > 256) return Wrong("has more than 256 bytes");
  config.node_id = text;
  return absl::OkStatus();
}

absl::Status SetInstanceId(Config& config, const std::string& text) {
  const bool good = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (text.empty() || text.size() > 128 || !good) {
    return Wrong("is not an instance id: 1 to 128 printable characters");
  }
  config.instance_id = text;
  return absl::OkStatus();
}

absl::Status SetConfigDir(Config& config, const std::string& text) {
  if (!absl::StartsWith(text, "/")) return Wrong("is not an absolute path");
  config.config_dir = text;
  return absl::OkStatus();
}

// Each list replaces the one before, as other flags do.
absl::Status SetSiteClusters(Config& config, const std::string& text) {
  config.site_clusters.clear();
  for (absl::string_view id : absl::StrSplit(text, ',')) {
    id = absl::StripAsciiWhitespace(id);
    if (!id.empty()) config.site_clusters.emplace_back(std::string(id));
  }
  return absl::OkStatus();
}

absl::Status SetImageExports(Config& config, const std::string& text) {
  if (text.empty()) return absl::OkStatus();
  if (!absl::StartsWith(text, "/") || absl::EndsWith(text, "/")) {
    return Wrong("is not an absolute path without a slash at its end");
  }
  config.image_exports = text;
  return absl::OkStatus();
}

absl::Status SetKmsConfigDir(Config& config, const std::string& text) {
  if (!absl::StartsWith(text, "/")) return Wrong("is not an absolute path");
  config.kms_config_dir = text;
  return absl::OkStatus();
}

absl::Status SetWatchUser(Config& config, const std::string& text) {
  if (!text.empty() && !absl::StartsWith(text, "/")) {
    return Wrong("is not an absolute path");
  }
  config.watch_user = text;
  return absl::OkStatus();
}

absl::Status SetLogLevel(Config& config, const std::string& text) {
  constexpr std::array<absl::string_view, 5> kLevels = {
      "trace", "debug", "info", "warn", "error"};
  if (!IsOneOf(kLevels, text)) {
    return Wrong(absl::StrCat("is not one of ", absl::StrJoin(kLevels, ", ")));
  }
  config.log_level = text;
  return absl::OkStatus();
}

absl::Status SetLogFormat(Config& config, const std::string& text) {
  if (text != "text" && text != "json") return Wrong("is not text or json");
  config.log_format = text == "json" ? LogFormat::kJson : LogFormat::kText;
  return absl::OkStatus();
}

absl::Status SetSocketMode(Config& config, const std::string& text) {
  const bool octal = !text.empty() && text.size() <= 4 &&
                     std::all_of(text.begin(), text.end(),
                                 [](char c) { return c >= '0' && c <= '7'; });
  if (!octal) return Wrong("is not an octal file mode such as 0660");
  const auto mode = static_cast<mode_t>(std::strtoul(text.c_str(), nullptr, 8));
  if ((mode & ~mode_t{0777}) != 0) return Wrong("has bits beyond 0777");
  if ((mode & mode_t{0200}) == 0)
    return Wrong("does not let the owner connect");
  config.socket_mode = mode;
  return absl::OkStatus();
}

absl::Status SetSocketGroup(Config& config, const std::string& text) {
  config.socket_group = text;
  return absl::OkStatus();
}

absl::Status SetMetricsPort(Config& config, const std::string& text) {
  uint32_t port = 0;
  if (!absl::SimpleAtoi(text, &port) || port > UINT16_MAX) {
    return Wrong("is not a port from 1 to 65535, or 0 for none");
  }
  config.serve_metrics = port != 0;
  config.metrics.port = static_cast<uint16_t>(port);
  return absl::OkStatus();
}

absl::Status SetMetricsPath(Config& config, const std::string& text) {
  config.metrics.path = text;
  return CheckHttpPath(text);
}

absl::Status SetMetricsAddress(Config& config, const std::string& text) {
  ADDONS_ASSIGN_OR_RETURN(config.metrics.address, ParseHttpAddress(text));
  return absl::OkStatus();
}

absl::Status SetGroupReplication(Config& config, const std::string& text) {
  if (!text.empty() && text != "members") {
    return Wrong("is not 'members', or nothing: the class decides");
  }
  config.group_members_by_default = !text.empty();
  return absl::OkStatus();
}

absl::Status CheckType(Config& /*config*/, const std::string& text) {
  if (text == "rbd") return absl::OkStatus();
  return Wrong("is not rbd; this daemon serves nothing else");
}

std::vector<Flag> ServingFlags() {
  return {
      {"csi-addons-endpoint",
       "socket to listen on, unix:///path",
       kDefaultEndpoint,
       SetEndpoint,
       false,
       // In the driver's pod specs --endpoint and CSI_ENDPOINT are the driver's
       // own socket, with a CSI-Addons one beside it.
       {"CSI_ADDONS_ENDPOINT", "--endpoint", "CSI_ENDPOINT"}},
      {"admin-endpoint",
       "socket of the administrators' services, unix:///path, for this user "
       "alone; not in a folder that a sidecar sees",
       kDefaultAdminEndpoint, SetAdminEndpoint},
      {"socket-mode", "permissions of the first socket, octal", "0600",
       SetSocketMode},
      {"socket-group", "group of the first socket, name or number", "",
       SetSocketGroup},
      {"drivername", "name of the CSI driver beside this daemon",
       "rbd.csi.ceph.com", SetDriverName},
      {"nodeid", "name of this node", "", SetNodeId},
      {"instanceid", "the driver's --instanceid", "default", SetInstanceId},
      {"controllerserver", "serve what needs no particular node", "false",
       SetBool([](Config& c) -> bool& { return c.modes.controller; }), true},
      {"nodeserver", "serve what concerns volumes on this node", "false",
       SetBool([](Config& c) -> bool& { return c.modes.node; }), true},
      {"type", "accepted for ceph-csi's pod specs; rbd is the only value",
       "rbd", CheckType},
      {"config-dir", "folder of config.json and cluster-mapping.json",
       "/etc/ceph-csi-config", SetConfigDir},
      {"site-clusters",
       "ids of this site's clusters, with commas between them: no other one is "
       "looked at or changed, although config.json may have it; none: all of "
       "config.json",
       "", SetSiteClusters},
      {"image-exports",
       "for tests on nodes without rbd and nbd: folder with images exported "
       "through FUSE as POOL/[NAMESPACE/]IMAGE; a loop device over such a file "
       "counts as the image",
       "", SetImageExports},
      {"key-rotation",
       "rotate the keys of encrypted volumes on this node; needs --nodeserver, "
       "the right to open the node's devices, and its /dev",
       "false", SetBool([](Config& c) -> bool& { return c.rotate_keys; }),
       true},
      {"kms-config-dir",
       "folder of ceph-csi's configuration of key management systems, for "
       "--key-rotation",
       "/etc/ceph-csi-encryption-kms-config", SetKmsConfigDir},
      {"log-level", "trace, debug, info, warn or error", "info", SetLogLevel},
      {"log-format",
       "text (time level message key=value ...) or json (an object per line)",
       "text", SetLogFormat},
      {"core-dumps",
       "let the kernel write a core dump when the daemon crashes; it holds "
       "keys",
       "false", SetBool([](Config& c) -> bool& { return c.core_dumps; }), true},
  };
}

std::vector<Flag> MetricsFlags() {
  return {
      {"metricsport",
       "TCP port for metrics in Prometheus' text format; 0: none", "0",
       SetMetricsPort},
      {"metricspath", "path of the metrics", "/metrics", SetMetricsPath},
      {"metrics-address",
       "IP address for the metrics; also from POD_IP",
       "127.0.0.1",
       SetMetricsAddress,
       false,
       {"POD_IP"}},
  };
}

std::vector<Flag> FenceFlags() {
  return {
      {"fence-shortest-mask-ipv4",
       "the widest IPv4 range that may be fenced, as bits of its mask", "8",
       SetMask([](Config& c) -> int& { return c.fence_shortest_mask_ipv4; },
               32)},
      {"fence-shortest-mask-ipv6", "likewise for IPv6", "32",
       SetMask([](Config& c) -> int& { return c.fence_shortest_mask_ipv6; },
               128)},
      {"enable-fencing",
       "lift ceph-csi's automatic fence of this node when GetFenceClients is "
       "called",
       "false", SetBool([](Config& c) -> bool& { return c.enable_fencing; }),
       true},
  };
}

std::vector<Flag> GroupFlags() {
  return {
      {"group-max-members", "how many volumes a volume group may have", "100",
       SetCount([](Config& c) -> size_t& { return c.group_max_members; },
                10000)},
      {"group-replication",
       "members: replicate volume groups member by member also where the "
       "class does not say groupReplication, because somebody else writes "
       "it",
       "", SetGroupReplication}};
}

std::vector<Flag> TimeFlags() {
  using std::chrono::seconds;
  const Milliseconds zero(0);
  return {
      {"shutdown-grace", "time for running work to end when stopped", "20s",
       SetDuration([](Config& c) -> Milliseconds& { return c.shutdown_grace; },
                   zero)},
      {"settle-time",
       "a site without a sign of life for so long counts as gone", "90s",
       // Mirror statuses are rewritten every 30 s: two of them must have been
       // missed.
       SetDuration([](Config& c) -> Milliseconds& { return c.settle_time; },
                   seconds(60))},
      {"takeover-time",
       "a living site may be forced aside after it was primary for so long "
       "while calls waited; at least the settle time",
       "180s",
       SetDuration([](Config& c) -> Milliseconds& { return c.takeover_time; },
                   seconds(60))},
      {"history-events",
       "how many events of its volumes a pool remembers (rbd-addons history); "
       "0: none are written",
       "5000",
       SetCount([](Config& c) -> size_t& { return c.history_events; }, 100000,
                0)},
      {"watch-user",
       "file or folder with a Ceph user that only reads (a Secret's userID and "
       "userKey, JSON, or a keyring): with it all mirrored pools of this site "
       "are looked at although no call has named them",
       "", SetWatchUser},
      {"watch-interval",
       "how often the replication of pools that are watched is looked at "
       "for rbd-addons status, metrics and the status page; 0: never, else at "
       "least 5s",
       "60s",
       SetDuration([](Config& c) -> Milliseconds& { return c.watch_interval; },
                   seconds(0))},
      {"force-without-local-mirror",
       "rbd-mirror of this site is stopped on purpose before a failover: its "
       "silence does not keep from forcing",
       "false",
       SetBool([](Config& c) -> bool& { return c.force_without_local_mirror; }),
       true},
      {"operation-wait", "time a call waits for another one on the same object",
       "20s",
       SetDuration([](Config& c)
                       -> Milliseconds& { return c.operations.conflict_wait; },
                   zero)},
      {"max-wait", "time a call without a deadline waits for its result",
       "165s",
       SetDuration(
           [](Config& c) -> Milliseconds& { return c.operations.max_wait; },
           seconds(1))},
      {"max-waiting",
       "calls that may wait at the same time; each holds some memory", "16384",
       SetCount([](Config& c) -> size_t& { return c.operations.max_waiting; },
                100000)},
      {"keep-results", "time a result is kept that nobody waited for", "10m",
       SetDuration(
           [](Config& c) -> Milliseconds& { return c.operations.keep_results; },
           zero)},
      {"watchdog", "report operations without progress for so long", "5m",
       SetDuration(
           [](Config& c) -> Milliseconds& { return c.operations.watchdog; },
           seconds(1))},
      {"connect-timeout", "bound for connecting to a cluster", "5s",
       SetDuration([](Config& c) -> Milliseconds& { return c.connect_timeout; },
                   seconds(1))},
      {"monitor-timeout", "bound for a monitor or manager command", "10s",
       SetDuration([](Config& c) -> Milliseconds& { return c.monitor_timeout; },
                   seconds(1))},
      {"read-timeout", "bound for a read from an OSD", "10s",
       SetDuration([](Config& c) -> Milliseconds& { return c.read_timeout; },
                   seconds(1))},
  };
}

std::vector<Flag> LaneFlags(const std::string& lane, const std::string& what,
                            const LaneLimits& defaults,
                            LaneLimits OperationLimits::*limits,
                            const std::string& of_one_cluster = "") {
  const auto count = [limits](size_t LaneLimits::*member) {
    return SetCount(
        [limits, member](Config& c) -> size_t& {
          return c.operations.*limits.*member;
        },
        10000);
  };
  return {
      {lane + "-workers", absl::StrCat("how much ", what, " runs at a time"),
       absl::StrCat(defaults.workers), count(&LaneLimits::workers)},
      {lane + "-workers-per-cluster",
       absl::StrCat("of these, how many for one cluster", of_one_cluster),
       absl::StrCat(defaults.workers_per_cluster),
       count(&LaneLimits::workers_per_cluster)},
      {lane + "-queue", absl::StrCat("how much ", what, " may wait"),
       absl::StrCat(defaults.queued), count(&LaneLimits::queued)},
  };
}

std::vector<Flag> AllFlags() {
  const OperationLimits defaults;
  std::vector<Flag> flags = ServingFlags();
  for (std::vector<Flag> more :
       {MetricsFlags(), FenceFlags(), TimeFlags(), GroupFlags(),
        LaneFlags("control", "failover and configuration", defaults.control,
                  &OperationLimits::control),
        LaneFlags("bulk", "space reclaim", defaults.bulk,
                  &OperationLimits::bulk,
                  "; all trims of this node count as those of one"),
        LaneFlags("read", "reading", defaults.read, &OperationLimits::read)}) {
    std::move(more.begin(), more.end(), std::back_inserter(flags));
  }
  return flags;
}

std::string VariableOf(const Flag& flag) {
  return absl::StrCat("RBD_ADDONS_", absl::AsciiStrToUpper(absl::StrReplaceAll(
                                         flag.name, {{"-", "_"}})));
}

// Kubernetes gives a pod the addresses of all Services, and one of them may
// have a name like the daemon's: RBD_ADDONS_METRICS_PORT_9641_TCP_ADDR.
bool IsOfService(absl::string_view variable) {
  return absl::StrContains(variable, "_SERVICE_HOST") ||
         absl::StrContains(variable, "_SERVICE_PORT") ||
         absl::EndsWith(variable, "_PORT") ||
         absl::StrContains(variable, "_PORT_");
}

std::vector<std::string> UnknownVariables(
    const std::vector<Flag>& flags, const std::vector<std::string>& variables) {
  std::set<std::string> known;
#ifdef ADDONS_FAULT_POINTS
  known.insert("RBD_ADDONS_FAULTS");
#endif
  for (const Flag& flag : flags) known.insert(VariableOf(flag));
  std::vector<std::string> unknown;
  for (const std::string& variable : variables) {
    if (absl::StartsWith(variable, "RBD_ADDONS_") &&
        known.count(variable) == 0 && !IsOfService(variable)) {
      unknown.push_back(variable);
    }
  }
  return unknown;
}

std::string Help(const std::vector<Flag>& flags) {
  std::string text =
      "rbd-addonsd: CSI-Addons server for Ceph RBD\n\n"
      "Every flag can also be given as an environment variable "
      "RBD_ADDONS_<FLAG>,\n"
      "for instance RBD_ADDONS_LOG_LEVEL. The endpoint also comes from\n"
      "CSI_ADDONS_ENDPOINT, --endpoint or CSI_ENDPOINT, in this order. Other "
      "flags of\n"
      "ceph-csi's rbd plugin are accepted and ignored. Durations: 90s, 1m30s, "
      "500ms.\n\n";
  for (const Flag& flag : flags) {
    absl::StrAppend(&text, "  --", flag.name,
                    flag.is_switch ? "[=true|false]" : "=VALUE", "\n        ",
                    flag.help);
    if (!flag.default_text.empty()) {
      absl::StrAppend(&text, " (default ", flag.default_text, ")");
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text,
                  "  --version\n        print the version\n"
                  "  --help\n        print this\n\n"
                  "Exit codes: 0 stopped, 1 could not start, 2 wrong flags or "
                  "environment,\n3 stopped before all work had ended.\n");
  return text;
}

// What stands on the command line, before any value is looked at.
struct Given {
  std::map<std::string, std::string> values;  // the last one wins, as in Go
  std::vector<std::string> foreign;
  std::vector<std::string> errors;
  bool help = false;
  bool version = false;
};

class ArgumentReader {
 public:
  ArgumentReader(const std::vector<std::string>& arguments,
                 const std::vector<Flag>& flags)
      : arguments_(arguments), flags_(flags) {}

  Given Read() {
    for (next_ = 1; next_ < arguments_.size();) ReadOne(arguments_[next_++]);
    return std::move(given_);
  }

 private:
  void ReadOne(const std::string& argument) {
    absl::string_view name = argument;
    if (!absl::ConsumePrefix(&name, "-") || name.empty()) {
      given_.errors.push_back(
          absl::StrCat("argument ", Quoted(argument), " is not a flag"));
      return;
    }
    absl::ConsumePrefix(&name, "-");
    std::optional<std::string> value;
    if (const size_t equals = name.find('=');
        equals != absl::string_view::npos) {
      value = std::string(name.substr(equals + 1));
      name = name.substr(0, equals);
    }
    if (name == "help" || name == "h") {
      given_.help = true;
    } else if (name == "version") {
      given_.version = true;
    } else {
      Assign(std::string(name), std::move(value));
    }
  }

  void Assign(const std::string& name, std::optional<std::string> value) {
    const auto flag =
        std::find_if(flags_.begin(), flags_.end(), [&](const Flag& f) {
          return f.name == name || IsOneOf(f.more_sources, "--" + name);
        });
    const bool foreign_switch = IsOneOf(kForeignSwitches, name);
    const bool foreign = foreign_switch || IsOneOf(kForeignFlags, name);
    if (flag == flags_.end() && !foreign) {
      given_.errors.push_back(absl::StrCat("flag ", Quoted("--" + name),
                                           " is not known; see --help"));
      return;
    }
    const bool is_switch = foreign ? foreign_switch : flag->is_switch;
    if (!value.has_value() && is_switch) value = "true";
    if (!value.has_value() && next_ < arguments_.size())
      value = arguments_[next_++];
    if (!value.has_value()) {
      given_.errors.push_back(absl::StrCat("--", name, " has no value"));
    } else if (foreign) {
      given_.foreign.push_back("--" + name);
    } else {
      given_.values[name] = *std::move(value);
    }
  }

  const std::vector<std::string>& arguments_;
  const std::vector<Flag>& flags_;
  size_t next_ = 1;
  Given given_;
};

struct Source {
  std::string name;  // "--nodeid" or "environment variable RBD_ADDONS_NODEID"
  std::string value;
};

Source FindValue(const Flag& flag, const Given& given,
                 const Environment& environment) {
  if (const auto it = given.values.find(flag.name); it != given.values.end()) {
    return {"--" + flag.name, it->second};
  }
  std::vector<std::string> sources = {VariableOf(flag)};
  sources.insert(sources.end(), flag.more_sources.begin(),
                 flag.more_sources.end());
  for (const std::string& variable : sources) {
    if (absl::StartsWith(variable, "--")) {
      const auto it = given.values.find(variable.substr(2));
      if (it != given.values.end()) return {variable, it->second};
      continue;
    }
    const std::optional<std::string> value = environment(variable);
    if (value.has_value() && !value->empty()) {
      return {"environment variable " + variable, *value};
    }
  }
  return {"--" + flag.name, flag.default_text};
}

}  // namespace

std::optional<std::string> ProcessEnvironment(const std::string& name) {
  // Read before the first thread starts and never written.
  const char* value =
      std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::vector<std::string> ProcessVariables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

CommandLine ParseCommandLine(const std::vector<std::string>& arguments,
                             const Environment& environment,
                             const std::vector<std::string>& variables) {
  const std::vector<Flag> flags = AllFlags();
  Given given = ArgumentReader(arguments, flags).Read();
  if (given.help) return {std::nullopt, kExitOk, Help(flags), ""};
  if (given.version) {
    return {std::nullopt, kExitOk, "rbd-addonsd " ADDONS_VERSION "\n", ""};
  }
  Config config;
  config.ignored_flags = std::move(given.foreign);
  config.unknown_variables = UnknownVariables(flags, variables);
  std::vector<std::string> errors = std::move(given.errors);
  for (const Flag& flag : flags) {
    const Source source = FindValue(flag, given, environment);
    for (const std::string& other : flag.more_sources) {
      if (other != source.name && absl::StartsWith(other, "--") &&
          given.values.count(other.substr(2)) != 0) {
        config.ignored_flags.push_back(other);
      }
    }
    const absl::Status set = flag.set(config, source.value);
    if (!set.ok()) {
      errors.push_back(absl::StrCat(source.name, " ", Quoted(source.value),
                                    ": ", set.message()));
    }
  }
  const bool takeover_given =
      given.values.contains("takeover-time") ||
      environment("RBD_ADDONS_TAKEOVER_TIME").has_value();
  if (!takeover_given) {
    config.takeover_time = std::max(config.takeover_time, config.settle_time);
  }
  if (config.takeover_time < config.settle_time) {
    errors.push_back(absl::StrCat("--takeover-time ",
                                  FormatDuration(config.takeover_time),
                                  ": is less than the settle time, ",
                                  FormatDuration(config.settle_time)));
  }
  if (config.watch_interval.count() > 0 &&
      config.watch_interval < std::chrono::seconds(5)) {
    errors.push_back(absl::StrCat("--watch-interval ",
                                  FormatDuration(config.watch_interval),
                                  ": must be 0 or at least 5s"));
  }
  if (config.rotate_keys && !config.modes.node) {
    errors.emplace_back(
        "--key-rotation: needs --nodeserver, because keys are rotated on the "
        "node that uses the volume");
  }
  if (!config.socket_path.empty() &&
      config.admin_socket_path == config.socket_path) {
    errors.push_back(absl::StrCat(
        "--admin-endpoint ", Quoted(config.admin_socket_path),
        ": is the socket of --csi-addons-endpoint; give it one of its own"));
  }
  if (errors.empty()) return {std::move(config), kExitOk, "", ""};
  std::string text;
  for (const std::string& error : errors) {
    absl::StrAppend(&text, "rbd-addonsd: ", error, "\n");
  }
  return {std::nullopt, kExitUsage, "", text};
}

std::string Describe(const Config& config) {
  const OperationLimits& limits = config.operations;
  const auto lane = [](const LaneLimits& l) {
    return absl::StrCat(l.workers, "/", l.workers_per_cluster, "/", l.queued);
  };
  return absl::StrCat(
      "endpoint=", Quoted(config.socket_path),
      " admin_endpoint=", Quoted(config.admin_socket_path),
      absl::StrFormat(" socket_mode=%04o", config.socket_mode),
      " socket_group=", Quoted(config.socket_group),
      " drivername=", Quoted(config.driver_name),
      " nodeid=", Quoted(config.node_id),
      " instanceid=", Quoted(config.instance_id),
      " controllerserver=", config.modes.controller ? "true" : "false",
      " nodeserver=", config.modes.node ? "true" : "false",
      " config_dir=", Quoted(config.config_dir), " site_clusters=",
      Quoted(absl::StrJoin(config.site_clusters, ",", AppendClusterId)),
      " image_exports=", Quoted(config.image_exports),
      " key_rotation=", config.rotate_keys ? "true" : "false",
      " kms_config_dir=", Quoted(config.kms_config_dir),
      " log_level=", config.log_level,
      " log_format=", config.log_format == LogFormat::kJson ? "json" : "text",
      " core_dumps=", config.core_dumps ? "true" : "false",
      " metrics=", config.serve_metrics ? UrlOf(config.metrics) : "none",
      " shutdown_grace=", FormatDuration(config.shutdown_grace),
      " settle_time=", FormatDuration(config.settle_time),
      " takeover_time=", FormatDuration(config.takeover_time),
      " watch_interval=", FormatDuration(config.watch_interval),
      " watch_user=", Quoted(config.watch_user), " force_without_local_mirror=",
      config.force_without_local_mirror ? "true" : "false",
      " history_events=", config.history_events,
      " operation_wait=", FormatDuration(limits.conflict_wait),
      " max_wait=", FormatDuration(limits.max_wait),
      " max_waiting=", limits.max_waiting,
      " keep_results=", FormatDuration(limits.keep_results),
      " watchdog=", FormatDuration(limits.watchdog),
      " group_max_members=", config.group_max_members, " group_replication=",
      Quoted(config.group_members_by_default ? "members" : ""),
      " connect_timeout=", FormatDuration(config.connect_timeout),
      " monitor_timeout=", FormatDuration(config.monitor_timeout),
      " read_timeout=", FormatDuration(config.read_timeout),
      " fence_shortest_mask_ipv4=", config.fence_shortest_mask_ipv4,
      " fence_shortest_mask_ipv6=", config.fence_shortest_mask_ipv6,
      " enable_fencing=", config.enable_fencing ? "true" : "false",
      " control=", lane(limits.control), " bulk=", lane(limits.bulk),
      " read=", lane(limits.read));
}

}  // namespace addons
