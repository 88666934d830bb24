#include "volume/volume_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/volume/journal_fixtures.h"
#include "tests/unit/volume/memory_cluster.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

using ::addons::testing::kFixtureIds;
using ::addons::testing::MemoryCluster;
using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kUuid[] = "11111111-2222-3333-4444-555555555555";
constexpr char kObject[] = "csi.volume.11111111-2222-3333-4444-555555555555";

class VolumeJournalTest : public ::testing::Test {
 protected:
  VolumeJournalTest() {
    cluster_.PutFixtures();
    pool_ = *cluster_.OpenPool(2, "", Access::kRead);
  }

  absl::StatusOr<VolumeAttributes> Read(const std::string& uuid) {
    return VolumeJournal(*pool_).Read(uuid);
  }
  absl::StatusOr<bool> Correct(const std::string& image_id) {
    return VolumeJournal(*pool_).CorrectImageId(kUuid, image_id);
  }

  MemoryCluster cluster_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(VolumeJournalTest, ReadsAVolumeOfARealProvisioner) {
  const auto volume = Read("b891b493-7754-470d-b2a0-4ca18f698b29");
  ASSERT_OK(volume);
  EXPECT_EQ(volume->request_name, "pvc-fix-000");
  EXPECT_EQ(volume->image_name.text(),
            "csi-vol-b891b493-7754-470d-b2a0-4ca18f698b29");
  EXPECT_EQ(volume->image_id, "1031a976f30a");
  EXPECT_EQ(volume->owner, "ns1");
  EXPECT_EQ(volume->kms_id, "");
  EXPECT_EQ(volume->encryption_type, "");
}

TEST_F(VolumeJournalTest, ReadsAnEncryptedVolumeOfARealProvisioner) {
  const auto volume = Read("75cfeba3-a45c-417c-8214-5babf564aa10");
  ASSERT_OK(volume);
  EXPECT_EQ(volume->kms_id, "kms-md");
  EXPECT_EQ(volume->encryption_type, "block");
}

TEST_F(VolumeJournalTest, ReadsAVolumeWithAnotherNamePrefix) {
  EXPECT_EQ(Read("892ea53a-f435-4550-b697-2182e85e71c5")->image_name.text(),
            "team-x-892ea53a-f435-4550-b697-2182e85e71c5");
}

TEST_F(VolumeJournalTest, ReadsAVolumeInANamespace) {
  const auto pool = cluster_.OpenPool(2, "tenant1", Access::kRead);
  const auto volume =
      VolumeJournal(**pool).Read("9b419548-9c2b-4aaf-800a-f51e429a1f0f");
  ASSERT_OK(volume);
  EXPECT_EQ(volume->request_name, "pvc-fix-ns");
  EXPECT_EQ(volume->image_id, "1031f6a98cb1");
}

TEST_F(VolumeJournalTest, FindsEveryVolumeOfARealProvisioner) {
  int volumes = 0;
  for (const auto& fixture : kFixtureIds) {
    const std::string name = fixture.request_name;
    if (!absl::StartsWith(name, "pvc-")) continue;
    const VolumeId id = VolumeId::Parse(fixture.id).value();
    const auto pool = cluster_.OpenPool(
        id.pool_id, id.cluster_id.text() == "peer-ns" ? "tenant1" : "",
        Access::kRead);
    const auto volume = VolumeJournal(**pool).Read(id.uuid);
    ASSERT_OK(volume) << name;
    EXPECT_EQ(volume->request_name, name);
    ++volumes;
  }
  EXPECT_EQ(volumes, 9);
}

TEST_F(VolumeJournalTest, DoesNotFindWhatIsNoVolume) {
  // A snapshot, a group, nothing at all.
  for (const char* uuid : {"5ef79ce1-81e8-439b-8405-35138edf5b89",
                           "1603eb04-e188-4ec4-a750-bec38d49ac0a", kUuid}) {
    EXPECT_THAT(Read(uuid), StatusIs(absl::StatusCode::kNotFound,
                                     AllOf(HasSubstr("'csi.volume."),
                                           HasSubstr("pool 'replicapool'"))));
  }
}

TEST_F(VolumeJournalTest, TakesAStubForNoVolume) {
  cluster_.Put(2, "", kObject, {{"csi.imageid", "1031a976f30a"}});
  EXPECT_THAT(Read(kUuid),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("is a stub")));
}

TEST_F(VolumeJournalTest, DerivesAMissingImageName) {
  cluster_.Put(2, "", kObject, {{"csi.volname", "pvc-1"}});
  const auto volume = Read(kUuid);
  ASSERT_OK(volume);
  EXPECT_EQ(volume->image_name.text(), std::string("csi-vol-") + kUuid);
  EXPECT_EQ(volume->image_id, "");
}

TEST_F(VolumeJournalTest, PassesErrorsOn) {
  cluster_.SetHook(
      [](const std::string&) { return CephError(-110, "read", "omap"); });
  const auto volume = Read(kUuid);
  EXPECT_THAT(volume, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               StartsWith("Failed to read journal object")));
  EXPECT_EQ(CephErrno(volume.status()), 110);
}

TEST_F(VolumeJournalTest, CorrectsTheImageId) {
  cluster_.PutVolume(2, kUuid);
  const auto changed = Correct("1027bfa63d5b");
  ASSERT_OK(changed);
  EXPECT_TRUE(*changed);
  EXPECT_EQ(cluster_.Get(2, "", kObject)["csi.imageid"], "1027bfa63d5b");
}

TEST_F(VolumeJournalTest, AddsAMissingImageId) {
  cluster_.Put(2, "", kObject, {{"csi.volname", "pvc-1"}});
  const auto changed = Correct("1027bfa63d5b");
  ASSERT_OK(changed);
  EXPECT_TRUE(*changed);
  EXPECT_EQ(cluster_.Get(2, "", kObject)["csi.imageid"], "1027bfa63d5b");
}

TEST_F(VolumeJournalTest, WritesNothingWhenTheImageIdIsRight) {
  cluster_.PutVolume(2, kUuid);
  const auto changed = Correct("1031a976f30a");
  ASSERT_OK(changed);
  EXPECT_FALSE(*changed);
  EXPECT_EQ(cluster_.CountCalls(std::string("ReplaceOmapValue ") + kObject), 0);
}

TEST_F(VolumeJournalTest, NeverCreatesAnObject) {
  const auto changed = Correct("1027bfa63d5b");
  ASSERT_OK(changed);
  EXPECT_FALSE(*changed);
  EXPECT_EQ(cluster_.CountCalls(std::string("ReplaceOmapValue ") + kObject), 0);
}

TEST_F(VolumeJournalTest, LeavesAStubAsItIs) {
  cluster_.Put(2, "", kObject, {{"csi.imageid", "old"}});
  const auto changed = Correct("1027bfa63d5b");
  ASSERT_OK(changed);
  EXPECT_FALSE(*changed);
  EXPECT_EQ(cluster_.Get(2, "", kObject)["csi.imageid"], "old");
}

TEST_F(VolumeJournalTest, RefusesAnEmptyImageId) {
  cluster_.PutVolume(2, kUuid);
  EXPECT_THAT(Correct(""), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(cluster_.Get(2, "", kObject)["csi.imageid"], "1031a976f30a");
}

TEST_F(VolumeJournalTest, GivesWayToSomebodyElsesChange) {
  cluster_.PutVolume(2, kUuid);
  cluster_.SetHook([this](const std::string& call) {
    if (call == std::string("ReplaceOmapValue ") + kObject) {
      cluster_.Put(2, "", kObject, {{"csi.imageid", "theirs"}});
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(Correct("1027bfa63d5b"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(cluster_.Get(2, "", kObject)["csi.imageid"], "theirs");
}

TEST_F(VolumeJournalTest, GivesWayToSomebodyWhoDeletesTheVolume) {
  cluster_.PutVolume(2, kUuid);
  cluster_.SetHook([this](const std::string& call) {
    if (call == std::string("ReplaceOmapValue ") + kObject) {
      cluster_.Erase(2, "", kObject);
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(Correct("1027bfa63d5b"), StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace addons
