#ifndef ADDONS_INSPECTION_VERB_FORECASTS_H_
#define ADDONS_INSPECTION_VERB_FORECASTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "inspection/forecast.h"
#include "replication/environment.h"
#include "replication/image_clients.h"
#include "replication/look/mirror_view.h"
#include "replication/look/rescue_record.h"
#include "replication/session.h"

namespace addons {

/// What is read through the image that a look has open.
struct OpenedFacts {
  std::vector<Watcher> watchers;
  std::vector<Watcher> mirror_clients;  // of the pool
  absl::StatusOr<ImageClients> clients = absl::UnknownError("not looked at");
  std::vector<Locker> lockers;
  std::map<std::string, std::string> published;
  std::optional<GroupSpec> group;
  std::vector<std::string> mirrored_clones;  // of it
};

/// Reads them. What cannot be read is no reason not to look at the rest: it is
/// told in `unseen`. Blocks for a read each.
OpenedFacts ReadOpenedFacts(ReplicationEnvironment& environment,
                            const OpenedVolume& opened, Image& image,
                            std::vector<std::string>* unseen);

/// What each verb would answer now. They ask the verb's own table; looks that
/// it has not had are taken as a call would see them that has waited. Blocks
/// for some reads; what cannot be read makes the forecast unclear. Nothing is
/// changed, and no call's wait is hastened.
Forecast ForecastDemote(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView& view,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue,
    const OpenedFacts& facts);
Forecast ForecastDisable(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView& view,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue,
    const OpenedFacts& facts, Force force);
/// `view` is null where the image does not exist.
Forecast ForecastResync(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView* view,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue, Force force);

}  // namespace addons

#endif  // ADDONS_INSPECTION_VERB_FORECASTS_H_
