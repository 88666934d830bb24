#include "ceph/librados/rados_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "ceph/cephx_key.h"
#include "ceph/command_error.h"
#include "ceph/errors.h"
#include "ceph/librados/key_support.h"
#include "ceph/librados/monitor_addresses.h"
#include "ceph/pinned_options.h"

namespace addons {
namespace {

constexpr size_t kShownStatusText = 1024;

std::string Seconds(std::chrono::seconds timeout) {
  return absl::StrCat(std::max<int64_t>(1, timeout.count()));
}

std::string ClusterName(const ClusterTarget& target) {
  return absl::StrCat("cluster '", absl::CHexEscape(target.cluster_id.text()),
                      "'");
}

absl::Status SetOption(rados_t cluster, const char* option,
                       const std::string& value) {
  const int result = rados_conf_set(cluster, option, value.c_str());
  if (result == 0) return absl::OkStatus();
  // The value is not shown: it may be the key.
  return CephError(result, "set Ceph option", absl::StrCat("'", option, "'"));
}

/// Sets the key and returns its type.
absl::StatusOr<unsigned> SetKey(rados_t cluster, const CephUser& user) {
  const absl::string_view key = absl::StripAsciiWhitespace(user.key.Reveal());
  absl::StatusOr<unsigned> type = CephxKeyType(key);
  if (!type.ok()) {
    return absl::UnauthenticatedError(
        absl::StrCat("the key of Ceph user '", absl::CHexEscape(user.id),
                     "' is not a valid cephx key: ", type.status().message(),
                     "; correct userKey in the secret"));
  }
  std::string text(key);
  absl::Status status = SetOption(cluster, "key", text);
  WipeString(text);
  if (!status.ok()) return status;
  return type;
}

/// librados asks for a new map of the OSDs when a call waits longer than
/// objecter_timeout for one of them (10 s unless told), looking every
/// objecter_tick_interval. With an OSD timeout that is not longer, no read ever
/// waits long enough: after an outage of the whole cluster this connection
/// would look for the OSDs at their old addresses for ever (measured, 16.2.15).
constexpr double kLongestMapPatience = 2;

absl::Status Configure(rados_t cluster, const std::string& mon_host,
                       ConnectionUse use, const ConnectionTimeouts& timeouts) {
  const double map_patience =
      std::min(kLongestMapPatience,
               std::chrono::duration<double>(timeouts.osd_read).count() / 2);
  std::vector<std::pair<const char*, std::string>> options = {
      // Standard error is our log.
      {"log_to_stderr", "false"},
      {"err_to_stderr", "false"},
      {"log_file", ""},
      {"mon_host", mon_host},
      // The key is given later; nothing of this host may stand in for it.
      {"keyring", ""},
      {"auth_client_required", "cephx"},
      {"client_mount_timeout", Seconds(timeouts.connect)},
      {"objecter_timeout", absl::StrCat(map_patience)},
      {"objecter_tick_interval", absl::StrCat(map_patience / 2)},
      // None where there must be none (see ConnectionUse and Access), also when
      // the cluster's configuration has one for its clients.
      {"rados_mon_op_timeout",
       use == ConnectionUse::kManager ? "0" : Seconds(timeouts.mon)},
      {"rados_osd_op_timeout",
       use == ConnectionUse::kRead ? Seconds(timeouts.osd_read) : "0"},
  };
  if (use != ConnectionUse::kManager) {
    for (const PinnedOption& option : PinnedOptions()) {
      options.emplace_back(option.name, option.value);
    }
  }
  if (use == ConnectionUse::kMutateGently) {
    options.emplace_back("rbd_concurrent_management_ops", "1");
  }
  for (const auto& [option, value] : options) {
    ADDONS_RETURN_IF_ERROR(SetOption(cluster, option, value));
  }
  return absl::OkStatus();
}

/// `status` with another code and more text.
absl::Status WithMore(const absl::Status& status, absl::StatusCode code,
                      absl::string_view more) {
  return Recode(status, code, absl::StrCat(status.message(), "; ", more));
}

/// rados_connect answers EACCES for a wrong key and an unknown user alike,
/// ETIMEDOUT when no monitor speaks, EINVAL and ENOENT when it has no address,
/// and EINVAL for a key whose type it does not know.
absl::Status ConnectError(int result, const ClusterTarget& target,
                          const CephUser& user, unsigned key_type) {
  const std::string user_name =
      absl::StrCat("user '", absl::CHexEscape(user.id), "'");
  const absl::Status status =
      CephError(result, absl::StrCat("connect as ", user_name, " to"),
                ClusterName(target));
  if (result == -EACCES || result == -EPERM) {
    return WithMore(
        status, absl::StatusCode::kUnauthenticated,
        absl::StrCat("the cluster refuses this user or its key; compare the "
                     "secret with 'ceph auth get'",
                     key_type == kCephxAes
                         ? " (its type is aes, which a cluster of Ceph 19.2.6, "
                           "20.2.4 or newer may refuse altogether)"
                         : ""));
  }
  const std::string unusable =
      UnusableKeyType(result, key_type, LibradosVersion());
  if (!unusable.empty()) {
    return WithMore(status, absl::StatusCode::kUnauthenticated, unusable);
  }
  return WithMore(
      status, absl::StatusCode::kUnavailable,
      absl::StrCat("monitors asked: ",
                   absl::CHexEscape(absl::StrJoin(target.monitors, ", "))));
}

/// The "prefix" of a command, which names it without its arguments.
std::string CommandName(const std::string& json) {
  const nlohmann::json command = ParseJson(json);
  if (command.is_object()) {
    const auto prefix = command.find("prefix");
    if (prefix != command.end() && prefix->is_string()) {
      return absl::CHexEscape(prefix->get<std::string>());
    }
  }
  return "(not JSON)";
}

}  // namespace

absl::StatusOr<std::shared_ptr<RadosConnection>> RadosConnection::Connect(
    const ClientEnvironment& environment, const ClusterTarget& target,
    const CephUser& user, ConnectionUse use) {
  const ConnectionTimeouts& timeouts = environment.timeouts;
  const std::string what =
      absl::StrCat("Failed to connect to ", ClusterName(target));
  if (user.id.empty()) {
    return absl::UnauthenticatedError(absl::StrCat(
        what, ": the user is empty; correct userID in the secret"));
  }
  absl::StatusOr<std::string> mon_host =
      MonHost(*environment.resolver, target.monitors,
              std::chrono::steady_clock::now() +
                  std::max<std::chrono::seconds>(timeouts.connect,
                                                 std::chrono::seconds(1)));
  if (!mon_host.ok()) return Annotate(mon_host.status(), what);

  ClusterHandle cluster;
  // rados_create() would leave options without effect until it is connected,
  // and print what goes wrong before to standard error; with a cluster name
  // they hold from the start.
  const int created = cluster.Keep(rados_create2(
      cluster.Receive(), "ceph", absl::StrCat("client.", user.id).c_str(), 0));
  if (created < 0) {
    return CephError(created, "create a client for", ClusterName(target));
  }
  if (absl::Status status = Configure(cluster.get(), *mon_host, use, timeouts);
      !status.ok()) {
    return Annotate(status, what);
  }
  const absl::StatusOr<unsigned> key_type = SetKey(cluster.get(), user);
  if (!key_type.ok()) return Annotate(key_type.status(), what);
  const int connected = environment.gate->Call(
      "rados_connect", [&] { return rados_connect(cluster.get()); });
  if (connected != 0) return ConnectError(connected, target, user, *key_type);
  return std::shared_ptr<RadosConnection>(new RadosConnection(
      environment.gate, target.cluster_id, use, std::move(cluster)));
}

RadosConnection::RadosConnection(std::shared_ptr<CallGate> gate,
                                 ClusterId cluster_id, ConnectionUse use,
                                 ClusterHandle cluster)
    : gate_(std::move(gate)),
      cluster_id_(std::move(cluster_id)),
      use_(use),
      cluster_(std::move(cluster)),
      client_id_(rados_get_instance_id(cluster_.get())) {}

RadosConnection::~RadosConnection() = default;

int RadosConnection::Call(absl::string_view name,
                          absl::FunctionRef<int()> call) {
  const int result = gate_->Call(name, call);
  if (result == -ESHUTDOWN && !dead_.exchange(true)) {
    Log().warn(
        "this client was put on the blocklist, its connection is replaced "
        "cluster={} client={} call={}",
        Quoted(cluster_id_.text()), client_id_, Quoted(name));
  }
  refusals_.Note(name, result);
  return result;
}

absl::StatusOr<std::string> RadosConnection::Fsid() {
  std::array<char, 64> text{};
  const int result = Call("rados_cluster_fsid", [&] {
    return rados_cluster_fsid(cluster_.get(), text.data(), text.size());
  });
  if (result < 0) {
    return CephError(result, "read the fsid of",
                     absl::StrCat("cluster '", cluster_id_.text(), "'"));
  }
  return std::string(text.data());
}

absl::StatusOr<std::string> RadosConnection::Option(const std::string& name) {
  constexpr size_t kLongest = 4096;
  std::string value(kLongest, '\0');
  const int result = Call("rados_conf_get", [&] {
    return rados_conf_get(cluster_.get(), name.c_str(), value.data(),
                          value.size());
  });
  if (result < 0) {
    return CephError(result, "read Ceph option", absl::StrCat("'", name, "'"));
  }
  return std::string(value.c_str());
}

std::string RadosConnection::Addresses() {
  RadosBuffer text;
  const int result = Call("rados_getaddrs", [&] {
    return text.Keep(rados_getaddrs(cluster_.get(), text.Receive()));
  });
  return result < 0 || !text ? "" : text.get();
}

absl::Status RadosConnection::WaitForLatestMap() {
  const int result = Call("rados_wait_for_latest_osdmap", [&] {
    return rados_wait_for_latest_osdmap(cluster_.get());
  });
  return result < 0 ? LatestMapError(result) : absl::OkStatus();
}

absl::Status RadosConnection::LatestMapError(int result) const {
  return addons::CommandError(
      result, "get the newest OSD map of",
      absl::StrCat("cluster '", absl::CHexEscape(cluster_id_.text()), "'"));
}

absl::Status RadosConnection::CheckPoolExists(int64_t pool_id) {
  {
    MutexLock lock(mutex_);
    if (known_pools_.count(pool_id) != 0) return absl::OkStatus();
  }
  const std::string pool = absl::StrCat("pool with id ", pool_id);
  absl::StatusOr<std::string> pools =
      MonCommand(R"({"prefix": "osd lspools", "format": "json"})");
  // Caps without this command are none of our business here.
  if (CephErrno(pools.status()) == EACCES) return absl::OkStatus();
  if (!pools.ok()) {
    return Annotate(pools.status(), absl::StrCat("Failed to find ", pool));
  }
  const nlohmann::json list = ParseJson(*pools);
  if (!list.is_array()) {
    return absl::InternalError(
        absl::StrCat("Failed to find ", pool, ": the pool list is not JSON"));
  }
  const bool found =
      std::any_of(list.begin(), list.end(), [&](const nlohmann::json& entry) {
        const auto number = entry.find("poolnum");
        return number != entry.end() && number->is_number_integer() &&
               number->get<int64_t>() == pool_id;
      });
  if (found) return absl::OkStatus();
  return CephError(-ENOENT, "find",
                   absl::StrCat(pool, " in cluster '",
                                absl::CHexEscape(cluster_id_.text()), "'"));
}

absl::StatusOr<IoctxHandle> RadosConnection::OpenIoctx(
    int64_t pool_id, const std::string& rados_namespace) {
  // For an id that it does not know, rados_ioctx_create2 waits for the newest
  // map without any bound when the monitors hang. The command before has one.
  ADDONS_RETURN_IF_ERROR(CheckPoolExists(pool_id));
  IoctxHandle ioctx;
  const int result = Call("rados_ioctx_create2", [&] {
    return ioctx.Keep(
        rados_ioctx_create2(cluster_.get(), pool_id, ioctx.Receive()));
  });
  {
    MutexLock lock(mutex_);
    if (result < 0) {
      known_pools_.erase(pool_id);
    } else {
      known_pools_.insert(pool_id);
    }
  }
  if (result < 0) {
    return CephError(result, "open",
                     absl::StrCat("pool with id ", pool_id, " in cluster '",
                                  absl::CHexEscape(cluster_id_.text()), "'"));
  }
  rados_set_pool_full_try(ioctx.get());
  rados_ioctx_set_namespace(ioctx.get(), rados_namespace.c_str());
  return ioctx;
}

absl::StatusOr<std::string> RadosConnection::MonCommand(
    const std::string& json) {
  return Command("rados_mon_command", &rados_mon_command, "monitor", json);
}

absl::StatusOr<std::string> RadosConnection::MgrCommand(
    const std::string& json) {
  return Command("rados_mgr_command", &rados_mgr_command, "manager", json);
}

absl::Status RadosConnection::MgrCommandTimeout(const std::string& json) const {
  return CommandError(-ETIMEDOUT, "manager", json);
}

absl::Status RadosConnection::CommandError(int result, absl::string_view daemon,
                                           const std::string& json) const {
  return addons::CommandError(
      result, absl::StrCat("run ", daemon, " command"),
      absl::StrCat("'", CommandName(json), "' on cluster '",
                   absl::CHexEscape(cluster_id_.text()), "'"));
}

absl::StatusOr<std::string> RadosConnection::Command(absl::string_view name,
                                                     CommandFn function,
                                                     absl::string_view daemon,
                                                     const std::string& json) {
  const char* command = json.c_str();
  RadosBuffer output;
  RadosBuffer status_text;
  size_t output_size = 0;
  size_t status_size = 0;
  const int result = Call(name, [&] {
    return function(cluster_.get(), &command, 1, "", 0, output.Receive(),
                    &output_size, status_text.Receive(), &status_size);
  });
  // Every number but 0 is an error, also a positive one. Some
  // commands end their output with a line end, others do not.
  if (result == 0) {
    return std::string(absl::StripTrailingAsciiWhitespace(
        absl::string_view(output.get(), output_size)));
  }
  absl::Status status = CommandError(result, daemon, json);
  const std::string said =
      absl::CHexEscape(absl::StripAsciiWhitespace(
                           absl::string_view(status_text.get(), status_size))
                           .substr(0, kShownStatusText));
  if (said.empty()) return status;
  return WithMore(status, status.code(), said);
}

}  // namespace addons
