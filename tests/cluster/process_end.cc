#include "tests/cluster/process_end.h"

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace addons::testing {
namespace {

std::string FirstLine(const std::string& path, const std::string& beginning) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, beginning)) return line;
  }
  return "";
}

std::string OutputOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return "";
  std::string output;
  std::array<char, 4096> buffer{};
  for (size_t size = 0;
       (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), size);
  }
  pclose(pipe);
  return output;
}

}  // namespace

std::string EndText(const siginfo_t& end) {
  if (end.si_code == CLD_EXITED) {
    return absl::StrCat("exit code ", end.si_status);
  }
  const char* const name = sigdescr_np(end.si_status);
  return absl::StrCat("signal ", end.si_status, " (",
                      name == nullptr ? "unknown" : name, ")");
}

std::string LastLines(const std::string& path, size_t count) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(std::move(line));
    if (lines.size() > count) lines.pop_front();
  }
  return absl::StrJoin(lines, "\n");
}

std::string MachineText() {
  return absl::StrCat(FirstLine("/proc/meminfo", "MemAvailable:"), "; load ",
                      FirstLine("/proc/loadavg", ""));
}

void AllowCore() {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
}

std::string BackTrace(const std::string& program, const std::string& folder,
                      pid_t pid) {
  for (const std::string& name :
       {std::string("core"), absl::StrCat("core.", pid)}) {
    const std::string core = absl::StrCat(folder, "/", name);
    std::error_code error;
    if (!std::filesystem::exists(core, error)) continue;
    const std::string text = OutputOf(
        absl::StrCat("gdb -batch -nx -ex 'thread apply all backtrace 30' '",
                     program, "' '", core, "' 2>/dev/null </dev/null"));
    std::filesystem::remove(core, error);
    return text;
  }
  return "";
}

}  // namespace addons::testing
