#include "tests/cluster/testbed.h"

#include <array>
#include <cstdio>
#include <stop_token>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/clock.h"

namespace addons::testing {
namespace {

std::string ShellQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace

absl::StatusOr<std::string> RunTestbed(const std::vector<std::string>& args,
                                       std::chrono::seconds limit) {
  // A test that is killed takes with it what it waits for: a client of a
  // cluster that has ended would wait for ever. But what is cleaned up is.
  const bool cleans = !args.empty() && args.front() == "down";
  std::string command = absl::StrCat(
      "exec ", cleans ? "" : "setpriv --pdeathsig TERM ",
      limit.count() == 0 ? ""
                         : absl::StrCat("timeout -k 5 ", limit.count(), " "),
      "bash ", ShellQuoted(ADDONS_TESTBED));
  for (const std::string& arg : args) {
    absl::StrAppend(&command, " ", ShellQuoted(arg));
  }
  FILE* const pipe = popen(absl::StrCat(command, " </dev/null").c_str(), "re");
  if (pipe == nullptr) return absl::InternalError("popen failed");
  std::string output;
  std::array<char, 4096> buffer{};
  for (size_t size = 0;
       (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  if (status != 0) {
    return absl::InternalError(
        absl::StrCat(command, " ended with status ", status, ": ", output));
  }
  return std::string(absl::StripSuffix(output, "\n"));
}

bool Eventually(const std::function<bool()>& condition,
                std::chrono::seconds limit) {
  const SteadyTime until = RealClock().Now() + limit;
  while (!condition()) {
    if (RealClock().Now() >= until) return false;
    RealClock().SleepFor(std::chrono::milliseconds(100), std::stop_token());
  }
  return true;
}

}  // namespace addons::testing
