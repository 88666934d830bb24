#include "tests/fakes/paced_clock.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"

namespace addons {
namespace {

/// Against a thread that never rests.
constexpr std::chrono::seconds kLongestWait{60};

/// How often each thread has been given a processor, by its number.
using Turns = std::map<std::string, std::vector<std::string>>;

/// The threads but this one, when none of them has work; nullopt: one has.
/// Linux, /proc/PID/task/TID/status: "State:" and the two counts of context
/// switches. A thread that has ended meanwhile does not count.
std::optional<Turns> TurnsWhenIdle() {
  const std::string own = std::to_string(gettid());
  Turns turns;
  std::error_code error;
  std::filesystem::directory_iterator task("/proc/self/task", error);
  while (!error && task != std::filesystem::directory_iterator()) {
    const std::string thread = task->path().filename();
    if (thread != own) {
      std::ifstream status(task->path() / "status");
      for (std::string line; std::getline(status, line);) {
        // Running, or waiting for a page.
        if (absl::StartsWith(line, "State:\tR") ||
            absl::StartsWith(line, "State:\tD")) {
          return std::nullopt;
        }
        if (absl::StrContains(line, "ctxt_switches:")) {
          turns[thread].push_back(line);
        }
      }
    }
    task.increment(error);
  }
  return turns;
}

/// The threads are looked at one after the other, and one may hand its work to
/// another that was looked at before. When none of them had a turn between two
/// looks, all of them were idle at one time.
bool IdleProcess() {
  const std::optional<Turns> before = TurnsWhenIdle();
  return before && TurnsWhenIdle() == before;
}

}  // namespace

bool PacedClock::AwaitIdleProcess(SteadyTime due, const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  do {
    // Also lets those run that this thread has just woken.
    RealClock().SleepFor(std::chrono::milliseconds(1), stop);
    if (stop.stop_requested() || Now() >= due) return false;
    {
      const MutexLock lock(mutex_);
      if (*due_.begin() < due) return false;
    }
  } while (!IdleProcess() && std::chrono::steady_clock::now() < until);
  return true;
}

bool PacedClock::SleepUntil(SteadyTime due, std::stop_token stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  {
    const MutexLock lock(mutex_);
    due_.insert(due);
  }
  while (!stop.stop_requested() && Now() < due) {
    {
      const MutexLock lock(mutex_);
      if (looking_ || *due_.begin() < due) {
        // Whoever looks is told by his own polling that time has gone on.
        if (!stop.stop_requested() && Now() < due) changed_.Wait(mutex_);
        continue;
      }
      looking_ = true;
    }
    if (AwaitIdleProcess(due, stop)) world_.SleepUntil(due, stop);
    const MutexLock lock(mutex_);
    looking_ = false;
    changed_.NotifyAll();
  }
  const MutexLock lock(mutex_);
  due_.erase(due_.find(due));
  changed_.NotifyAll();
  return !stop.stop_requested();
}

}  // namespace addons
