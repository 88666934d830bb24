#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/contract/contract_bed.h"
#include "tests/contract/contract_fixture.h"
#include "tests/contract/fence_contract.h"
#include "tests/fakes/mirrored_pair.h"

namespace addons {
namespace {

class FakeBed final : public ContractBed {
 public:
  FakeBed() { world_.ReplayJournals(); }

  Cluster& ClusterFor(Site site) override {
    return site == Site::kA ? *cluster_a_ : *cluster_b_;
  }
  int64_t PoolId(Site site) override { return pair_.pool_id(At(site)); }
  std::string PoolName() override { return MirroredPair::kPool; }

  absl::Status CreateImage(Site site, const std::string& name,
                           uint64_t bytes) override {
    At(site).AddImage(MirroredPair::kPool, "", name, bytes);
    return absl::OkStatus();
  }
  absl::Status CreateClone(Site site, const std::string& parent,
                           const std::string& clone) override {
    At(site).AddClone(parent, clone);
    return absl::OkStatus();
  }
  absl::Status Write(Site site, const std::string& image,
                     uint64_t value) override {
    return At(site).Write(image, value);
  }
  absl::StatusOr<std::string> Fingerprint(Site site,
                                          const std::string& image) override {
    return absl::StrCat(At(site).Data(image),
                        At(site).Torn(image) ? " torn" : "");
  }
  absl::Status CreateOmap(Site site, const std::string& object,
                          const OmapValues& values) override {
    At(site).SetOmap(MirroredPair::kPool, "", object, values);
    return absl::OkStatus();
  }
  absl::Status LeaveGroupImageIncomplete(Site site, const std::string& group,
                                         const std::string& image_id) override {
    At(site).LeaveGroupImageIncomplete(MirroredPair::kPool, "", group,
                                       image_id);
    return absl::OkStatus();
  }
  absl::Status FreezeMirrorDaemon(Site site) override {
    At(site).SetMirrorDaemon(DaemonState::kFrozen);
    return absl::OkStatus();
  }
  absl::Status ThawMirrorDaemon(Site site) override {
    At(site).SetMirrorDaemon(DaemonState::kRunning);
    return absl::OkStatus();
  }
  absl::Status EndMirrorDaemon(Site site) override {
    At(site).SetMirrorDaemon(DaemonState::kEnded);
    return absl::OkStatus();
  }
  absl::Status KillMirrorDaemon(Site site) override {
    At(site).SetMirrorDaemon(DaemonState::kDown);
    return absl::OkStatus();
  }
  absl::Status StartMirrorDaemon(Site site) override {
    At(site).SetMirrorDaemon(DaemonState::kRunning);
    return absl::OkStatus();
  }
  absl::Status CreateGroupSnapshot(Site site, const std::string& group,
                                   const std::string& snapshot) override {
    At(site).AddGroupSnapshot(PoolName(), "", group, snapshot);
    return absl::OkStatus();
  }
  absl::Status SetSnapshotLimit(Site site, const std::string& image,
                                std::optional<uint64_t> limit) override {
    At(site).SetSnapshotLimit(image, limit);
    return absl::OkStatus();
  }
  absl::Status CreateSnapshot(Site site, const std::string& image,
                              const std::string& snapshot) override {
    At(site).AddSnapshot(image, snapshot, SnapshotKind::kUser);
    return absl::OkStatus();
  }
  absl::Status RollBack(Site site, const std::string& image,
                        const std::string& snapshot) override {
    At(site).RollBack(image, snapshot);
    return absl::OkStatus();
  }
  absl::Status LockByHand(Site site, const std::string& image) override {
    At(site).AddLocker(image, "10.0.0.9:0/99", 99, FakeSite::LockKind::kByHand);
    return absl::OkStatus();
  }
  bool WaitFor(const std::function<bool()>& condition,
               std::chrono::seconds timeout) override {
    return world_.AdvanceUntil(condition, timeout);
  }

 private:
  FakeSite& At(Site site) { return site == Site::kA ? pair_.a() : pair_.b(); }

  FakeWorld world_;
  MirroredPair pair_{world_};
  std::shared_ptr<Cluster> cluster_a_ = pair_.cluster(pair_.a());
  std::shared_ptr<Cluster> cluster_b_ = pair_.cluster(pair_.b());
};

std::unique_ptr<ContractBed> MakeFakeBed() {
  return std::make_unique<FakeBed>();
}

const BedFactory kFake{"Fake", MakeFakeBed};
INSTANTIATE_TEST_SUITE_P(Fake, ContractTest, ::testing::Values(kFake));
INSTANTIATE_TEST_SUITE_P(Fake, FenceContractTest, ::testing::Values(kFake));

}  // namespace
}  // namespace addons
