#ifndef ADDONS_CLI_INSPECTION_H_
#define ADDONS_CLI_INSPECTION_H_

#include <chrono>
#include <string>
#include <vector>

#include "cli/palette.h"
#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// The exit code of a check that was made, where a volume would not fail over:
/// the number of FAILED_PRECONDITION.
inline constexpr int kWouldNotWork = 9;

/// What people call a volume: its claim, else its PersistentVolume; empty:
/// neither is known.
const std::string& KnownName(
    const ::rbdaddons::admin::v1::FailoverFinding& finding);

/// In which way volumes have to work.
enum class FailoverWay { kEither, kPlanned, kForced };

/// What a person asks about a failover.
struct CheckFailoverCommand {
  std::string endpoint;
  std::vector<std::string> ids;     // of volumes
  std::vector<std::string> groups;  // ids of volume groups; or else
  std::string pool;                 // or else
  bool all = false;
  std::string cluster;  // of the pool, or of all
  bool planned = false;
  bool forced = false;
  std::vector<std::string> parameters;  // "key=value"
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Asks, and prints what was found. Returns the exit code: 0 when all volumes
/// would work in the way that is asked for, kWouldNotWork when not, kCliUsage
/// or the number of the gRPC code when nothing was found out.
int RunCheckFailover(const CheckFailoverCommand& command, Streams& streams);

/// Whose explanation a person wants.
struct ExplainCommand {
  std::string endpoint;
  std::string id;                       // of a volume, or
  bool group = false;                   // of a volume group
  std::vector<std::string> parameters;  // "key=value"
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Asks, and prints what was seen. Returns the exit code: 0, kCliUsage or the
/// number of the gRPC code.
int RunExplain(const ExplainCommand& command, Streams& streams);

/// A line for each fact, and what verbs would answer.
std::string ExplainText(
    const ::rbdaddons::admin::v1::ExplainVolumeResponse& explained,
    const Palette& palette = {});
/// The same, and three lines for each member.
std::string ExplainText(
    const ::rbdaddons::admin::v1::ExplainGroupResponse& explained,
    const Palette& palette = {});

/// What is shown before one volume, or one group, is promoted by force: the
/// same lines, without the numbers and a group's members. Empty: none was
/// found.
std::string ForceText(
    const ::rbdaddons::admin::v1::CheckFailoverResponse& found,
    const Palette& palette = {});

/// Three lines for each volume and each group, and the numbers; with `wide` ids
/// beside names, and all of many that share an answer, see SelectRows().
std::string CheckFailoverText(
    const ::rbdaddons::admin::v1::CheckFailoverResponse& found,
    const Palette& palette = {}, bool wide = false);

}  // namespace addons

#endif  // ADDONS_CLI_INSPECTION_H_
