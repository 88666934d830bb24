#ifndef ADDONS_CLI_DOCTOR_H_
#define ADDONS_CLI_DOCTOR_H_

#include <chrono>
#include <string>
#include <vector>

#include "cli/palette.h"
#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// What a person asks about an installation.
struct DoctorCommand {
  std::string endpoint;
  bool before_handover = false;
  std::vector<std::string> confirmed;  // checks that a person has made
  bool all = false;                    // also what is in order
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Asks, and prints what was found. Returns the exit code: 0 when nothing is a
/// problem, unclear or for a person to confirm, kWouldNotWork when something
/// is, kCliUsage or the number of the gRPC code when nothing was found out.
int RunDoctor(const DoctorCommand& command, Streams& streams);

/// A paragraph for each finding that is not in order (with `all` for each), the
/// numbers, and what to type next where it is not in order.
std::string DoctorText(const ::rbdaddons::admin::v1::DiagnoseResponse& found,
                       bool all, const Palette& palette = {});

}  // namespace addons

#endif  // ADDONS_CLI_DOCTOR_H_
