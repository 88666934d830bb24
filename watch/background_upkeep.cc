#include "watch/background_upkeep.h"

#include <set>

#include "base/log.h"
#include "replication/steps/upkeep.h"

namespace addons {
namespace {

/// How long one volume may keep the others waiting.
constexpr std::chrono::seconds kPatience{30};

}  // namespace

BackgroundUpkeep::BackgroundUpkeep(OperationTable& operations,
                                   ReplicationEnvironment& environment)
    : operations_(operations),
      environment_(environment),
      rounds_("upkeep", environment.options.upkeep_interval,
              [this] { RunRound(); }) {}

BackgroundUpkeep::~BackgroundUpkeep() { stop_.request_stop(); }

void BackgroundUpkeep::RunRound() {
  std::set<ClusterId> away;
  for (const DueSchedules::Due& due : environment_.due_schedules.All()) {
    if (stop_.stop_requested()) return;
    const auto key = environment_.resolver.KeyOfVolume(due.volume_id);
    const ClusterId cluster = key.ok() ? key->cluster_id : ClusterId();
    if (away.contains(cluster)) continue;
    Caller caller;
    caller.deadline = RealClock().Now() + kPatience;
    caller.gone = stop_.get_token();
    caller.request_id = "upkeep";
    const absl::Status kept = Await(RunKeepUp(
        operations_, environment_, {due.volume_id, due.user}, caller));
    // Anything else is up to a person, or to the next replication info or
    // promote.
    if (MayPass(kept) || absl::IsCancelled(kept)) {
      away.insert(cluster);
      continue;
    }
    environment_.due_schedules.Remove(due.volume_id);
    if (kept.ok()) {
      Log().info("the mirror snapshot schedule that was due is set volume={}",
                 Quoted(due.volume_id.text()));
    } else {
      Log().warn(
          "the mirror snapshot schedule that was due is not set volume={}: {}",
          Quoted(due.volume_id.text()), Quoted(kept.message()));
    }
  }
}

}  // namespace addons
