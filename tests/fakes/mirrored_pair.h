#ifndef ADDONS_TESTS_FAKES_MIRRORED_PAIR_H_
#define ADDONS_TESTS_FAKES_MIRRORED_PAIR_H_

#include <cstdint>
#include <string>

#include "tests/fakes/fake_cluster.h"
#include "tests/fakes/fake_site.h"
#include "tests/fakes/fake_world.h"

namespace addons {

struct MirroredPairOptions {
  bool one_way = false;  // from a to b
};

/// The standard scenario: clusters a and b that mirror pool `replicapool` (id 2
/// on a, 3 on b) and its RADOS namespace `tenant1` in both directions, the
/// configuration that both sites share, and helpers to put volumes there as
/// ceph-csi does.
///
///   FakeWorld world;
///   MirroredPair pair(world);
///   const auto volume = pair.AddMirroredVolume(pair.a(), kUuid);
///   pair.cluster(pair.b())->OpenPool(pair.pool_id(pair.b()), "",
///   Access::kRead);
class MirroredPair {
 public:
  static constexpr char kPool[] = "replicapool";
  static constexpr char kNamespace[] = "tenant1";

  /// `world` is not owned, is empty and outlives the pair.
  explicit MirroredPair(FakeWorld& world, MirroredPairOptions options = {});

  FakeWorld& world() { return world_; }
  FakeSite& a() { return a_; }
  FakeSite& b() { return b_; }
  FakeSite& other(const FakeSite& site) { return &site == &a_ ? b_ : a_; }
  FakeClusterProvider& provider() { return provider_; }
  std::shared_ptr<Cluster> cluster(FakeSite& site) {
    return provider_.Get(site);
  }
  int64_t pool_id(const FakeSite& site) const { return &site == &a_ ? 2 : 3; }

  /// The texts of config.json (clusters site-a, site-b, and site-a-ns,
  /// site-b-ns for the namespace) and cluster-mapping.json, the same on both
  /// sites.
  std::string ConfigJson() const;
  std::string MappingJson() const;
  /// Writes both files into `directory`, which exists.
  void WriteConfig(const std::string& directory) const;

  /// The CSI handle of the volume `uuid` as `site` would give it out.
  std::string VolumeId(const FakeSite& site, const std::string& uuid,
                       const std::string& rados_namespace = "") const;
  static std::string ImageOf(const std::string& uuid) {
    return "csi-vol-" + uuid;
  }
  static std::string RequestName(const std::string& uuid) {
    return "pvc-" + uuid;
  }

  /// Image and journal of a volume on one site; returns its CSI handle.
  std::string AddVolume(FakeSite& site, const std::string& uuid,
                        uint64_t bytes = uint64_t{256} << 20,
                        const std::string& rados_namespace = "");
  /// The journal alone, with the id of the image that is there (none: without
  /// id), as ceph-csi's controller re-creates it on the peer.
  void AddJournal(FakeSite& site, const std::string& uuid,
                  const std::string& rados_namespace = "");
  /// AddVolume() with mirroring enabled, content 1, copied to the peer, whose
  /// journal is written as well; returns the CSI handle. Takes some simulated
  /// seconds.
  std::string AddMirroredVolume(FakeSite& primary, const std::string& uuid,
                                uint64_t bytes = uint64_t{256} << 20,
                                const std::string& rados_namespace = "");
  /// Whether the newest mirror snapshot on `site` is complete and has the
  /// newest mirror snapshot's kind of the peer: nothing is left to copy.
  bool InSync(FakeSite& secondary, const std::string& image);

 private:
  FakeWorld& world_;
  const MirroredPairOptions options_;
  FakeSite& a_;
  FakeSite& b_;
  FakeClusterProvider provider_;
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_MIRRORED_PAIR_H_
