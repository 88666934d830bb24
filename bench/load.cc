// Calls one method of a CSI-Addons server, this one or another, from many
// threads, and prints how long the calls took and what they cost the server.
// scripts/bench.sh drives it.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/row.h"
#include "cli/call.h"
#include "cli/channel.h"
#include "cli/methods.h"
#include "cli/streams.h"

namespace addons {
namespace {

using std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Options {
  std::string endpoint;
  std::string method;
  std::string requests_file;
  std::string secrets_file;
  std::string name;
  int concurrency = 1;
  int times = 1;
  int timeout_s = 150;
  int pid = 0;
  bool header = false;
  bool json = false;
};

/// Of a process of this machine. Linux, /proc/PID/{stat,status}.
absl::StatusOr<Usage> UsageOf(int pid) {
  Usage usage;
  if (pid == 0) return usage;
  const std::string folder = absl::StrCat("/proc/", pid, "/");
  ADDONS_ASSIGN_OR_RETURN(const std::string stat,
                          ReadFile(absl::StrCat(folder, "stat")));
  // The name in brackets may hold spaces; utime and stime are 11 fields on.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  fields >> user >> system;
  usage.cpu_s = static_cast<double>(user + system) /
                static_cast<double>(sysconf(_SC_CLK_TCK));
  ADDONS_ASSIGN_OR_RETURN(const std::string status,
                          ReadFile(absl::StrCat(folder, "status")));
  std::istringstream lines(status);
  for (std::string key; lines >> key;) {
    if (key == "VmRSS:") {
      lines >> usage.resident_mib;
      usage.resident_mib /= 1024;
    } else if (key == "Threads:") {
      lines >> usage.threads;
    }
  }
  return usage;
}

using Requests = std::vector<std::unique_ptr<google::protobuf::Message>>;

/// One request per line of the file.
absl::StatusOr<Requests> ReadRequests(
    const Options& options, const google::protobuf::MethodDescriptor& method) {
  ADDONS_ASSIGN_OR_RETURN(const std::string secrets,
                          ReadOptionalFile(options.secrets_file));
  std::string text = "{}\n";
  if (!options.requests_file.empty()) {
    ADDONS_ASSIGN_OR_RETURN(text, ReadFile(options.requests_file));
  }
  Requests requests;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    ADDONS_ASSIGN_OR_RETURN(
        auto request, MakeRequest(method, line, TextSource::kInput, secrets));
    requests.push_back(std::move(request));
  }
  if (requests.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.requests_file, " has no request"));
  }
  return requests;
}

absl::StatusOr<Row> Run(const Options& options) {
  ADDONS_ASSIGN_OR_RETURN(const auto* method, FindMethod(options.method));
  ADDONS_ASSIGN_OR_RETURN(const Requests requests,
                          ReadRequests(options, *method));
  ADDONS_ASSIGN_OR_RETURN(const auto channel, OpenChannel(options.endpoint));
  const size_t total = requests.size() * static_cast<size_t>(options.times);
  std::vector<double> took(total);
  std::vector<std::string> errors(total);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < total; i = next++) {
      const auto response = NewMessage(*method->output_type());
      const auto begin = steady_clock::now();
      const absl::Status status =
          CallMethod(channel, *method, *requests[i % requests.size()],
                     std::chrono::seconds(options.timeout_s), *response);
      took[i] = Milliseconds(steady_clock::now() - begin).count();
      if (!status.ok()) errors[i] = absl::StatusCodeToString(status.code());
    }
  };
  Row row;
  row.name = options.name;
  row.method = options.method;
  row.concurrency = options.concurrency;
  ADDONS_ASSIGN_OR_RETURN(row.before, UsageOf(options.pid));
  const auto begin = steady_clock::now();
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < options.concurrency; ++i) workers.emplace_back(work);
  }
  row.wall_s =
      std::chrono::duration<double>(steady_clock::now() - begin).count();
  ADDONS_ASSIGN_OR_RETURN(row.after, UsageOf(options.pid));
  row.took_ms = std::move(took);
  for (const std::string& error : errors) {
    if (!error.empty()) ++row.errors[error];
  }
  return row;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Calls one method of a CSI-Addons server many times, and prints how long "
      "the calls took (median, 99th percentile), how many there were in a "
      "second, and the server's CPU time per call, memory and threads.");
  app.add_option("method", options.method,
                 "as for \"rbd-addons call\": Probe, PromoteVolume, ...")
      ->required();
  app.add_option("--endpoint", options.endpoint, "unix://PATH of the server")
      ->required();
  app.add_option("--requests", options.requests_file,
                 "one request per line, as JSON; none: one empty request");
  app.add_option("--secrets-file", options.secrets_file,
                 "JSON object that is added to each request as its secrets");
  app.add_option("--concurrency", options.concurrency, "callers at a time")
      ->check(CLI::Range(1, 10000));
  app.add_option("--times", options.times, "passes over the requests")
      ->check(CLI::Range(1, 10000000));
  app.add_option("--timeout", options.timeout_s, "of each call, in seconds")
      ->check(CLI::Range(1, 3600));
  app.add_option("--pid", options.pid, "of the server, for CPU and memory");
  app.add_option("--name", options.name, "of the row; default: the method");
  app.add_flag("--header", options.header, "prints the columns' names first");
  app.add_flag("--json", options.json, "prints an object in place of a row");
  CLI11_PARSE(app, argc, argv);
  if (options.name.empty()) options.name = options.method;
  const auto row = Run(options);
  if (!row.ok()) {
    std::fprintf(stderr, "rbd-addons-load: %s\n",
                 std::string(row.status().message()).c_str());
    return 2;
  }
  Print(*row, options.json, options.header);
  return row->errors.empty() ? 0 : 1;
}

}  // namespace
}  // namespace addons

int main(int argc, char** argv) {
  try {
    return addons::Main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rbd-addons-load: %s\n", e.what());
    return 2;
  }
}
