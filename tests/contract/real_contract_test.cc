// The contract suite on two real clusters that mirror each other.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/contract_bed.h"
#include "tests/contract/contract_fixture.h"
#include "tests/contract/fence_contract.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::Eventually;
using ::addons::testing::RealBed;

const bool kOnBluestore = ::addons::testing::OnBluestore();

void AppendNumber(uint64_t number, std::string& bytes) {
  for (int i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(number & 0xffU));
    number >>= 8U;
  }
}

/// An input of `rbd import-diff` that writes something of `value` into every
/// object of an image of 16 MiB.
std::string Diff(uint64_t value) {
  constexpr uint64_t kImage = uint64_t{16} << 20U;
  constexpr uint64_t kObject = uint64_t{4} << 20U;
  constexpr uint64_t kPiece = uint64_t{64} << 10U;
  std::string diff = "rbd diff v1\ns";
  AppendNumber(kImage, diff);
  for (uint64_t offset = 0; offset < kImage; offset += kObject) {
    diff.push_back('w');
    AppendNumber(offset, diff);
    AppendNumber(kPiece, diff);
    for (uint64_t i = 0; i < kPiece / 8; ++i) AppendNumber(value + i, diff);
  }
  diff.push_back('e');
  return diff;
}

class RealContractBed final : public ContractBed {
 public:
  Cluster& ClusterFor(Site site) override {
    std::shared_ptr<Cluster>& cluster = clusters_.at(site == Site::kA ? 0 : 1);
    if (cluster == nullptr) {
      cluster = cache_.Connect(Bed().Target(Name(site)), Bed().User(Name(site)))
                    .value();
    }
    return *cluster;
  }
  int64_t PoolId(Site site) override { return Bed().PoolId(Name(site)); }
  std::string PoolName() override { return RealBed::kPool; }
  std::optional<std::string> NoFlattenTasks() override {
    return ::addons::testing::NoFlattenTasks();
  }

  absl::Status CreateImage(Site site, const std::string& name,
                           uint64_t bytes) override {
    return Rbd(site,
               {"create", "--size", absl::StrCat(bytes, "B"), Spec(name)});
  }
  absl::Status CreateClone(Site site, const std::string& parent,
                           const std::string& clone) override {
    const std::string snapshot = absl::StrCat(Spec(parent), "@for-", clone);
    ADDONS_RETURN_IF_ERROR(
        Rbd(site, {"snap", "create", "--no-progress", snapshot}));
    return Rbd(site, {"clone", "--rbd-default-clone-format", "2", snapshot,
                      Spec(clone)});
  }
  absl::Status Write(Site site, const std::string& image,
                     uint64_t value) override {
    const std::string file = Bed().Path("diff");
    std::ofstream(file, std::ios::binary | std::ios::trunc) << Diff(value);
    return Rbd(site, {"import-diff", "--no-progress", file, Spec(image)});
  }
  absl::StatusOr<std::string> Fingerprint(Site site,
                                          const std::string& image) override {
    // `rbd export` of a secondary is not always what reading it gives.
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> pool,
        ClusterFor(site).OpenPool(PoolId(site), "", Access::kRead));
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> opened,
                            pool->OpenImageReadOnly(ImageName(image)));
    ADDONS_ASSIGN_OR_RETURN(const ImageSize size, opened->Size());
    constexpr uint64_t kChunk = uint64_t{4} << 20;
    std::string content;
    for (uint64_t at = 0; at < size.bytes; at += kChunk) {
      const ImageRange range{at, std::min(kChunk, size.bytes - at)};
      ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageData> read,
                              opened->Read({range}));
      for (const ImageData& data : read) {
        content += data.bytes.empty() ? std::string(data.range.length, '\0')
                                      : data.bytes;
      }
    }
    return absl::StrCat(std::hash<std::string>()(content));
  }
  absl::Status CreateOmap(Site site, const std::string& object,
                          const OmapValues& values) override {
    ADDONS_RETURN_IF_ERROR(
        Bed()
            .Run("rados", {Name(site), "-p", RealBed::kPool, "create", object})
            .status());
    // One process per value would take a minute where a test has many.
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> pool,
        ClusterFor(site).OpenPool(PoolId(site), "", Access::kMutate));
    for (const auto& [key, value] : values) {
      ADDONS_RETURN_IF_ERROR(
          pool->ReplaceOmapValue(object, key, std::nullopt, value).status());
    }
    return absl::OkStatus();
  }
  absl::Status LeaveGroupImageIncomplete(Site site, const std::string& group,
                                         const std::string& image_id) override {
    return Bed().LeaveGroupImageIncomplete(Name(site), group, image_id);
  }
  absl::Status FreezeMirrorDaemon(Site site) override {
    return Bed().Run("stop", {Name(site), "rbd-mirror"}).status();
  }
  absl::Status ThawMirrorDaemon(Site site) override {
    return Bed().Run("cont", {Name(site), "rbd-mirror"}).status();
  }
  absl::Status EndMirrorDaemon(Site site) override {
    return Bed().Run("end", {Name(site), "rbd-mirror"}).status();
  }
  absl::Status KillMirrorDaemon(Site site) override {
    return Bed().Run("kill", {Name(site), "rbd-mirror"}).status();
  }
  absl::Status StartMirrorDaemon(Site site) override {
    return Bed().Run("start", {Name(site), "rbd-mirror"}).status();
  }
  absl::Status CreateGroupSnapshot(Site site, const std::string& group,
                                   const std::string& snapshot) override {
    return Rbd(site, {"group", "snap", "create",
                      absl::StrCat(Spec(group), "@", snapshot)});
  }
  absl::Status SetSnapshotLimit(Site site, const std::string& image,
                                std::optional<uint64_t> limit) override {
    if (!limit.has_value()) {
      return Rbd(site, {"snap", "limit", "clear", Spec(image)});
    }
    return Rbd(site, {"snap", "limit", "set", "--limit", absl::StrCat(*limit),
                      Spec(image)});
  }
  absl::Status CreateSnapshot(Site site, const std::string& image,
                              const std::string& snapshot) override {
    return Rbd(site, {"snap", "create", "--no-progress",
                      absl::StrCat(Spec(image), "@", snapshot)});
  }
  absl::Status RollBack(Site site, const std::string& image,
                        const std::string& snapshot) override {
    return Rbd(site, {"snap", "rollback", "--no-progress",
                      absl::StrCat(Spec(image), "@", snapshot)});
  }
  absl::Status LockByHand(Site site, const std::string& image) override {
    return Rbd(site, {"lock", "add", Spec(image), "by-hand"});
  }
  bool WaitFor(const std::function<bool()>& condition,
               std::chrono::seconds timeout) override {
    return Eventually(condition, timeout);
  }

 private:
  static std::string Name(Site site) { return site == Site::kA ? "a" : "b"; }
  static std::string Spec(const std::string& image) {
    return absl::StrCat(RealBed::kPool, "/", image);
  }
  static absl::Status Rbd(Site site, std::vector<std::string> args) {
    args.insert(args.begin(), Name(site));
    return Bed().Run("rbd", args).status();
  }

  // The bounds that the daemon has.
  ConnectionCache cache_{ConnectionCacheOptions(), RealClock(),
                         std::make_shared<CallGate>(RealClock())};
  std::array<std::shared_ptr<Cluster>, 2> clusters_;
};

std::unique_ptr<ContractBed> MakeRealBed() {
  return std::make_unique<RealContractBed>();
}

const BedFactory kReal{"Real", MakeRealBed};
INSTANTIATE_TEST_SUITE_P(Real, ContractTest, ::testing::Values(kReal));
INSTANTIATE_TEST_SUITE_P(Real, FenceContractTest, ::testing::Values(kReal));

}  // namespace
}  // namespace addons
