#include "operation/operation_table.h"

#include <utility>

#include "operation/table/state.h"

namespace addons {

OperationTable::OperationTable(OperationLimits limits, Clock& clock)
    : state_(std::make_shared<TableState>(limits, clock)) {}

OperationTable::~OperationTable() {
  state_->Drain(std::chrono::milliseconds(0));
  state_->EndThreads();
}

absl::StatusOr<std::any> OperationTable::Run(const OperationSpec& spec,
                                             const Caller& caller,
                                             OperationWork work) {
  const std::shared_ptr<TableState> state = state_;
  return state->Run(spec, caller, std::move(work));
}

std::vector<OperationInfo> OperationTable::List() const {
  return state_->List();
}

OperationStats OperationTable::stats() const { return state_->stats(); }

const OperationLimits& OperationTable::limits() const {
  return state_->limits();
}

absl::StatusOr<OperationInfo> OperationTable::Cancel(uint64_t id) {
  return state_->Cancel(id);
}

std::vector<OperationInfo> OperationTable::Drain(
    std::chrono::milliseconds grace) {
  return state_->Drain(grace);
}

}  // namespace addons
