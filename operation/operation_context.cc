#include "operation/operation_context.h"

#include "absl/strings/cord.h"

namespace addons {
namespace {

constexpr char kRunAgain[] = "rbd-addons/run-again";

}  // namespace

absl::Status RunAgain() {
  absl::Status status = absl::UnavailableError("it is looked at again");
  status.SetPayload(kRunAgain, absl::Cord());
  return status;
}

bool RunsAgain(const absl::Status& status) {
  return status.GetPayload(kRunAgain).has_value();
}

}  // namespace addons
