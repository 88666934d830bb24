// How long a server takes from its start to the answer to the first Probe.
// scripts/bench.sh drives it.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/row.h"
#include "cli/call.h"
#include "cli/channel.h"
#include "cli/methods.h"

namespace addons {
namespace {

using std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::microseconds kPoll{200};

struct Options {
  std::string socket;
  std::string name = "start to first Probe";
  std::vector<std::string> command;
  int times = 20;
  bool header = false;
  bool json = false;
};

/// A server that runs until this dies.
class Server {
 public:
  explicit Server(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // What it logs is no part of the answer.
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    const int failed = posix_spawn(&pid_, arguments[0], &actions, nullptr,
                                   arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) pid_ = 0;
  }
  ~Server() {
    if (pid_ == 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool started() const { return pid_ != 0; }

 private:
  pid_t pid_ = 0;
};

/// Without gRPC's own pauses between two tries to connect.
absl::Status AwaitListening(const std::string& path) {
  const auto until = steady_clock::now() + kPatience;
  while (!CheckListener(path).ok()) {
    if (steady_clock::now() >= until) {
      return absl::DeadlineExceededError(
          absl::StrCat("nobody listens at ", path));
    }
    std::this_thread::sleep_for(kPoll);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> StartOnce(const Options& options) {
  ADDONS_ASSIGN_OR_RETURN(const auto* method,
                          FindMethod("identity.Identity/Probe"));
  const auto request = NewMessage(*method->input_type());
  const auto response = NewMessage(*method->output_type());
  const auto begin = steady_clock::now();
  const Server server(options.command);
  if (!server.started()) {
    return absl::NotFoundError(
        absl::StrCat("cannot start ", options.command.front()));
  }
  ADDONS_RETURN_IF_ERROR(AwaitListening(options.socket));
  ADDONS_ASSIGN_OR_RETURN(const auto channel,
                          OpenChannel(absl::StrCat("unix://", options.socket)));
  ADDONS_RETURN_IF_ERROR(
      CallMethod(channel, *method, *request, kPatience, *response));
  return Milliseconds(steady_clock::now() - begin).count();
}

absl::StatusOr<Row> Run(const Options& options) {
  Row row;
  row.name = options.name;
  row.method = "start";
  for (int i = 0; i < options.times; ++i) {
    ADDONS_ASSIGN_OR_RETURN(const double took, StartOnce(options));
    row.took_ms.push_back(took);
    row.wall_s += took / 1000;
  }
  return row;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Starts a CSI-Addons server many times, and prints how long each start "
      "took until the first Probe was answered.");
  app.add_option("--socket", options.socket, "path that the server listens at")
      ->required();
  app.add_option("--times", options.times, "starts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--name", options.name, "of the row");
  app.add_flag("--header", options.header, "prints the columns' names first");
  app.add_flag("--json", options.json, "prints an object in place of a row");
  app.add_option("command", options.command, "program and arguments, after --")
      ->required();
  CLI11_PARSE(app, argc, argv);
  const auto row = Run(options);
  if (!row.ok()) {
    std::fprintf(stderr, "rbd-addons-start: %s\n",
                 std::string(row.status().message()).c_str());
    return 2;
  }
  Print(*row, options.json, options.header);
  return 0;
}

}  // namespace
}  // namespace addons

int main(int argc, char** argv) {
  try {
    return addons::Main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rbd-addons-start: %s\n", e.what());
    return 2;
  }
}
