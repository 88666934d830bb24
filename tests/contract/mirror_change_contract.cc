// Mirrored images that change: snapshots, failover, split brain, the end of
// mirroring.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ceph/mirror.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

// rbd-mirror of a bed looks at what it does not follow once a second, by
// default each half minute.
constexpr std::chrono::seconds kSeveralLooks{15};

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
  for (const Site site : {kA, kB}) ExpectTellsAsOpened(site, kSnapshots);
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
  for (const Site site : {kA, kB}) ExpectTellsAsOpened(site, kFailover);
  ASSERT_OK(PromoteSoon(kB, kFailover, Force::kNo));
  for (const Site site : {kA, kB}) ExpectTellsAsOpened(site, kFailover);
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
  EXPECT_TRUE(bed().WaitFor(
      [] {
        const auto own = StatusOf(kA, kDemoted, true);
        return own && own->up && own->state != MirrorStatusState::kStopped;
      },
      kLagLimit));
  // The demoting side may take it back.
  EXPECT_OK(PromoteSoon(kA, kDemoted, Force::kNo));
  EXPECT_TRUE(IsPrimary(kA, kDemoted));
}

TEST_P(ContractTest, AResyncBesideADemotedImageWaitsAndKeepsTheCopy) {
  ASSERT_NO_FATAL_FAILURE(NeedDemoted(kWaiting));
  const std::string id = IdOf(kB, kWaiting);
  ASSERT_OK(
      Change(kB, kWaiting, [](Image& image) { return image.MirrorResync(); }));
  EXPECT_FALSE(
      bed().WaitFor([&] { return IdOf(kB, kWaiting) != id; }, kSeveralLooks));
  ASSERT_OK(PromoteSoon(kA, kWaiting, Force::kNo));
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        const std::string now = IdOf(kB, kWaiting);
        return !now.empty() && now != id &&
               NewestIs(kB, kWaiting, MirrorSnapshotKind::kNonPrimary);
      },
      kCopyLimit));
}

TEST_P(ContractTest, ACopyOfADemotionStaysWhenTheOtherImageIsMirroredNoMore) {
  ASSERT_NO_FATAL_FAILURE(NeedDemoted(kLeft));
  const std::string id = IdOf(kB, kLeft);
  ASSERT_TRUE(bed().WaitFor(
      [] {
        return Change(kA, kLeft,
                      [](Image& image) {
                        return image.MirrorDisable(Force::kYes);
                      })
            .ok();
      },
      kCopyLimit));
  EXPECT_TRUE(bed().WaitFor(
      [] { return StatusIsUp(kB, kLeft, true, MirrorStatusState::kError); },
      kLagLimit));
  EXPECT_EQ(StatusOf(kB, kLeft, true)->description,
            "error bootstrapping replay");
  EXPECT_FALSE(
      bed().WaitFor([&] { return IdOf(kB, kLeft) != id; }, kSeveralLooks));
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
      kLagLimit));
  EXPECT_THAT(StatusOf(kA, kForced, true)->description,
              HasSubstr("split-brain"));
  for (const Site site : {kA, kB}) ExpectTellsAsOpened(site, kForced);

  const std::string old_id = IdOf(kA, kForced);
  // It looks at a split brain again and again. Frozen while it has the image
  // open, it would keep every change waiting for its answer.
  ASSERT_TRUE(bed().WaitFor(
      [] {
        if (!bed().FreezeMirrorDaemon(kA).ok()) return false;
        if (ClientIds(Look(kA, kForced)->Watchers()).empty()) return true;
        EXPECT_OK(bed().ThawMirrorDaemon(kA));
        return false;
      },
      kStatusLimit));
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
  const std::string id = IdOf(kA, kDisabled);
  ASSERT_OK(Change(kA, kDisabled, [](Image& image) {
    return image.MirrorDisable(Force::kNo);
  }));
  const auto info = Look(kA, kDisabled)->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kDisabled);
  EXPECT_THAT(*Look(kA, kDisabled)->MirrorSnapshots(), IsEmpty());
  EXPECT_THAT(Schedule("remove", Spec(kDisabled)), HasErrno(EINVAL))
      << "a schedule goes before the mirroring or not at all";
  const auto pool = OpenPool(kA, Access::kRead);
  const auto kept = pool->ReadOmapKey("rbd_mirror_snapshot_schedule",
                                      absl::StrCat(pool->id(), "//", id));
  ASSERT_OK(kept);
  EXPECT_TRUE(kept->has_value()) << "the manager keeps what nobody can name";
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

}  // namespace
}  // namespace addons
