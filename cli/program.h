#ifndef ADDONS_CLI_PROGRAM_H_
#define ADDONS_CLI_PROGRAM_H_

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

/// How commands take a volume.
inline constexpr char kVolumeText[] =
    "The volume: its id, POOL/IMAGE, POOL/NAMESPACE/IMAGE, or the name of its "
    "PersistentVolume";

/// The options that many verbs have. Only one verb is given at a time.
struct Options {
  std::string endpoint;        // of CSI-Addons
  std::string admin_endpoint;  // of the administrators' services
  double timeout_seconds = 180;
  SecretsSource secrets;
  std::string pool;     // where volumes are looked for by their names
  std::string cluster;  // the same
  std::string output = "text";
  bool verbose = false;
  std::string watch;  // seconds; empty: once
  bool ends_with_input = false;
};

/// The subcommands of the program, each with what it does. Completion, the
/// manual page and --help are made of it.
class Program {
 public:
  using Run = std::function<int(Streams& streams)>;
  struct Verb {
    const CLI::App* app;
    Run run;
  };
  enum class MayBeWatched { kNo, kYes };

  Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  CLI::App& app() { return app_; }
  const CLI::App& app() const { return app_; }
  Options& options() { return options_; }
  const std::vector<Verb>& verbs() const { return verbs_; }

  /// `sub`, which has its own options already, is a verb: it gets those that
  /// all verbs have, and is done by `run`, which returns the exit code.
  void AddVerb(CLI::App& sub, Run run,
               MayBeWatched watched = MayBeWatched::kNo);

  /// The same without those: what it prints has one form.
  void AddPlainVerb(CLI::App& sub, Run run);

  /// Makes ids of those of `volumes` that are names, once, see FindVolumeIds().
  int FindIds(const std::vector<std::string*>& volumes, Streams& streams);

 private:
  CLI::App app_;
  Options options_;
  std::vector<Verb> verbs_;
  bool found_ids_ = false;
};

std::chrono::milliseconds Milliseconds(double seconds);
std::chrono::milliseconds TimeoutOf(const Options& options);

/// The administrators' socket of the daemon that --endpoint names. Who points
/// one of the two sockets at another daemon has to point the other one there,
/// too: what one daemon says must not be done by another. INVALID_ARGUMENT
/// says so.
absl::StatusOr<std::string> AdminEndpoint(const Options& options);

/// Tells `command` where the daemon is, how long to wait for it, and with which
/// Ceph user.
template <typename Command>
void AimAtDaemon(const Options& options, Command& command) {
  command.endpoint = options.endpoint;
  command.timeout = TimeoutOf(options);
  command.secrets = options.secrets;
  if constexpr (requires { command.admin_endpoint; }) {
    command.admin_endpoint = AdminEndpoint(options).value_or("");
  }
}

/// The same for one of the administrators' questions.
template <typename Command>
void AimAtAdminSocket(const Options& options, Command& command) {
  AimAtDaemon(options, command);
  command.endpoint = options.admin_endpoint;
}

/// --end-with-input, which all verbs have.
void AddInputEndOption(CLI::App& command, Options& options);
/// Which Ceph user a call is made with.
void AddUserOptions(CLI::App& command, SecretsSource& secrets);
/// Which sockets of the daemon a command talks to.
enum class Sockets { kCallers, kAdmin, kBoth };
/// --endpoint and --admin-endpoint.
void AddSocketOptions(CLI::App& command, Options& options, Sockets sockets);
/// The same, and --timeout.
void AddConnectionOptions(CLI::App& command, Options& options, Sockets sockets);
/// `of` is what the parameters are of, with an example. One that is none is
/// refused before anything is asked.
void AddParameters(CLI::App& command, std::vector<std::string>& parameters,
                   const std::string& of);
/// As promote gets them.
void AddClassParameters(CLI::App& command,
                        std::vector<std::string>& parameters);
/// For Program::FindIds().
std::vector<std::string*> PointersTo(std::vector<std::string>& texts);
/// For commands that take volumes by name. `group` says that it is none.
void AddVolumePlaceOptions(CLI::App& command, Options& options,
                           CLI::Option* group = nullptr);
/// `before` is what is asked otherwise.
void AddYes(CLI::App& command, bool& yes, const std::string& before);

}  // namespace addons

#endif  // ADDONS_CLI_PROGRAM_H_
