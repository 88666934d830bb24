#include "points/point_keeper.h"

#include <any>
#include <utility>

#include "operation/run_operation.h"

namespace addons {

PointKeeper::PointKeeper(OperationTable& operations,
                         ReplicationEnvironment& environment,
                         std::chrono::milliseconds round)
    : rounds_(std::make_shared<PointRounds>(
          environment,
          [this, &operations](const OperationSpec& spec,
                              std::chrono::seconds patience,
                              OperationWork work) -> absl::StatusOr<std::any> {
            if (stop_.stop_requested()) {
              return absl::CancelledError("this daemon ends");
            }
            Caller caller;
            caller.deadline = RealClock().Now() + patience;
            caller.gone = stop_.get_token();
            caller.request_id = "points";
            return Await(
                StartOperation(operations, spec, caller, std::move(work)));
          })),
      makes_("point-maker", round, [this] { rounds_->Make(); }),
      reads_("point-reader", round, [this] { rounds_->Read(); }) {}

PointKeeper::~PointKeeper() { stop_.request_stop(); }

}  // namespace addons
