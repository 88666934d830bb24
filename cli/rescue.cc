#include "cli/rescue.h"

#include "absl/strings/str_cat.h"
#include "cli/confirm.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

constexpr char kKeepLoses[] =
    "To keep what is in the image drops its last complete state for good: what "
    "stays is a mixture of two states and what was written since.\n";
constexpr char kRestoreLoses[] =
    "To restore writes the last complete state over what is in the image: what "
    "was written since the forced promotion is lost.\n";

}  // namespace

std::string RescueText(const admin_pb::DecideRescueResponse& rescue) {
  std::string text;
  if (!rescue.rescue_image().empty()) {
    absl::StrAppend(
        &text, "rescue image  ",
        CleanLine(rescue.rescue_image(), kMaxShownName), "\nstep          ",
        CleanLine(rescue.step(), kMaxShownName), "\nsaved state   ",
        rescue.bytes(), " bytes\ndecision      ",
        rescue.decision().empty()
            ? (rescue.undecided() ? "none, it waits for one" : "none")
            : CleanLine(rescue.decision(), kMaxShownName),
        "\n");
  }
  absl::StrAppend(&text, CleanLine(rescue.message(), kMaxShownText), "\n");
  return text;
}

int RunRescue(const RescueCommand& command, Streams& streams) {
  admin_pb::DecideRescueRequest request;
  request.set_volume_id(command.id);
  if (command.keep) request.set_decision(admin_pb::DecideRescueRequest::KEEP);
  if (command.restore)
    request.set_decision(admin_pb::DecideRescueRequest::RESTORE);
  if ((command.keep || command.restore) && !command.yes &&
      !SaysYes(command.keep ? kKeepLoses : kRestoreLoses,
               absl::StrCat("volume ", TypedName(command.id, streams)),
               streams)) {
    return kCliUsage;
  }
  admin_pb::DecideRescueResponse rescue;
  const absl::Status called = AskWithSecrets(command, request, rescue, streams);
  if (!called.ok()) return FailCall(called, streams);
  return YieldMessage(rescue, RescueText(rescue), streams);
}

}  // namespace addons
