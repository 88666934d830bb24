// Mirroring between two real clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ceph/errors.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::Eventually;
using ::addons::testing::RealBed;
using ::addons::testing::StatusIs;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class RealMirrorTest : public RealTest {
 protected:
  std::vector<MirrorSnapshot> Snapshots(const std::string& site) {
    const auto image =
        OpenPool(Access::kRead, site)->OpenImageReadOnly(ImageName(name_));
    if (!image.ok()) return {};
    return (*image)->MirrorSnapshots().value_or(std::vector<MirrorSnapshot>());
  }
  /// Waits until the newest mirror snapshot of `site` is complete and of
  /// `kind`.
  bool Reaches(const std::string& site, MirrorSnapshotKind kind) {
    return Eventually([&] {
      const auto snapshots = Snapshots(site);
      return !snapshots.empty() && snapshots.back().kind == kind &&
             snapshots.back().complete;
    });
  }
  void EnableAndSync() {
    ASSERT_OK(OpenWritable(name_)->MirrorEnable(MirrorMode::kSnapshot));
    ASSERT_TRUE(Reaches("b", MirrorSnapshotKind::kNonPrimary));
  }

  const std::string name_ = MakeImage();
};

TEST_F(RealMirrorTest, KnowsPoolModePeerAndUuids) {
  for (const std::string site : {"a", "b"}) {
    const std::string other = site == "a" ? "b" : "a";
    const auto pool = OpenPool(Access::kRead, site);
    EXPECT_EQ(pool->MirrorMode().value(), PoolMirrorMode::kImage);
    const auto in_namespace = Connect(site).value()->OpenPool(
        Bed().PoolId(site), RealBed::kNamespace, Access::kRead);
    ASSERT_OK(in_namespace);
    for (Pool* const each : {pool.get(), in_namespace->get()}) {
      const auto peers = each->MirrorPeers();
      ASSERT_OK(peers);
      ASSERT_THAT(*peers, SizeIs(1));
      EXPECT_EQ(peers->front().site_name, "site-" + other);
      EXPECT_THAT(peers->front().uuid, Not(IsEmpty()));
      EXPECT_EQ(peers->front().mirror_uuid,
                OpenPool(Access::kRead, other)->MirrorUuid().value());
    }
  }
}

TEST_F(RealMirrorTest, IsDisabledInAPoolWithoutMirroring) {
  ASSERT_OK(Bed().Run("ceph", {"a", "osd", "pool", "create", "plain", "1"}));
  const auto cluster = Connect("a").value();
  std::unique_ptr<Pool> plain;
  for (int64_t id = Bed().PoolId("a") + 1; id < 10 && !plain; ++id) {
    auto pool = cluster->OpenPool(id, "", Access::kRead);
    if (pool.ok() && (*pool)->name() == "plain") plain = *std::move(pool);
  }
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->MirrorMode().value(), PoolMirrorMode::kDisabled);
  EXPECT_THAT(plain->MirrorPeers().value(), IsEmpty());
  EXPECT_THAT(plain->MirrorUuid(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(plain->MirrorInfoById("123").value().has_value());
  EXPECT_THAT(plain->ListWatchers("rbd_mirroring"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealMirrorTest, ShowsBothSitesOfAnImage) {
  EnableAndSync();
  const std::string uuid_a = OpenPool(Access::kRead)->MirrorUuid().value();

  const auto info_a = OpenReadOnly(name_, "a")->MirrorInfo().value();
  const auto info_b = OpenReadOnly(name_, "b")->MirrorInfo().value();
  EXPECT_EQ(info_a.state, MirrorImageState::kEnabled);
  EXPECT_EQ(info_b.state, MirrorImageState::kEnabled);
  EXPECT_EQ(info_a.mode, MirrorMode::kSnapshot);
  EXPECT_TRUE(info_a.primary);
  EXPECT_FALSE(info_b.primary);
  EXPECT_THAT(info_a.global_id, Not(IsEmpty()));
  EXPECT_EQ(info_a.global_id, info_b.global_id);

  const std::vector<MirrorSnapshot> on_a = Snapshots("a");
  ASSERT_THAT(on_a, Not(IsEmpty()));
  EXPECT_EQ(on_a.back().kind, MirrorSnapshotKind::kPrimary);
  const std::vector<MirrorSnapshot> on_b = Snapshots("b");
  ASSERT_THAT(on_b, Not(IsEmpty()));
  EXPECT_EQ(on_b.back().primary_mirror_uuid, uuid_a);
  EXPECT_THAT(on_a, Contains(Field(&MirrorSnapshot::id,
                                   on_b.back().primary_snapshot_id)));
  EXPECT_LT(
      std::chrono::abs(std::chrono::system_clock::now() - on_b.back().created),
      std::chrono::minutes(5));

  // Without opening: neighbours in id order, and an id that is not mirrored.
  for (const std::string site : {"a", "b"}) {
    const std::string id = OpenReadOnly(name_, site)->Id().value();
    const auto pool = OpenPool(Access::kRead, site);
    const auto by_id = pool->MirrorInfoById(id).value();
    ASSERT_TRUE(by_id.has_value());
    EXPECT_EQ(by_id->global_id, info_a.global_id);
    EXPECT_EQ(by_id->primary, site == "a");
    EXPECT_EQ(by_id->mode, MirrorMode::kSnapshot);
    EXPECT_FALSE(pool->MirrorInfoById(id + "0").value().has_value());
    EXPECT_FALSE(
        pool->MirrorInfoById(id.substr(0, id.size() - 1)).value().has_value());
  }

  // Each daemon writes its status within its interval; the local one is first.
  std::vector<SiteStatus> status;
  EXPECT_TRUE(Eventually([&] {
    status = OpenReadOnly(name_, "b")->MirrorStatus().value();
    return status.size() == 2 &&
           status[0].state == MirrorStatusState::kReplaying &&
           status[1].state == MirrorStatusState::kStopped;
  }));
  ASSERT_THAT(status, SizeIs(2));
  EXPECT_TRUE(status[0].local());
  EXPECT_TRUE(status[0].up);
  EXPECT_THAT(status[0].description, HasSubstr("replaying, {"));
  EXPECT_GT(status[0].last_update, 0);
  EXPECT_EQ(status[1].mirror_uuid, uuid_a);
  EXPECT_EQ(status[1].description, "local image is primary");
}

TEST_F(RealMirrorTest, ListsTheMirrorDaemonsOfBothSites) {
  for (const std::string site : {"a", "b"}) {
    const auto watchers =
        OpenPool(Access::kRead, site)->ListWatchers("rbd_mirroring");
    ASSERT_OK(watchers);
    ASSERT_GE(watchers->size(), 2U);
    for (const Watcher& watcher : *watchers) {
      EXPECT_THAT(watcher.address, HasSubstr("127.0.0.1:0/"));
      EXPECT_GT(watcher.client_id, 0U);
    }
  }
}

TEST_F(RealMirrorTest, MovesToTheOtherSite) {
  EnableAndSync();
  // The peer is primary: busy, whatever the reason, is not a precondition.
  const absl::Status early =
      OpenWritable(name_, "b")->MirrorPromote(Force::kNo);
  EXPECT_THAT(early, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(CephErrno(early), EBUSY);

  ASSERT_OK(OpenWritable(name_)->MirrorDemote());
  EXPECT_TRUE(Reaches("a", MirrorSnapshotKind::kPrimaryDemoted));
  ASSERT_TRUE(Reaches("b", MirrorSnapshotKind::kNonPrimaryDemoted));
  // rbd-mirror holds its lock for a moment longer.
  absl::Status promoted;
  EXPECT_TRUE(Eventually([&] {
    promoted = OpenWritable(name_, "b")->MirrorPromote(Force::kNo);
    return promoted.ok();
  })) << promoted;
  EXPECT_TRUE(OpenReadOnly(name_, "b")->MirrorInfo().value().primary);
  EXPECT_TRUE(Reaches("a", MirrorSnapshotKind::kNonPrimary));
}

TEST_F(RealMirrorTest, TakesSnapshotsOnThePrimaryOnly) {
  EnableAndSync();
  const auto id = OpenWritable(name_)->CreateMirrorSnapshot();
  ASSERT_OK(id);
  EXPECT_THAT(Snapshots("a"), Contains(Field(&MirrorSnapshot::id, *id)));
  EXPECT_EQ(CephErrno(OpenWritable(name_)->MirrorResync()), EINVAL);
  EXPECT_TRUE(Eventually([&] {
    const auto on_b = Snapshots("b");
    return !on_b.empty() && on_b.back().primary_snapshot_id == *id &&
           on_b.back().complete;
  }));
}

TEST_F(RealMirrorTest, RequestsAResyncThroughAReadOnlyHandle) {
  EnableAndSync();
  EXPECT_THAT(OpenReadOnly(name_, "b")->MirrorResync(),
              StatusIs(absl::StatusCode::kInternal));  // of a read pool
  const std::string old_id = OpenReadOnly(name_, "b")->Id().value();
  ASSERT_OK(OpenPool(Access::kMutate, "b")
                ->OpenImageReadOnly(ImageName(name_))
                .value()
                ->MirrorResync());
  EXPECT_TRUE(Eventually([&] {
    const auto image =
        OpenPool(Access::kRead, "b")->OpenImageReadOnly(ImageName(name_));
    return image.ok() && (*image)->Id().value_or(old_id) != old_id;
  }));
  EXPECT_TRUE(Reaches("b", MirrorSnapshotKind::kNonPrimary));
}

TEST_F(RealMirrorTest, EndsWithDisable) {
  EnableAndSync();
  ASSERT_OK(OpenWritable(name_)->MirrorDisable(Force::kNo));
  EXPECT_EQ(OpenReadOnly(name_)->MirrorInfo().value().state,
            MirrorImageState::kDisabled);
  EXPECT_TRUE(Eventually([&] {
    return OpenPool(Access::kRead, "b")
               ->OpenImageReadOnly(ImageName(name_))
               .status()
               .code() == absl::StatusCode::kNotFound;
  }));
}

}  // namespace
}  // namespace addons
