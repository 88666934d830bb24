#include "cli/status.h"

#include <algorithm>
#include <cstdint>

#include "base/status_macros.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "cli/status_table.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// As many as a page may have.
constexpr uint32_t kVolumesOfAPage = 2500;
/// How often the pages are begun again, because a look has ended meanwhile.
constexpr int kMostTriesOfPages = 5;

admin_pb::ListStatusRequest StatusRequest(const StatusCommand& command) {
  admin_pb::ListStatusRequest request;
  request.set_cluster_id(command.cluster);
  request.set_pool(command.pool);
  request.set_text(command.text);
  request.set_trouble_only(command.trouble_only);
  request.set_limit(kVolumesOfAPage);
  return request;
}

/// All pages of one look. ABORTED: another one has ended meanwhile.
absl::Status AskForPages(const StatusCommand& command,
                         steady_clock::time_point end,
                         admin_pb::ListStatusResponse* all, Streams& streams) {
  admin_pb::ListStatusRequest request = StatusRequest(command);
  all->Clear();
  do {
    admin_pb::ListStatusResponse page;
    const auto left =
        std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    ADDONS_RETURN_IF_ERROR(
        AskWithSecrets(command.endpoint, std::max(left, milliseconds(1)),
                       command.secrets, request, page, streams));
    request.set_token(page.next_token());
    if (all->volumes().empty()) {
      all->Swap(&page);
    } else {
      all->mutable_volumes()->MergeFrom(page.volumes());
    }
  } while (!request.token().empty());
  all->clear_next_token();
  return absl::OkStatus();
}

bool IsWell(const admin_pb::VolumeStatus& volume) {
  return volume.state() == admin_pb::VolumeStatus::IN_STEP ||
         volume.state() == admin_pb::VolumeStatus::COPYING;
}

bool PoolIsSeen(const admin_pb::PoolStatus& pool) {
  return pool.unseen().empty() && pool.has_seen_seconds_ago();
}

}  // namespace

int StatusExitCode(const admin_pb::ListStatusResponse& seen, bool by_volume) {
  if (!seen.not_watched().empty() || seen.pools().empty() ||
      seen.pools_left_out() > 0 || !seen.unwatched_clusters().empty() ||
      !std::all_of(seen.pools().begin(), seen.pools().end(), PoolIsSeen)) {
    return kWouldNotWork;
  }
  const bool good =
      by_volume
          ? !seen.volumes().empty() && std::all_of(seen.volumes().begin(),
                                                   seen.volumes().end(), IsWell)
          : std::all_of(seen.pools().begin(), seen.pools().end(),
                        [](const admin_pb::PoolStatus& pool) {
                          return pool.in_step() + pool.copying() ==
                                 pool.volumes();
                        });
  return good ? 0 : kWouldNotWork;
}

absl::Status AskForStatus(const StatusCommand& command,
                          admin_pb::ListStatusResponse* seen,
                          Streams& streams) {
  const auto end = steady_clock::now() + command.timeout;
  absl::Status asked;
  for (int tries = 0; tries < kMostTriesOfPages; ++tries) {
    asked = AskForPages(command, end, seen, streams);
    if (!absl::IsAborted(asked)) break;
  }
  return asked;
}

int RunStatus(const StatusCommand& command, Streams& streams) {
  admin_pb::ListStatusResponse seen;
  const absl::Status asked = AskForStatus(command, &seen, streams);
  if (!asked.ok()) return FailCall(asked, streams);
  // The text of thousands of volumes is made for those who read it.
  const std::string text =
      streams.format == OutputFormat::kText
          ? StatusText(seen, {streams.wide, command.text, command.trouble_only},
                       Palette(streams))
          : "";
  const int printed = YieldMessage(seen, text, streams);
  if (printed != 0) return printed;
  return StatusExitCode(seen, !command.text.empty());
}

}  // namespace addons
