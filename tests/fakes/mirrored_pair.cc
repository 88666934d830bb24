#include "tests/fakes/mirrored_pair.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace addons {

MirroredPair::MirroredPair(FakeWorld& world, MirroredPairOptions options)
    : world_(world),
      options_(options),
      a_(world.AddSite("a")),
      b_(world.AddSite("b")),
      provider_(world) {
  for (FakeSite* const site : {&a_, &b_}) {
    site->AddPool(pool_id(*site), kPool);
    site->SetPoolMirrorMode(kPool, "", PoolMirrorMode::kImage);
    site->SetPoolMirrorMode(kPool, kNamespace, PoolMirrorMode::kImage);
  }
  if (options.one_way) {
    world.MirrorOneWay(a_, b_);
  } else {
    world.Mirror(a_, b_);
  }
}

std::string MirroredPair::ConfigJson() const {
  return R"([
  {"clusterID": "site-a", "monitors": ["site-a:6789"]},
  {"clusterID": "site-b", "monitors": ["site-b:6789"]},
  {"clusterID": "site-a-ns", "monitors": ["site-a:6789"], "rbd": {"radosNamespace": "tenant1"}},
  {"clusterID": "site-b-ns", "monitors": ["site-b:6789"], "rbd": {"radosNamespace": "tenant1"}}
])";
}

std::string MirroredPair::MappingJson() const {
  return R"([
  {"clusterIDMapping": {"site-a": "site-b"}, "RBDPoolIDMapping": [{"2": "3"}]},
  {"clusterIDMapping": {"site-a-ns": "site-b-ns"}, "RBDPoolIDMapping": [{"2": "3"}]}
])";
}

void MirroredPair::WriteConfig(const std::string& directory) const {
  std::ofstream(absl::StrCat(directory, "/config.json")) << ConfigJson();
  std::ofstream(absl::StrCat(directory, "/cluster-mapping.json"))
      << MappingJson();
}

std::string MirroredPair::VolumeId(const FakeSite& site,
                                   const std::string& uuid,
                                   const std::string& rados_namespace) const {
  const std::string cluster =
      absl::StrCat(site.cluster_id(), rados_namespace.empty() ? "" : "-ns");
  return absl::StrFormat("0001-%04x-%s-%016x-%s", cluster.size(), cluster,
                         pool_id(site), uuid);
}

std::string MirroredPair::AddVolume(FakeSite& site, const std::string& uuid,
                                    uint64_t bytes,
                                    const std::string& rados_namespace) {
  site.AddImage(kPool, rados_namespace, ImageOf(uuid), bytes);
  site.SetImageMetadata(ImageOf(uuid), "csi.storage.k8s.io/pv/name",
                        RequestName(uuid));
  site.SetImageMetadata(ImageOf(uuid), "csi.storage.k8s.io/pvc/namespace",
                        "ns1");
  AddJournal(site, uuid, rados_namespace);
  return VolumeId(site, uuid, rados_namespace);
}

void MirroredPair::AddJournal(FakeSite& site, const std::string& uuid,
                              const std::string& rados_namespace) {
  OmapValues values = {{"csi.volname", RequestName(uuid)},
                       {"csi.imagename", ImageOf(uuid)},
                       {"csi.volume.owner", "ns1"}};
  if (site.HasImage(ImageOf(uuid))) {
    values["csi.imageid"] = site.ImageId(ImageOf(uuid));
  }
  site.SetOmap(kPool, rados_namespace, absl::StrCat("csi.volume.", uuid),
               values);
  site.AddOmapValue(kPool, rados_namespace, "csi.volumes.default",
                    absl::StrCat("csi.volume.", RequestName(uuid)), uuid);
}

std::string MirroredPair::AddMirroredVolume(
    FakeSite& primary, const std::string& uuid, uint64_t bytes,
    const std::string& rados_namespace) {
  std::string id = AddVolume(primary, uuid, bytes, rados_namespace);
  const std::string image = ImageOf(uuid);
  if (!primary.Write(image, 1).ok()) std::abort();  // a new image is writable
  primary.EnableMirroring(image);
  FakeSite& secondary = other(primary);
  const size_t entries = options_.one_way ? 1 : 2;
  const bool copied = world_.AdvanceUntil(
      [&] {
        return InSync(secondary, image) &&
               secondary.Status(image).size() == entries;
      },
      std::chrono::minutes(2));
  if (!copied) {
    std::fprintf(stderr, "%s was not copied: is the peer's rbd-mirror up?\n",
                 image.c_str());
    std::abort();
  }
  AddJournal(secondary, uuid, rados_namespace);
  return id;
}

bool MirroredPair::InSync(FakeSite& secondary, const std::string& image) {
  if (!secondary.HasImage(image) || !other(secondary).HasImage(image))
    return false;
  const auto here = secondary.Snapshots(image);
  const auto there = other(secondary).Snapshots(image);
  return !here.empty() && !there.empty() && here.back().complete &&
         here.back().primary_mirror_uuid == other(secondary).mirror_uuid() &&
         here.back().primary_snapshot_id == there.back().id;
}

}  // namespace addons
