#include "watch/pause_looks.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace addons {
namespace {

absl::StatusOr<std::optional<SchedulePause>> ReadPause(
    Pool& pool, const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const ImageHeader header, pool.Header(image_id));
  if (!header.metadata.contains(kLocalRecordKey)) return std::nullopt;
  ADDONS_ASSIGN_OR_RETURN(const auto mirroring, pool.MirrorRecord(image_id));
  if (!mirroring.has_value()) return std::nullopt;
  return ReadLocalRecord(header.metadata, image_id, mirroring->global_id).pause;
}

}  // namespace

void PauseLooks::Look(OperationContext& context, Pool& pool,
                      std::vector<std::string> image_ids) {
  std::sort(image_ids.begin(), image_ids.end());
  std::erase_if(paused_, [&image_ids](const auto& known) {
    return !std::binary_search(image_ids.begin(), image_ids.end(), known.first);
  });
  std::rotate(image_ids.begin(),
              std::upper_bound(image_ids.begin(), image_ids.end(), asked_last_),
              image_ids.end());
  if (image_ids.size() > kMostAsked) image_ids.resize(kMostAsked);
  for (const std::string& id : image_ids) {
    if (context.stop_token().stop_requested()) return;
    asked_last_ = id;
    auto pause = ReadPause(pool, id);
    if (!pause.ok()) continue;
    if (pause->has_value()) {
      paused_[id] = **std::move(pause);
    } else {
      paused_.erase(id);
    }
  }
}

std::optional<SchedulePause> PauseLooks::Of(const std::string& image_id) const {
  const auto found = paused_.find(image_id);
  return found == paused_.end() ? std::nullopt
                                : std::make_optional(found->second);
}

}  // namespace addons
