#include "tests/fakes/paced_clock.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace addons {
namespace {

/// Against a thread that never rests.
constexpr int kLongestWaitMs = 2000;

/// Linux, /proc/PID/task/TID/stat: the state stands behind the name in
/// brackets, which may itself hold any character.
bool HasWork(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  std::string text;
  std::getline(file,
               text);  // fails, and does not throw, when the task has ended
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() &&
         text[name_end + 2] == 'R';
}

bool OthersHaveWork() {
  const std::string own = std::to_string(gettid());
  std::error_code error;
  std::filesystem::directory_iterator task("/proc/self/task", error);
  while (!error && task != std::filesystem::directory_iterator()) {
    const std::filesystem::path& path = task->path();
    if (path.filename() != own && HasWork(path)) return true;
    task.increment(error);
  }
  return false;
}

}  // namespace

void PacedClock::AwaitIdleProcess(const std::stop_token& stop) {
  for (int i = 0; i < kLongestWaitMs; ++i) {
    // Also lets those run that this thread has just woken.
    RealClock().SleepFor(std::chrono::milliseconds(1), stop);
    if (stop.stop_requested() || !OthersHaveWork()) return;
  }
}

}  // namespace addons
