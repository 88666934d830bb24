#include "operation/operation_spec.h"

#include "absl/strings/str_cat.h"

namespace addons {

absl::string_view Name(Lane lane) {
  switch (lane) {
    case Lane::kControl:
      return "control";
    case Lane::kBulk:
      return "bulk";
    case Lane::kRead:
      break;
  }
  return "read";
}

std::string FailedText(const OperationSpec& spec, absl::string_view cause) {
  return absl::StrCat("Failed to ",
                      spec.action.empty() ? spec.verb : spec.action, " ",
                      spec.object, ": ", cause);
}

}  // namespace addons
