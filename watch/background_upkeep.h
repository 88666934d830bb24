#ifndef ADDONS_WATCH_BACKGROUND_UPKEEP_H_
#define ADDONS_WATCH_BACKGROUND_UPKEEP_H_

#include <stop_token>

#include "base/periodic.h"
#include "operation/operation_table.h"
#include "replication/environment.h"

namespace addons {

/// Sets the schedules of environment.due_schedules by itself, when the manager
/// answers again: goes through them every options.upkeep_interval, one after
/// the other, with the user of the promotion. A cluster whose manager does not
/// answer still is not asked again in the same round. Costs nothing while none
/// is due. The destructor ends a round that runs.
class BackgroundUpkeep {
 public:
  /// Nothing is owned; both outlive it.
  BackgroundUpkeep(OperationTable& operations,
                   ReplicationEnvironment& environment);
  ~BackgroundUpkeep();
  BackgroundUpkeep(const BackgroundUpkeep&) = delete;
  BackgroundUpkeep& operator=(const BackgroundUpkeep&) = delete;

 private:
  void RunRound();

  OperationTable& operations_;
  ReplicationEnvironment& environment_;
  std::stop_source stop_;
  const Periodic rounds_;  // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_WATCH_BACKGROUND_UPKEEP_H_
