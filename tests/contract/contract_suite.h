#ifndef ADDONS_TESTS_CONTRACT_CONTRACT_SUITE_H_
#define ADDONS_TESTS_CONTRACT_CONTRACT_SUITE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ceph/cluster.h"
#include "ceph/errors.h"
#include "nlohmann/json.hpp"
#include "tests/testing/status_matchers.h"

// What our code relies on, held against two mirrored sites: the fake and the
// real thing. A test that includes this header defines a bed and instantiates:
//
//   INSTANTIATE_TEST_SUITE_P(Real, ContractTest,
//                            ::testing::Values(BedFactory{"Real",
//                            MakeRealBed}));
//
// One bed serves all tests of the process: run the whole binary where a bed is
// dear.

namespace addons {

/// Two sites that mirror one pool in both directions, in image mode, with
/// rbd-mirror running on both. The methods are what administrators and
/// workloads do; everything under test goes through Cluster.
class ContractBed {
 public:
  enum class Site { kA, kB };

  ContractBed() = default;
  virtual ~ContractBed() = default;
  ContractBed(const ContractBed&) = delete;
  ContractBed& operator=(const ContractBed&) = delete;

  /// Connected as the CSI user.
  virtual Cluster& ClusterFor(Site site) = 0;
  virtual int64_t PoolId(Site site) = 0;
  virtual std::string PoolName() = 0;

  virtual absl::Status CreateImage(Site site, const std::string& name,
                                   uint64_t bytes) = 0;
  /// A clone of a snapshot of `parent`.
  virtual absl::Status CreateClone(Site site, const std::string& parent,
                                   const std::string& clone) = 0;
  /// Fills the image with something that depends on `value` alone.
  virtual absl::Status Write(Site site, const std::string& image,
                             uint64_t value) = 0;
  /// Equal exactly when the contents are.
  virtual absl::StatusOr<std::string> Fingerprint(Site site,
                                                  const std::string& image) = 0;
  virtual absl::Status CreateOmap(Site site, const std::string& object,
                                  const OmapValues& values) = 0;

  /// Leaves the rbd group as a client does that dies while it adds the image
  /// with this internal id, which may be gone.
  virtual absl::Status LeaveGroupImageIncomplete(
      Site site, const std::string& group, const std::string& image_id) = 0;

  /// rbd-mirror does nothing any more (SIGSTOP), for less than 20 s; and goes
  /// on.
  virtual absl::Status FreezeMirrorDaemon(Site site) = 0;
  virtual absl::Status ThawMirrorDaemon(Site site) = 0;

  /// Looks again and again until `condition` holds; false: not within
  /// `timeout`.
  virtual bool WaitFor(const std::function<bool()>& condition,
                       std::chrono::seconds timeout) = 0;

  /// Set by the suite: the mirrored images exist.
  bool prepared = false;
};

struct BedFactory {
  const char* name;
  std::unique_ptr<ContractBed> (*make)();  // nullptr: no bed
  friend std::ostream& operator<<(std::ostream& out,
                                  const BedFactory& factory) {
    return out << factory.name;
  }
};

class ContractTest : public ::testing::TestWithParam<BedFactory> {
 protected:
  using Site = ContractBed::Site;
  static constexpr Site kA = Site::kA;
  static constexpr Site kB = Site::kB;
  static constexpr uint64_t kBytes = uint64_t{16} << 20;
  // An image that appears, is copied or comes back after a resync.
  static constexpr std::chrono::seconds kCopyLimit{60};
  // Statuses are rewritten every 30 s.
  static constexpr std::chrono::seconds kStatusLimit{45};
  /// Images that are mirrored from a to b. The first is for looking only, each
  /// of the others is used up by one test. They are made together, so that a
  /// real rbd-mirror copies them at the same time.
  static constexpr const char* kStanding = "contract-standing";
  static constexpr const char* kSnapshots = "contract-snapshots";
  static constexpr const char* kFailover = "contract-failover";
  static constexpr const char* kDemoted = "contract-demoted";
  static constexpr const char* kForced = "contract-forced";
  static constexpr const char* kDisabled = "contract-disabled";
  static constexpr const char* kAbandoned = "contract-abandoned";

  static void TearDownTestSuite() { Shared().reset(); }

  void SetUp() override {
    if (Shared() == nullptr) Shared() = GetParam().make();
    ASSERT_NE(Shared(), nullptr) << "no bed " << GetParam().name;
  }

  static ContractBed& bed() { return *Shared(); }

  static std::unique_ptr<Pool> OpenPool(Site site, Access access) {
    auto pool = bed().ClusterFor(site).OpenPool(bed().PoolId(site), "", access);
    EXPECT_OK(pool);
    return pool.ok() ? *std::move(pool) : nullptr;
  }

  /// A fresh look; nullptr: no such image now.
  static std::unique_ptr<Image> Look(Site site, const std::string& name) {
    const auto pool = OpenPool(site, Access::kRead);
    auto image = pool->OpenImageReadOnly(name);
    return image.ok() ? *std::move(image) : nullptr;
  }

  /// Opens for writing, calls `change`, closes.
  static absl::Status Change(
      Site site, const std::string& name,
      const std::function<absl::Status(Image&)>& change) {
    const auto pool = OpenPool(site, Access::kMutate);
    auto image = pool->OpenImage(name);
    if (!image.ok()) return image.status();
    const absl::Status status = change(**image);
    EXPECT_OK((*image)->Close());
    return status;
  }

  static std::optional<MirrorSnapshot> Newest(Site site,
                                              const std::string& name) {
    const auto image = Look(site, name);
    if (image == nullptr) return std::nullopt;
    const auto snapshots = image->MirrorSnapshots();
    if (!snapshots.ok() || snapshots->empty()) return std::nullopt;
    return snapshots->back();
  }

  static bool NewestIs(Site site, const std::string& name,
                       MirrorSnapshotKind kind) {
    const auto newest = Newest(site, name);
    return newest && newest->kind == kind && newest->complete;
  }

  static std::optional<SiteStatus> StatusOf(Site site, const std::string& name,
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

  static bool StatusIsUp(Site site, const std::string& name, bool local,
                         MirrorStatusState state) {
    const auto status = StatusOf(site, name, local);
    return status && status->up && status->state == state;
  }

  static std::string IdOf(Site site, const std::string& name) {
    const auto image = Look(site, name);
    if (image == nullptr) return "";
    const auto id = image->Id();
    return id.ok() ? *id : "";
  }

  static bool IsPrimary(Site site, const std::string& name) {
    const auto image = Look(site, name);
    if (image == nullptr) return false;
    const auto info = image->MirrorInfo();
    return info.ok() && info->state == MirrorImageState::kEnabled &&
           info->primary;
  }

  static std::string MirrorUuid(Site site) {
    const auto uuid = OpenPool(site, Access::kRead)->MirrorUuid();
    EXPECT_OK(uuid);
    return uuid.ok() ? *uuid : "";
  }

  static std::set<uint64_t> ClientIds(
      const absl::StatusOr<std::vector<Watcher>>& watchers) {
    EXPECT_OK(watchers);
    std::set<uint64_t> ids;
    if (!watchers.ok()) return ids;
    for (const Watcher& watcher : *watchers) ids.insert(watcher.client_id);
    return ids;
  }

  static std::set<uint64_t> MirrorClients(Site site) {
    return ClientIds(
        OpenPool(site, Access::kRead)->ListWatchers("rbd_mirroring"));
  }

  static void MakeImage(Site site, const std::string& name) {
    ASSERT_OK(bed().CreateImage(site, name, kBytes));
  }

  /// One of the images above: written, enabled on a, copied to b.
  static void NeedMirrored(const std::string& name) {
    if (!bed().prepared) {
      for (const char* const each : {kStanding, kSnapshots, kFailover, kDemoted,
                                     kForced, kDisabled, kAbandoned}) {
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

  /// Promotes as soon as rbd-mirror has let go of the image.
  static absl::Status PromoteSoon(Site site, const std::string& name,
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

  static std::string Spec(const std::string& image) {
    return absl::StrCat(bed().PoolName(), "/", image);
  }

  static absl::StatusOr<std::string> Schedule(const std::string& verb,
                                              const std::string& level,
                                              const nlohmann::json& more = {}) {
    nlohmann::json command = {
        {"prefix", "rbd mirror snapshot schedule " + verb},
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

  static nlohmann::json ScheduleOf(const std::string& level) {
    const auto text = Schedule("list", level);
    EXPECT_OK(text);
    return text.ok() ? nlohmann::json::parse(*text, nullptr, false)
                     : nlohmann::json();
  }

 private:
  static std::unique_ptr<ContractBed>& Shared() {
    static std::unique_ptr<ContractBed> bed;
    return bed;
  }
};

/// A status that carries this errno.
MATCHER_P(HasErrno, error, absl::StrCat("carries errno ", error)) {
  *result_listener << testing::ToStatus(arg).ToString();
  return CephErrno(testing::ToStatus(arg)) == error;
}

namespace contract {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// --- omap
// ------------------------------------------------------------------------

TEST_P(ContractTest, OmapReadGivesTheEntriesWithThePrefix) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-prefix",
                             {{"csi.a", "1"}, {"csi.b", ""}, {"other", "3"}}));
  const auto values =
      OpenPool(kA, Access::kRead)->ReadOmap("omap-prefix", "csi.");
  ASSERT_OK(values);
  EXPECT_THAT(*values,
              UnorderedElementsAre(Pair("csi.a", "1"), Pair("csi.b", "")));
}

TEST_P(ContractTest, OmapReadGivesMoreEntriesThanOnePageHolds) {
  OmapValues many;
  for (int i = 0; i < 1500; ++i)
    many[absl::StrFormat("key-%04d", i)] = absl::StrCat(i);
  ASSERT_OK(bed().CreateOmap(kA, "omap-many", many));
  const auto values = OpenPool(kA, Access::kRead)->ReadOmap("omap-many", "");
  ASSERT_OK(values);
  EXPECT_EQ(*values, many);
}

TEST_P(ContractTest, OmapReadOfAnAbsentObjectIsNotFound) {
  EXPECT_THAT(OpenPool(kA, Access::kRead)->ReadOmap("omap-absent", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, ReplaceChangesTheExpectedValue) {
  ASSERT_OK(
      bed().CreateOmap(kA, "omap-replace", {{"id", "old"}, {"name", "n"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-replace", "id", "old", "new");
  ASSERT_OK(replaced);
  EXPECT_TRUE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-replace", ""),
              UnorderedElementsAre(Pair("id", "new"), Pair("name", "n")));
}

TEST_P(ContractTest, ReplaceLeavesAnUnexpectedValue) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-other", {{"id", "theirs"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-other", "id", "old", "new");
  ASSERT_OK(replaced);
  EXPECT_FALSE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-other", ""),
              ElementsAre(Pair("id", "theirs")));
}

TEST_P(ContractTest, ReplaceSetsAnAbsentKeyWhenNoneIsExpected) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-set", {{"name", "n"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-set", "id", std::nullopt, "new");
  ASSERT_OK(replaced);
  EXPECT_TRUE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-set", "id"),
              ElementsAre(Pair("id", "new")));
}

TEST_P(ContractTest, ReplaceLeavesAPresentKeyWhenNoneIsExpected) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-present", {{"id", "theirs"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced =
      pool->ReplaceOmapValue("omap-present", "id", std::nullopt, "new");
  ASSERT_OK(replaced);
  EXPECT_FALSE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-present", ""),
              ElementsAre(Pair("id", "theirs")));
}

TEST_P(ContractTest, ReplaceDoesNothingWhenTheExpectedKeyIsAbsent) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-gone", {{"name", "n"}}));
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto replaced = pool->ReplaceOmapValue("omap-gone", "id", "old", "new");
  ASSERT_OK(replaced);
  EXPECT_FALSE(*replaced);
  EXPECT_THAT(*pool->ReadOmap("omap-gone", "id"), IsEmpty());
}

TEST_P(ContractTest, ReplaceNeverCreatesTheObject) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_THAT(pool->ReplaceOmapValue("omap-never", "id", std::nullopt, "new"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->ReadOmap("omap-never", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

// --- what is not there
// ---------------------------------------------------------------

TEST_P(ContractTest, UnknownPoolIsNotFound) {
  EXPECT_THAT(bed().ClusterFor(kA).OpenPool(4711, "", Access::kRead),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, AbsentImageIsNotFoundHoweverItIsOpened) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_THAT(pool->OpenImageReadOnly("absent"), HasErrno(ENOENT));
  EXPECT_THAT(pool->OpenImageByIdReadOnly("ffffffff"), HasErrno(ENOENT));
  EXPECT_THAT(pool->OpenImage("absent"), HasErrno(ENOENT));
}

TEST_P(ContractTest, WatchersOfAnAbsentObjectAreNotFound) {
  EXPECT_THAT(OpenPool(kA, Access::kRead)->ListWatchers("absent"),
              StatusIs(absl::StatusCode::kNotFound));
}

// --- plain images
// ---------------------------------------------------------------------

TEST_P(ContractTest, ImageIsOpenedByItsId) {
  MakeImage(kA, "plain-id");
  const std::string id = IdOf(kA, "plain-id");
  const auto image = OpenPool(kA, Access::kRead)->OpenImageByIdReadOnly(id);
  ASSERT_OK(image);
  EXPECT_EQ((*image)->name(), "plain-id");
}

TEST_P(ContractTest, SizeAndCreationTimeAreTold) {
  MakeImage(kA, "plain-size");
  const auto image = Look(kA, "plain-size");
  ASSERT_NE(image, nullptr);
  const auto size = image->Size();
  ASSERT_OK(size);
  EXPECT_EQ(size->bytes, kBytes);
  EXPECT_EQ(size->object_bytes * size->objects, kBytes);
  const auto created = image->CreateTimestamp();
  ASSERT_OK(created);
  EXPECT_GT(created->seconds, 0);
}

TEST_P(ContractTest, ReadOnlyHandleLeavesNoWatch) {
  MakeImage(kA, "plain-read");
  const auto first = Look(kA, "plain-read");
  const auto second = Look(kA, "plain-read");
  ASSERT_NE(second, nullptr);
  EXPECT_THAT(ClientIds(second->Watchers()), IsEmpty());
}

TEST_P(ContractTest, WritableHandleIsWatchedByOneOfOurClients) {
  MakeImage(kA, "plain-write");
  const auto image = OpenPool(kA, Access::kMutate)->OpenImage("plain-write");
  ASSERT_OK(image);
  const auto watchers = ClientIds((*image)->Watchers());
  EXPECT_THAT(watchers, SizeIs(1));
  const auto own = bed().ClusterFor(kA).OwnClientIds();
  EXPECT_THAT(std::set<uint64_t>(own.begin(), own.end()),
              IsSupersetOf(watchers));
}

TEST_P(ContractTest, ClosingAWritableHandleEndsItsWatch) {
  MakeImage(kA, "plain-close");
  ASSERT_OK(Change(kA, "plain-close", [](Image&) { return absl::OkStatus(); }));
  EXPECT_THAT(ClientIds(Look(kA, "plain-close")->Watchers()), IsEmpty());
}

TEST_P(ContractTest, UnusedImageIsNotLocked) {
  MakeImage(kA, "plain-lock");
  const auto lockers = Look(kA, "plain-lock")->Lockers();
  ASSERT_OK(lockers);
  EXPECT_THAT(*lockers, IsEmpty());
}

TEST_P(ContractTest, MetadataIsKeptUnderItsKey) {
  MakeImage(kA, "plain-meta");
  ASSERT_OK(Change(kA, "plain-meta", [](Image& image) {
    return image.SetMetadata(".rbd.image.creation_time", "seconds:1");
  }));
  EXPECT_THAT(*Look(kA, "plain-meta")->Metadata(".rbd.image.creation_time"),
              Optional(Eq("seconds:1")));
}

TEST_P(ContractTest, AbsentMetadataIsNoError) {
  MakeImage(kA, "plain-nometa");
  const auto value = Look(kA, "plain-nometa")->Metadata("absent");
  ASSERT_OK(value);
  EXPECT_EQ(*value, std::nullopt);
}

TEST_P(ContractTest, MetadataIsListedByPrefix) {
  MakeImage(kA, "plain-list");
  ASSERT_OK(Change(kA, "plain-list", [](Image& image) {
    absl::Status status = image.SetMetadata("csi/a", "1");
    status.Update(image.SetMetadata("csi/b", "2"));
    status.Update(image.SetMetadata("other", "3"));
    return status;
  }));
  EXPECT_THAT(*Look(kA, "plain-list")->ListMetadata("csi/"),
              UnorderedElementsAre(Pair("csi/a", "1"), Pair("csi/b", "2")));
}

TEST_P(ContractTest, RemovingMetadataTwiceIsOk) {
  MakeImage(kA, "plain-remove");
  ASSERT_OK(Change(kA, "plain-remove",
                   [](Image& image) { return image.SetMetadata("k", "v"); }));
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(Change(kA, "plain-remove",
                     [](Image& image) { return image.RemoveMetadata("k"); }));
  }
  EXPECT_EQ(*Look(kA, "plain-remove")->Metadata("k"), std::nullopt);
}

TEST_P(ContractTest, CloneNamesItsParent) {
  MakeImage(kA, "parent-1");
  ASSERT_OK(bed().CreateClone(kA, "parent-1", "clone-1"));
  const auto parent = Look(kA, "clone-1")->Parent();
  ASSERT_OK(parent);
  ASSERT_TRUE(parent->has_value());
  EXPECT_EQ((*parent)->image_name, "parent-1");
  EXPECT_EQ((*parent)->image_id, IdOf(kA, "parent-1"));
  EXPECT_EQ((*parent)->pool_id, bed().PoolId(kA));
  EXPECT_EQ((*parent)->pool_name, bed().PoolName());
  EXPECT_FALSE((*parent)->in_trash);
}

TEST_P(ContractTest, ImageThatIsNoCloneHasNoParent) {
  MakeImage(kA, "plain-parent");
  const auto parent = Look(kA, "plain-parent")->Parent();
  ASSERT_OK(parent);
  EXPECT_FALSE(parent->has_value());
}

TEST_P(ContractTest, FlattenReportsProgressAndRemovesTheParent) {
  MakeImage(kA, "parent-2");
  ASSERT_OK(bed().CreateClone(kA, "parent-2", "clone-2"));
  int calls = 0;
  ASSERT_OK(Change(kA, "clone-2", [&](Image& image) {
    return image.Flatten([&](uint64_t done, uint64_t total) {
      calls += done <= total ? 1 : 0;
      return true;
    });
  }));
  EXPECT_GT(calls, 0);
  EXPECT_FALSE(Look(kA, "clone-2")->Parent()->has_value());
}

TEST_P(ContractTest, CloneOfAnUnmirroredParentCannotBeMirrored) {
  MakeImage(kA, "parent-3");
  ASSERT_OK(bed().CreateClone(kA, "parent-3", "clone-3"));
  EXPECT_THAT(Change(kA, "clone-3",
                     [](Image& image) {
                       return image.MirrorEnable(MirrorMode::kSnapshot);
                     }),
              HasErrno(EINVAL));
}

// --- images that are not mirrored
// ---------------------------------------------------------

TEST_P(ContractTest, UnmirroredImageIsDisabledAndHasNoRole) {
  MakeImage(kA, "plain-off");
  const auto info = Look(kA, "plain-off")->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kDisabled);
  const auto by_id =
      OpenPool(kA, Access::kRead)->MirrorInfoById(IdOf(kA, "plain-off"));
  ASSERT_OK(by_id);
  EXPECT_FALSE(by_id->has_value());
}

TEST_P(ContractTest, DisablingAnUnmirroredImageIsOk) {
  MakeImage(kA, "plain-disable");
  EXPECT_OK(Change(kA, "plain-disable", [](Image& image) {
    return image.MirrorDisable(Force::kNo);
  }));
}

TEST_P(ContractTest, UnmirroredImageCannotChangeItsRole) {
  MakeImage(kA, "plain-role");
  EXPECT_THAT(
      Change(kA, "plain-role",
             [](Image& image) { return image.MirrorPromote(Force::kNo); }),
      HasErrno(ENOENT));
  EXPECT_THAT(Change(kA, "plain-role",
                     [](Image& image) { return image.MirrorDemote(); }),
              HasErrno(EINVAL));
  EXPECT_THAT(Change(kA, "plain-role",
                     [](Image& image) { return image.MirrorResync(); }),
              HasErrno(ENOENT));
}

// --- the pool
// -------------------------------------------------------------------------------

TEST_P(ContractTest, PoolIsMirroredImageByImage) {
  EXPECT_EQ(*OpenPool(kA, Access::kRead)->MirrorMode(), PoolMirrorMode::kImage);
}

TEST_P(ContractTest, EachSiteReceivesFromTheOther) {
  for (const auto& [here, there] : {std::pair(kA, kB), std::pair(kB, kA)}) {
    const auto peers = OpenPool(here, Access::kRead)->MirrorPeers();
    ASSERT_OK(peers);
    ASSERT_THAT(*peers, SizeIs(1));
    EXPECT_TRUE(peers->front().receives);
    EXPECT_FALSE(peers->front().uuid.empty());
    // Known from the first call of the peer's daemon on.
    EXPECT_TRUE(bed().WaitFor(
        [&] {
          return OpenPool(here, Access::kRead)
                     ->MirrorPeers()
                     ->front()
                     .mirror_uuid == MirrorUuid(there);
        },
        kCopyLimit));
  }
}

TEST_P(ContractTest, BothDaemonsWatchTheMirroringObject) {
  EXPECT_TRUE(
      bed().WaitFor([] { return MirrorClients(kA).size() == 2; }, kCopyLimit));
  EXPECT_TRUE(
      bed().WaitFor([] { return MirrorClients(kB).size() == 2; }, kCopyLimit));
}

// --- a mirrored image at rest
// ------------------------------------------------------------------

TEST_P(ContractTest, EnabledImageIsPrimaryWithACompleteSnapshot) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto info = Look(kA, kStanding)->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kEnabled);
  EXPECT_EQ(info->mode, MirrorMode::kSnapshot);
  EXPECT_TRUE(info->primary);
  EXPECT_FALSE(info->global_id.empty());
  EXPECT_TRUE(NewestIs(kA, kStanding, MirrorSnapshotKind::kPrimary));
}

TEST_P(ContractTest, CopyIsNonPrimaryAndHasTheSameGlobalId) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto info = Look(kB, kStanding)->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kEnabled);
  EXPECT_FALSE(info->primary);
  EXPECT_EQ(info->global_id, Look(kA, kStanding)->MirrorInfo()->global_id);
}

TEST_P(ContractTest, CopiedSnapshotNamesItsOrigin) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto copy = Newest(kB, kStanding);
  const auto original = Newest(kA, kStanding);
  ASSERT_TRUE(copy && original);
  EXPECT_EQ(copy->primary_mirror_uuid, MirrorUuid(kA));
  EXPECT_EQ(copy->primary_snapshot_id, original->id);
  EXPECT_GT(copy->last_copied_object, 0U);
}

TEST_P(ContractTest, NewestCopiedSnapshotStillListsThePeer) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto original = Newest(kA, kStanding);
  ASSERT_TRUE(original);
  EXPECT_THAT(
      original->unsynced_peer_uuids,
      ElementsAre(OpenPool(kA, Access::kRead)->MirrorPeers()->front().uuid));
}

TEST_P(ContractTest, CopyHasTheContentAndSize) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_EQ(*bed().Fingerprint(kA, kStanding),
            *bed().Fingerprint(kB, kStanding));
  EXPECT_EQ(Look(kB, kStanding)->Size()->bytes, kBytes);
}

TEST_P(ContractTest, RoleIsKnownByIdOnBothSites) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  for (const auto& [site, primary] :
       {std::pair(kA, true), std::pair(kB, false)}) {
    const auto info =
        OpenPool(site, Access::kRead)->MirrorInfoById(IdOf(site, kStanding));
    ASSERT_OK(info);
    ASSERT_TRUE(info->has_value());
    EXPECT_EQ((*info)->primary, primary);
    EXPECT_EQ((*info)->state, MirrorImageState::kEnabled);
    EXPECT_EQ((*info)->mode, MirrorMode::kSnapshot);
  }
}

TEST_P(ContractTest, EnablingAgainIsOkOnBothSites) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto before = Newest(kA, kStanding);
  EXPECT_OK(Change(kA, kStanding, [](Image& image) {
    return image.MirrorEnable(MirrorMode::kSnapshot);
  }));
  EXPECT_OK(Change(kB, kStanding, [](Image& image) {
    return image.MirrorEnable(MirrorMode::kSnapshot);
  }));
  EXPECT_EQ(Newest(kA, kStanding)->id, before->id);
}

TEST_P(ContractTest, EnablingInTheOtherModeIsRefused) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(Change(kA, kStanding,
                     [](Image& image) {
                       return image.MirrorEnable(MirrorMode::kJournal);
                     }),
              HasErrno(EINVAL));
}

TEST_P(ContractTest, PrimaryCannotBePromoted) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(
      Change(kA, kStanding,
             [](Image& image) { return image.MirrorPromote(Force::kNo); }),
      HasErrno(EINVAL));
}

TEST_P(ContractTest, PrimaryCannotBeResynced) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(
      Change(kA, kStanding, [](Image& image) { return image.MirrorResync(); }),
      HasErrno(EINVAL));
}

TEST_P(ContractTest, PromotingWhileThePeerIsPrimaryIsBusy) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(
      Change(kB, kStanding,
             [](Image& image) { return image.MirrorPromote(Force::kNo); }),
      HasErrno(EBUSY));
}

TEST_P(ContractTest, SecondaryCannotBeDemoted) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(
      Change(kB, kStanding, [](Image& image) { return image.MirrorDemote(); }),
      HasErrno(EINVAL));
}

TEST_P(ContractTest, SecondaryMakesNoMirrorSnapshots) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(Change(kB, kStanding,
                     [](Image& image) {
                       return image.CreateMirrorSnapshot().status();
                     }),
              HasErrno(EINVAL));
}

TEST_P(ContractTest, SecondaryIsDisabledByForceOnly) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(
      Change(kB, kStanding,
             [](Image& image) { return image.MirrorDisable(Force::kNo); }),
      HasErrno(EINVAL));
}

TEST_P(ContractTest, SecondarysMetadataIsReadOnly) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(Change(kB, kStanding,
                     [](Image& image) { return image.SetMetadata("k", "v"); }),
              HasErrno(EROFS));
}

TEST_P(ContractTest, PrimaryIsWatchedByThePeersDaemonOnly) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto watched = [] {
    return !ClientIds(Look(kA, kStanding)->Watchers()).empty();
  };
  ASSERT_TRUE(bed().WaitFor(watched, kCopyLimit));
  EXPECT_THAT(MirrorClients(kA),
              IsSupersetOf(ClientIds(Look(kA, kStanding)->Watchers())));
}

TEST_P(ContractTest, SecondaryIsWatchedAndLockedByItsDaemon) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto locked = [] { return !Look(kB, kStanding)->Lockers()->empty(); };
  ASSERT_TRUE(bed().WaitFor(locked, kCopyLimit));
  const auto image = Look(kB, kStanding);
  const auto watchers = ClientIds(image->Watchers());
  ASSERT_THAT(watchers, SizeIs(1));
  EXPECT_THAT(MirrorClients(kB), IsSupersetOf(watchers));
  const auto lockers = image->Lockers();
  ASSERT_OK(lockers);
  EXPECT_THAT(*lockers,
              ElementsAre(Field(&Locker::client,
                                absl::StrCat("client.", *watchers.begin()))));
}

TEST_P(ContractTest, PrimarysStatusOfItselfIsStopped) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  ASSERT_TRUE(bed().WaitFor(
      [] {
        return StatusIsUp(kA, kStanding, true, MirrorStatusState::kStopped);
      },
      kStatusLimit));
  EXPECT_EQ(StatusOf(kA, kStanding, true)->description,
            "local image is primary");
}

TEST_P(ContractTest, ReplayingStatusEndsInOneJsonObject) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  // Seen from the primary, and the first one written may still be "starting
  // replay".
  const auto idle = [] {
    const auto status = StatusOf(kA, kStanding, false);
    return status && status->up &&
           status->state == MirrorStatusState::kReplaying &&
           status->description.find("\"local_snapshot_timestamp\"") !=
               std::string::npos;
  };
  ASSERT_TRUE(bed().WaitFor(idle, kStatusLimit));
  const auto status = StatusOf(kA, kStanding, false);
  EXPECT_EQ(status->mirror_uuid, MirrorUuid(kB));
  const size_t comma = status->description.find(", ");
  ASSERT_NE(comma, std::string::npos);
  EXPECT_EQ(status->description.substr(0, comma), "replaying");
  const auto json = nlohmann::json::parse(status->description.substr(comma + 2),
                                          nullptr, false);
  ASSERT_TRUE(json.is_object()) << status->description;
  EXPECT_EQ(json.value("replay_state", ""), "idle");
  EXPECT_GT(json.value("local_snapshot_timestamp", int64_t{0}), 0);
  EXPECT_EQ(json.value("local_snapshot_timestamp", int64_t{0}),
            json.value("remote_snapshot_timestamp", int64_t{-1}));
}

TEST_P(ContractTest, SecondarySeesBothStatusesItsOwnFirst) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  ASSERT_TRUE(bed().WaitFor(
      [] {
        return StatusIsUp(kB, kStanding, true, MirrorStatusState::kReplaying) &&
               StatusIsUp(kB, kStanding, false, MirrorStatusState::kStopped);
      },
      kStatusLimit));
  const auto statuses = Look(kB, kStanding)->MirrorStatus();
  ASSERT_OK(statuses);
  ASSERT_THAT(*statuses, SizeIs(2));
  EXPECT_TRUE((*statuses)[0].local());
  EXPECT_EQ((*statuses)[1].mirror_uuid, MirrorUuid(kA));
  EXPECT_GT((*statuses)[1].last_update, 0);
}

// --- mirrored images that change
// -----------------------------------------------------------------

TEST_P(ContractTest, MirrorSnapshotArrivesWithContentAndMetadata) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kSnapshots));
  ASSERT_OK(bed().Write(kA, kSnapshots, 2));
  ASSERT_OK(Change(kA, kSnapshots, [](Image& image) {
    absl::Status status = image.SetMetadata("csi.key", "crosses");
    status.Update(image.SetMetadata(".rbd.csi.key", "stays"));
    return status;
  }));
  const auto before = Look(kB, kSnapshots);  // a handle that was open before
  absl::StatusOr<uint64_t> id;
  ASSERT_OK(Change(kA, kSnapshots, [&](Image& image) {
    id = image.CreateMirrorSnapshot();
    return id.status();
  }));
  EXPECT_EQ(Newest(kA, kSnapshots)->id, *id);
  ASSERT_TRUE(bed().WaitFor(
      [&] {
        const auto newest = Newest(kB, kSnapshots);
        return newest && newest->complete && newest->primary_snapshot_id == *id;
      },
      kCopyLimit));
  EXPECT_EQ(*bed().Fingerprint(kA, kSnapshots),
            *bed().Fingerprint(kB, kSnapshots));
  const auto copy = Look(kB, kSnapshots);
  EXPECT_THAT(*copy->Metadata("csi.key"), Optional(Eq("crosses")));
  EXPECT_EQ(*copy->Metadata(".rbd.csi.key"), std::nullopt);
  EXPECT_LT(before->MirrorSnapshots()->back().primary_snapshot_id, *id)
      << "a read-only handle does not refresh";
}

TEST_P(ContractTest, PlannedFailoverGoesThroughACompleteDemotion) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kFailover));
  ASSERT_OK(bed().Write(kA, kFailover, 3));
  ASSERT_OK(
      Change(kA, kFailover, [](Image& image) { return image.MirrorDemote(); }));
  EXPECT_TRUE(NewestIs(kA, kFailover, MirrorSnapshotKind::kPrimaryDemoted));
  EXPECT_FALSE(IsPrimary(kA, kFailover));
  EXPECT_THAT(
      Change(kA, kFailover, [](Image& image) { return image.MirrorDemote(); }),
      HasErrno(EINVAL));
  ASSERT_TRUE(bed().WaitFor(
      [] {
        return NewestIs(kB, kFailover, MirrorSnapshotKind::kNonPrimaryDemoted);
      },
      kCopyLimit));
  EXPECT_EQ(*bed().Fingerprint(kA, kFailover),
            *bed().Fingerprint(kB, kFailover));
  ASSERT_OK(PromoteSoon(kB, kFailover, Force::kNo));
  EXPECT_TRUE(IsPrimary(kB, kFailover));
  EXPECT_TRUE(NewestIs(kB, kFailover, MirrorSnapshotKind::kPrimary));
  ASSERT_OK(bed().Write(kB, kFailover, 4));
  // Replication turns round by itself.
  EXPECT_TRUE(bed().WaitFor(
      [] {
        const auto newest = Newest(kA, kFailover);
        return newest && newest->complete &&
               newest->kind == MirrorSnapshotKind::kNonPrimary &&
               newest->primary_mirror_uuid == MirrorUuid(kB);
      },
      kCopyLimit));
}

TEST_P(ContractTest, BothSidesDemotedIsUpAndUnknown) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kDemoted));
  ASSERT_OK(
      Change(kA, kDemoted, [](Image& image) { return image.MirrorDemote(); }));
  EXPECT_TRUE(bed().WaitFor(
      [] {
        return StatusIsUp(kB, kDemoted, true, MirrorStatusState::kUnknown);
      },
      kStatusLimit));
  EXPECT_THAT(ClientIds(Look(kB, kDemoted)->Watchers()), IsEmpty());
  // The demoting side may take it back.
  EXPECT_OK(PromoteSoon(kA, kDemoted, Force::kNo));
  EXPECT_TRUE(IsPrimary(kA, kDemoted));
}

TEST_P(ContractTest, SplitBrainEndsWithAResync) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kForced));
  ASSERT_OK(PromoteSoon(kB, kForced, Force::kYes));
  EXPECT_TRUE(IsPrimary(kA, kForced));
  EXPECT_TRUE(IsPrimary(kB, kForced));
  ASSERT_OK(bed().Write(kB, kForced, 5));
  ASSERT_OK(
      Change(kA, kForced, [](Image& image) { return image.MirrorDemote(); }));
  ASSERT_TRUE(bed().WaitFor(
      [] { return StatusIsUp(kA, kForced, true, MirrorStatusState::kError); },
      kStatusLimit));
  EXPECT_THAT(StatusOf(kA, kForced, true)->description,
              HasSubstr("split-brain"));

  const std::string old_id = IdOf(kA, kForced);
  ASSERT_OK(bed().FreezeMirrorDaemon(kA));
  const absl::Status requested =
      Change(kA, kForced, [](Image& image) { return image.MirrorResync(); });
  const auto request =
      Look(kA, kForced)->Metadata(absl::StrCat(".rbd_mirror.", MirrorUuid(kA)));
  ASSERT_OK(bed().ThawMirrorDaemon(kA));
  ASSERT_OK(requested);
  ASSERT_OK(request);
  EXPECT_THAT(*request, Optional(AllOf(HasSubstr("resync_requested"),
                                       HasSubstr("true"))));
  ASSERT_TRUE(bed().WaitFor(
      [&] {
        const std::string id = IdOf(kA, kForced);
        return !id.empty() && id != old_id &&
               NewestIs(kA, kForced, MirrorSnapshotKind::kNonPrimary);
      },
      kCopyLimit));
  EXPECT_EQ(Newest(kA, kForced)->primary_mirror_uuid, MirrorUuid(kB));
}

TEST_P(ContractTest, DisablingThePrimaryRemovesTheCopy) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kDisabled));
  ASSERT_OK(Schedule("add", Spec(kDisabled), {{"interval", "5m"}}));
  ASSERT_OK(Change(kA, kDisabled, [](Image& image) {
    return image.MirrorDisable(Force::kNo);
  }));
  const auto info = Look(kA, kDisabled)->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kDisabled);
  EXPECT_THAT(*Look(kA, kDisabled)->MirrorSnapshots(), IsEmpty());
  EXPECT_THAT(Schedule("remove", Spec(kDisabled)), HasErrno(EINVAL))
      << "a schedule goes before the mirroring or not at all";
  EXPECT_TRUE(
      bed().WaitFor([] { return Look(kB, kDisabled) == nullptr; }, kCopyLimit));
}

TEST_P(ContractTest, ForcedDisableLeavesAPlainImage) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kAbandoned));
  absl::Status disabled;
  // rbd-mirror may hold the image for a moment.
  bed().WaitFor(
      [&] {
        disabled = Change(kB, kAbandoned, [](Image& image) {
          return image.MirrorDisable(Force::kYes);
        });
        return disabled.ok();
      },
      std::chrono::seconds(20));
  ASSERT_OK(disabled);
  EXPECT_EQ(Look(kB, kAbandoned)->MirrorInfo()->state,
            MirrorImageState::kDisabled);
  EXPECT_TRUE(IsPrimary(kA, kAbandoned));
}

// --- commands
// ---------------------------------------------------------------------------------------

TEST_P(ContractTest, ScheduleIsListedUnderPoolNamespaceAndImageId) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  for (int i = 0; i < 2; ++i) {  // twice is the same as once
    ASSERT_OK(Schedule(
        "add", Spec(kStanding),
        {{"interval", "60m"}, {"start_time", "2026-11-20T03:00:00Z"}}));
  }
  const nlohmann::json listed = ScheduleOf(Spec(kStanding));
  const std::string key =
      absl::StrCat(bed().PoolId(kA), "//", IdOf(kA, kStanding));
  ASSERT_TRUE(listed.contains(key)) << listed.dump();
  EXPECT_EQ(listed[key]["name"], Spec(kStanding));
  ASSERT_EQ(listed[key]["schedule"].size(), 1U);
  EXPECT_EQ(listed[key]["schedule"][0]["interval"], "1h");
  EXPECT_EQ(listed[key]["schedule"][0]["start_time"], "03:00:00+00:00");

  ASSERT_OK(Schedule("remove", Spec(kStanding)));
  EXPECT_FALSE(ScheduleOf(Spec(kStanding)).contains(key));
  EXPECT_OK(Schedule("remove", Spec(kStanding)))
      << "an absent one may be removed";
}

TEST_P(ContractTest, ScheduleWithoutStartTimeHasNull) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  ASSERT_OK(Schedule("add", Spec(kStanding), {{"interval", "7m"}}));
  const nlohmann::json listed = ScheduleOf(absl::StrCat(bed().PoolName(), "/"));
  ASSERT_OK(Schedule("remove", Spec(kStanding), {{"interval", "7m"}}));
  const std::string key =
      absl::StrCat(bed().PoolId(kA), "//", IdOf(kA, kStanding));
  ASSERT_TRUE(listed.contains(key)) << listed.dump();
  ASSERT_EQ(listed[key]["schedule"].size(), 1U);
  EXPECT_EQ(listed[key]["schedule"][0]["interval"], "7m");
  EXPECT_TRUE(listed[key]["schedule"][0]["start_time"].is_null());
}

TEST_P(ContractTest, ScheduleOfAnAbsentImageIsInvalid) {
  EXPECT_THAT(Schedule("add", Spec("absent"), {{"interval", "5m"}}),
              AllOf(HasErrno(EINVAL), StatusIs(absl::StatusCode::kInternal,
                                               HasSubstr("does not exist"))));
}

TEST_P(ContractTest, ScheduleWithABadIntervalIsInvalid) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  EXPECT_THAT(Schedule("add", Spec(kStanding), {{"interval", "5x"}}),
              AllOf(HasErrno(EINVAL), StatusIs(absl::StatusCode::kInternal,
                                               HasSubstr("Invalid interval"))));
}

TEST_P(ContractTest, FlattenTaskOfAnImageWithoutParentIsNotFound) {
  MakeImage(kA, "plain-task");
  EXPECT_THAT(bed().ClusterFor(kA).MgrCommand(absl::StrCat(
                  R"({"prefix": "rbd task add flatten", "image_spec": ")",
                  Spec("plain-task"), R"("})")),
              HasErrno(ENOENT));
}

TEST_P(ContractTest, FlattenTaskEndsWithoutAParent) {
  MakeImage(kA, "parent-4");
  ASSERT_OK(bed().CreateClone(kA, "parent-4", "clone-4"));
  const auto added = bed().ClusterFor(kA).MgrCommand(
      absl::StrCat(R"({"prefix": "rbd task add flatten", "image_spec": ")",
                   Spec("clone-4"), R"("})"));
  ASSERT_OK(added);
  const auto task = nlohmann::json::parse(*added, nullptr, false);
  ASSERT_TRUE(task.is_object()) << *added;
  EXPECT_EQ(task["refs"]["action"], "flatten");
  EXPECT_EQ(task["refs"]["image_name"], "clone-4");
  EXPECT_FALSE(task.value("id", "").empty());
  EXPECT_TRUE(bed().WaitFor(
      [] { return !Look(kA, "clone-4")->Parent()->has_value(); }, kCopyLimit));
  EXPECT_TRUE(bed().WaitFor(
      [] {
        const auto listed =
            bed().ClusterFor(kA).MgrCommand(R"({"prefix": "rbd task list"})");
        return listed.ok() &&
               nlohmann::json::parse(*listed, nullptr, false).empty();
      },
      kCopyLimit));
}

TEST_P(ContractTest, UnknownManagerCommandIsInvalid) {
  EXPECT_THAT(
      bed().ClusterFor(kA).MgrCommand(R"({"prefix": "no such command"})"),
      HasErrno(EINVAL));
}

TEST_P(ContractTest, BlocklistIsTwoArraysInARow) {
  const auto listed = bed().ClusterFor(kA).MonCommand(
      R"({"prefix": "osd blocklist ls", "format": "json"})");
  ASSERT_OK(listed);
  EXPECT_THAT(*listed, HasSubstr("]["));
}

}  // namespace contract
}  // namespace addons

#endif  // ADDONS_TESTS_CONTRACT_CONTRACT_SUITE_H_
