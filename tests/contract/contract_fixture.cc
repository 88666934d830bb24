#include "tests/contract/contract_fixture.h"

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "ceph/image_header.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"

namespace addons {
namespace {

/// All that is known of an image, a line for each thing.
std::string Told(const std::string& id, const MirrorImageInfo& info,
                 const ImageHeader& header,
                 const std::vector<SiteStatus>& sites) {
  std::string text = absl::StrCat(
      "id ", id, " global ", info.global_id, " ", Name(info.state), " ",
      Name(info.mode), " primary ", info.primary, "\nsize ", header.size.bytes,
      " ", header.size.object_bytes, " ", header.size.objects, " created ",
      header.created.seconds, ".", header.created.nanoseconds, " marked ",
      header.marked_non_primary, " clone ", header.has_parent, " lock ",
      header.features.exclusive_lock, " map ", header.features.fast_diff,
      " migrating ", header.features.migrating, "\n");
  for (const auto& [key, value] : header.metadata) {
    absl::StrAppend(&text, key, "=", absl::CHexEscape(value), "\n");
  }
  for (const MirrorSnapshot& snapshot : header.mirror_snapshots) {
    absl::StrAppend(&text, "snapshot ", snapshot.id, " ", Name(snapshot.kind),
                    " complete ", snapshot.complete, " unsynced ",
                    absl::StrJoin(snapshot.unsynced_peer_uuids, ","), " of ",
                    snapshot.primary_mirror_uuid, " ",
                    snapshot.primary_snapshot_id, " ",
                    snapshot.last_copied_object, " created ",
                    snapshot.created.time_since_epoch().count(), "\n");
  }
  for (const ImageSnapshot& snapshot : header.other_snapshots) {
    absl::StrAppend(&text, "snapshot ", snapshot.id, " ", snapshot.name, " ",
                    static_cast<int>(snapshot.kind), "\n");
  }
  for (const SiteStatus& site : sites) {
    absl::StrAppend(&text, "site ", site.mirror_uuid, " up ", site.up, " ",
                    Name(site.state), " ", site.last_update, " ",
                    site.description, "\n");
  }
  return text;
}

std::string AsOpened(Image& image) {
  ImageHeader header;
  header.size = image.Size().value();
  header.features = image.Features().value();
  header.created = image.CreateTimestamp().value();
  header.marked_non_primary = image.MarkedNonPrimary().value();
  header.has_parent = image.Parent().value().has_value();
  header.metadata = image.ListMetadata("").value();
  header.mirror_snapshots = image.MirrorSnapshots().value();
  header.other_snapshots = image.Snapshots().value();
  std::erase_if(header.other_snapshots, [](const ImageSnapshot& snapshot) {
    return snapshot.kind == SnapshotKind::kMirror;
  });
  return Told(image.Id().value(), image.MirrorInfo().value(), header,
              image.MirrorStatus().value());
}

std::string AsRead(Pool& pool, const std::string& name) {
  const std::string id = FindImageId(pool, ImageName(name)).value();
  const auto header = pool.Header(id);
  if (!header.ok()) return std::string(header.status().message());
  const auto record = pool.MirrorRecord(id);
  if (!record.ok()) return std::string(record.status().message());
  if (!record->has_value()) return "not mirrored";
  MirrorImageInfo info = **record;
  const auto& snapshots = header->mirror_snapshots;
  info.primary = PrimaryBySnapshots(snapshots);
  const auto sites = pool.MirrorStatusOf(info.global_id);
  if (!sites.ok()) return std::string(sites.status().message());
  return Told(id, info, *header, *sites);
}

}  // namespace

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

void ContractTest::ExpectTellsAsOpened(Site site, const std::string& name) {
  const auto pool = OpenPool(site, Access::kRead);
  std::string opened;
  std::string read;
  // rbd-mirror may write in between.
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        const auto image = Look(site, name);
        if (image == nullptr) return false;
        opened = AsOpened(*image);
        read = AsRead(*pool, name);
        return read == opened;
      },
      std::chrono::seconds(20)))
      << "opened:\n"
      << opened << "without opening:\n"
      << read;
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
    for (const char* const each :
         {kStanding, kSnapshots, kProgress, kOfKind, kFailover, kDemoted,
          kForced, kDisabled, kAbandoned, kLimited, kRoom, kWaiting, kLeft,
          kNoted, kPoint}) {
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

void ContractTest::NeedDemoted(const std::string& name) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(name));
  ASSERT_OK(
      Change(kA, name, [](Image& image) { return image.MirrorDemote(); }));
  ASSERT_TRUE(bed().WaitFor(
      [&] {
        return NewestIs(kB, name, MirrorSnapshotKind::kNonPrimaryDemoted) &&
               StatusIsUp(kB, name, true, MirrorStatusState::kUnknown);
      },
      kStatusLimit));
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
  return text.ok() ? ParseJson(*text) : nlohmann::json();
}

std::unique_ptr<ContractBed>& ContractTest::Shared() {
  static std::unique_ptr<ContractBed> bed;
  return bed;
}

}  // namespace addons
