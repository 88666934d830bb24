#ifndef ADDONS_CLI_POINTS_H_
#define ADDONS_CLI_POINTS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/palette.h"
#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// Of what reads all of a volume: hours, where it is large.
inline constexpr double kLongReadSeconds = 86400;
/// So that writers of a small cluster hardly notice.
inline constexpr uint64_t kLongReadMebibytes = 64;  // a second

enum class PointVerb { kCreate, kList, kRemove, kRollback, kVerify };

/// A person wants a proof that the copy of a volume is whole.
struct PointCommand {
  PointVerb verb = PointVerb::kVerify;
  std::string endpoint;  // of administrators
  std::string id;        // of the volume, or group
  bool group = false;
  std::string name;  // of the point; may be empty of a new one, and of the
                     // one that is verified: the newest
  uint64_t mebibytes_per_second = 0;  // 0: as fast as it goes
  // Of a rollback:
  bool discard = false;  // what the volume holds now is not kept
  bool yes = false;      // do it without asking
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};  // for each call
};

/// Does it, with progress on the error stream. A new point is made and then
/// read. Blocks, for hours maybe. Returns the exit code: 0, kWouldNotWork where
/// a copy is or may be damaged, kCliUsage, kCliInterrupted or the number of the
/// gRPC code.
int RunPoint(const PointCommand& command, Streams& streams);

/// A line for each; empty: there are none.
std::string PointLines(const ::google::protobuf::RepeatedPtrField<
                       ::rbdaddons::admin::v1::PointEntry>& points);

/// What `verify` says of what it found, and what to do.
std::string VerdictText(
    const ::rbdaddons::admin::v1::VerifyPointResponse& found,
    const Palette& palette);

}  // namespace addons

#endif  // ADDONS_CLI_POINTS_H_
