#ifndef ADDONS_CLI_HISTORY_H_
#define ADDONS_CLI_HISTORY_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// What a person wants to know of the past.
struct HistoryCommand {
  std::string endpoint;
  std::string id;  // of a volume, or
  bool group = false;
  std::string pool;  // or else
  std::string cluster;
  /// As ReadSince() takes it, which the option has asked; empty: from the
  /// beginning.
  std::string since;
  uint32_t limit = 100;
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Asks, and prints what happened. Returns the exit code: 0, kCliUsage or the
/// number of the gRPC code.
int RunHistory(const HistoryCommand& command, Streams& streams);

/// "2h" or "90m" before `now`, or a time such as "2026-11-20" or
/// "2026-11-20T03:00:00Z" (UTC where no zone is given).
absl::StatusOr<absl::Time> ReadSince(const std::string& text, absl::Time now);

/// A paragraph for each event of `of` ("volume pvc-1"), the oldest first; with
/// `wide` images and ids beside names.
std::string HistoryText(
    const ::rbdaddons::admin::v1::ListHistoryResponse& found,
    absl::string_view of, bool wide = false);

}  // namespace addons

#endif  // ADDONS_CLI_HISTORY_H_
