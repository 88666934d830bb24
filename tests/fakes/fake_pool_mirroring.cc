// What a pool tells about mirroring: its own, and that of its images.

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/fake_pool.h"

namespace addons {
namespace {

using model::Model;
using model::Site;

}  // namespace

absl::StatusOr<PoolMirrorMode> FakePool::MirrorMode() {
  PoolMirrorMode mode = PoolMirrorMode::kUnknown;
  const int r = Run("rbd_mirror_mode_get", "rbd_mirroring", Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      mode = Space(site).mode;
                      return 0;
                    });
  if (r < 0) return Error(r, "get the mirroring mode of", "");
  return mode;
}

absl::StatusOr<std::vector<MirrorPeer>> FakePool::MirrorPeers() {
  std::vector<MirrorPeer> peers;
  const int r = Run("rbd_mirror_peer_site_list", "rbd_mirroring", Needs::kOsd,
                    false, [&](Model& model, Site& site, SteadyDuration*) {
                      peers = model.Peers(site);
                      return 0;
                    });
  if (r < 0) return Error(r, "list the mirroring peers of", "");
  return peers;
}

absl::StatusOr<std::string> FakePool::MirrorUuid() {
  std::string uuid;
  const int r = Run("rbd_mirror_uuid_get", "rbd_mirroring", Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      uuid = site.mirror_uuid;
                      return 0;
                    });
  if (r < 0) return Error(r, "get the mirroring uuid of", "");
  return uuid;
}

absl::StatusOr<std::vector<ImageStatuses>> FakePool::MirrorStatuses() {
  std::vector<ImageStatuses> all;
  const int r =
      Run("rbd_mirror_image_global_status_list", "rbd_mirroring", Needs::kOsd,
          false, [&](Model& model, Site& site, SteadyDuration*) {
            const auto& space = Space(site);
            for (const auto& [name, image] : space.images) {
              if (image->mirror_state == MirrorImageState::kDisabled) {
                continue;
              }
              all.push_back({image->id, model.Status(site, space, *image)});
            }
            return 0;
          });
  if (r < 0) return Error(r, "list the mirroring statuses of", "");
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.image_id < b.image_id;
  });
  return all;
}

absl::StatusOr<std::optional<MirrorImageInfo>> FakePool::MirrorInfoById(
    const std::string& image_id) {
  std::optional<MirrorImageInfo> info;
  const int r = Run("rbd_mirror_image_info_list", image_id, Needs::kOsd, false,
                    [&](Model& model, Site& site, SteadyDuration*) {
                      const auto image =
                          Model::FindImageById(Space(site), image_id);
                      if (image == nullptr ||
                          image->mirror_state == MirrorImageState::kDisabled) {
                        return 0;
                      }
                      info = model.Info(*image);
                      return 0;
                    });
  if (r < 0) return Error(r, "get the mirroring state of image id", image_id);
  return info;
}

absl::StatusOr<std::optional<MirrorImageInfo>> FakePool::MirrorRecord(
    const std::string& image_id) {
  std::optional<MirrorImageInfo> info;
  const int r =
      Run("rados_read_op_omap_get_vals_by_keys2", "rbd_mirroring", Needs::kOsd,
          false, [&](Model& model, Site& site, SteadyDuration*) {
            const auto image = Model::FindImageById(Space(site), image_id);
            if (image == nullptr ||
                image->mirror_state == MirrorImageState::kDisabled) {
              return 0;
            }
            info = model.Info(*image);
            info->primary = false;  // is not in it
            return 0;
          });
  if (r < 0) return Error(r, "read", "rbd_mirroring");
  return info;
}

absl::StatusOr<std::vector<SiteStatus>> FakePool::MirrorStatusOf(
    const std::string& global_id) {
  std::vector<SiteStatus> sites;
  const int r = Run("rbd.mirror_image_status_get", "rbd_mirroring", Needs::kOsd,
                    false, [&](Model& model, Site& site, SteadyDuration*) {
                      model::Image image;
                      image.global_id = global_id;
                      sites = model.Status(site, Space(site), image);
                      return 0;
                    });
  if (r == -ENOENT) return std::vector<SiteStatus>();
  if (r < 0) return Error(r, "read the mirroring status of", global_id);
  return sites;
}

}  // namespace addons
