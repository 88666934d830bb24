#include "operation/operation_table.h"

#include <utility>

#include "base/later.h"
#include "operation/table/state.h"

namespace addons {

OperationTable::OperationTable(OperationLimits limits, Clock& clock)
    : state_(std::make_shared<TableState>(limits, clock)) {}

OperationTable::~OperationTable() {
  state_->Drain(std::chrono::milliseconds(0));
  state_->EndThreads();
}

void OperationTable::Start(const OperationSpec& spec, const Caller& caller,
                           OperationWork work, OnAnswer on_answer) {
  const std::shared_ptr<TableState> state = state_;
  state->Start(spec, caller, std::move(work), std::move(on_answer));
}

absl::StatusOr<std::any> OperationTable::Run(const OperationSpec& spec,
                                             const Caller& caller,
                                             OperationWork work) {
  return Await(Later<absl::StatusOr<std::any>>::From([&](OnAnswer on_answer) {
    Start(spec, caller, std::move(work), std::move(on_answer));
  }));
}

std::vector<OperationInfo> OperationTable::List() const {
  return state_->List();
}

std::vector<EndedOperation> OperationTable::Ended() const {
  return state_->Ended();
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
