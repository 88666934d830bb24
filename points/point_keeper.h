#ifndef ADDONS_POINTS_POINT_KEEPER_H_
#define ADDONS_POINTS_POINT_KEEPER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>

#include "base/periodic.h"
#include "operation/operation_table.h"
#include "points/point_rounds.h"
#include "replication/environment.h"

namespace addons {

/// The rounds of PointRounds by themselves, as operations of the table, with
/// the users of the calls that brought the plans. Costs nothing while there is
/// no plan. The destructor ends what runs. Thread-safe.
class PointKeeper {
 public:
  static constexpr std::chrono::seconds kRound{20};

  /// Nothing is owned; both outlive it.
  PointKeeper(OperationTable& operations, ReplicationEnvironment& environment,
              std::chrono::milliseconds round = kRound);
  ~PointKeeper();
  PointKeeper(const PointKeeper&) = delete;
  PointKeeper& operator=(const PointKeeper&) = delete;

  /// Gives what came of the plans. Does not block; may be called when this is
  /// gone, as long as the environment lives.
  std::function<PlannedPointCounts()> counts() const {
    return [rounds = rounds_] { return rounds->counts(); };
  }

 private:
  std::stop_source stop_;
  const std::shared_ptr<PointRounds> rounds_;
  const Periodic makes_;
  const Periodic reads_;  // these two last: they use what is above
};

}  // namespace addons

#endif  // ADDONS_POINTS_POINT_KEEPER_H_
