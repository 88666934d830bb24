#include "replication/resync_log.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/without_numbers.h"

namespace addons {
namespace {

constexpr std::chrono::minutes kQuietTime(10);

}  // namespace

void ResyncLog::Answered(const std::string& object, bool ready,
                         absl::string_view message, SteadyTime now) {
  std::string text = WithoutNumbers(message);
  {
    const MutexLock lock(mutex_);
    if (last_.size() >= kMostObjects) {
      std::erase_if(last_, [now](const auto& entry) {
        return now - entry.second.logged >= kQuietTime;
      });
      if (last_.size() >= kMostObjects) last_.clear();
    }
    const auto [it, is_new] = last_.try_emplace(object);
    Answer& last = it->second;
    if (!is_new && last.ready == ready && last.text == text &&
        now - last.logged < kQuietTime) {
      return;
    }
    last = Answer{ready, std::move(text), now};
  }
  Log().info("resync of {}: ready={} {}", object, ready, std::string(message));
}

}  // namespace addons
