#include "tests/contract/contract_fixture.h"

#include <cerrno>
#include <utility>

#include "ceph/mirror.h"
#include "ceph/pool.h"

namespace addons {

void ContractTest::SetUp() {
  if (Shared() == nullptr) Shared() = GetParam().make();
  ASSERT_NE(Shared(), nullptr) << "no bed " << GetParam().name;
}

std::unique_ptr<Pool> ContractTest::OpenPool(Site site, Access access) {
  auto pool = bed().ClusterFor(site).OpenPool(bed().PoolId(site), "", access);
  EXPECT_OK(pool);
  return pool.ok() ? *std::move(pool) : nullptr;
}

std::unique_ptr<Image> ContractTest::Look(Site site, const std::string& name) {
  const auto pool = OpenPool(site, Access::kRead);
  auto image = pool->OpenImageReadOnly(ImageName(name));
  return image.ok() ? *std::move(image) : nullptr;
}

absl::Status ContractTest::Change(
    Site site, const std::string& name,
    const std::function<absl::Status(Image&)>& change) {
  const auto pool = OpenPool(site, Access::kMutate);
  auto image = pool->OpenImage(ImageName(name));
  if (!image.ok()) return image.status();
  const absl::Status status = change(**image);
  EXPECT_OK((*image)->Close());
  return status;
}

std::optional<MirrorSnapshot> ContractTest::Newest(Site site,
                                                   const std::string& name) {
  const auto image = Look(site, name);
  if (image == nullptr) return std::nullopt;
  const auto snapshots = image->MirrorSnapshots();
  if (!snapshots.ok() || snapshots->empty()) return std::nullopt;
  return snapshots->back();
}

bool ContractTest::NewestIs(Site site, const std::string& name,
                            MirrorSnapshotKind kind) {
  const auto newest = Newest(site, name);
  return newest && newest->kind == kind && newest->complete;
}

std::optional<SiteStatus> ContractTest::StatusOf(Site site,
                                                 const std::string& name,
                                                 bool local) {
  const auto image = Look(site, name);
  if (image == nullptr) return std::nullopt;
  const auto statuses = image->MirrorStatus();
  if (!statuses.ok()) return std::nullopt;
  for (const SiteStatus& status : *statuses) {
    if (status.local() == local) return status;
  }
  return std::nullopt;
}

bool ContractTest::StatusIsUp(Site site, const std::string& name, bool local,
                              MirrorStatusState state) {
  const auto status = StatusOf(site, name, local);
  return status && status->up && status->state == state;
}

std::string ContractTest::IdOf(Site site, const std::string& name) {
  const auto image = Look(site, name);
  if (image == nullptr) return "";
  const auto id = image->Id();
  return id.ok() ? *id : "";
}

bool ContractTest::IsPrimary(Site site, const std::string& name) {
  const auto image = Look(site, name);
  if (image == nullptr) return false;
  const auto info = image->MirrorInfo();
  return info.ok() && info->state == MirrorImageState::kEnabled &&
         info->primary;
}

std::string ContractTest::MirrorUuid(Site site) {
  const auto uuid = OpenPool(site, Access::kRead)->MirrorUuid();
  EXPECT_OK(uuid);
  return uuid.ok() ? *uuid : "";
}

std::set<uint64_t> ContractTest::ClientIds(
    const absl::StatusOr<std::vector<Watcher>>& watchers) {
  EXPECT_OK(watchers);
  std::set<uint64_t> ids;
  if (!watchers.ok()) return ids;
  for (const Watcher& watcher : *watchers) ids.insert(watcher.client_id);
  return ids;
}

std::set<uint64_t> ContractTest::MirrorClients(Site site) {
  return ClientIds(
      OpenPool(site, Access::kRead)->ListWatchers("rbd_mirroring"));
}

void ContractTest::MakeImage(Site site, const std::string& name) {
  ASSERT_OK(bed().CreateImage(site, name, kBytes));
}

void ContractTest::NeedMirrored(const std::string& name) {
  if (!bed().prepared) {
    for (const char* const each : {kStanding, kSnapshots, kProgress, kFailover,
                                   kDemoted, kForced, kDisabled, kAbandoned}) {
      ASSERT_OK(bed().CreateImage(kA, each, kBytes));
      ASSERT_OK(bed().Write(kA, each, 1));
      ASSERT_OK(Change(kA, each, [](Image& image) {
        return image.MirrorEnable(MirrorMode::kSnapshot);
      }));
    }
    bed().prepared = true;
  }
  ASSERT_TRUE(bed().WaitFor(
      [&] { return NewestIs(kB, name, MirrorSnapshotKind::kNonPrimary); },
      kCopyLimit))
      << name << " was not copied";
}

absl::Status ContractTest::PromoteSoon(Site site, const std::string& name,
                                       Force force) {
  absl::Status status;
  bed().WaitFor(
      [&] {
        status = Change(site, name, [&](Image& image) {
          return image.MirrorPromote(force);
        });
        return status.ok();
      },
      std::chrono::seconds(20));
  return status;
}

absl::StatusOr<std::string> ContractTest::Schedule(const std::string& verb,
                                                   const std::string& level,
                                                   const nlohmann::json& more) {
  nlohmann::json command = {{"prefix", "rbd mirror snapshot schedule " + verb},
                            {"level_spec", level}};
  if (more.is_object()) command.update(more);
  absl::StatusOr<std::string> result;
  // The module may still be starting.
  bed().WaitFor(
      [&] {
        result = bed().ClusterFor(kA).MgrCommand(command.dump());
        return CephErrno(result.status()) != EAGAIN;
      },
      std::chrono::seconds(30));
  return result;
}

nlohmann::json ContractTest::ScheduleOf(const std::string& level) {
  const auto text = Schedule("list", level);
  EXPECT_OK(text);
  return text.ok() ? nlohmann::json::parse(*text, nullptr, false)
                   : nlohmann::json();
}

std::unique_ptr<ContractBed>& ContractTest::Shared() {
  static std::unique_ptr<ContractBed> bed;
  return bed;
}

}  // namespace addons
