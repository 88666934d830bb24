// A mirrored image at rest: what both sites show, and what they refuse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ceph/image_objects.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

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

TEST_P(ContractTest, AMirroredImageIsKnownWithoutOpeningIt) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  for (const Site site : {kA, kB}) ExpectTellsAsOpened(site, kStanding);
  const auto pool = OpenPool(kA, Access::kRead);
  EXPECT_THAT(pool->Header("absent"), HasErrno(ENOENT));
  EXPECT_EQ(pool->MirrorRecord("absent").value(), std::nullopt);
  EXPECT_THAT(pool->MirrorStatusOf("absent").value(), SizeIs(0));
}

TEST_P(ContractTest, CopyProgressIsSetWhileNothingHasChanged) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kProgress));
  const auto before = Newest(kB, kProgress);
  const std::string id = IdOf(kB, kProgress);
  const auto on_b = OpenPool(kB, Access::kMutate);
  const auto complete = on_b->SnapshotRecord(id, before->id);
  ASSERT_OK(complete);
  EXPECT_TRUE(*on_b->SetCopyProgress(id, before->id, *complete, {1}));
  const auto after = Newest(kB, kProgress);
  EXPECT_EQ(after->id, before->id);
  EXPECT_EQ(after->last_copied_object, 1U);
  EXPECT_FALSE(after->complete);
  EXPECT_NE(*on_b->SnapshotRecord(id, before->id), *complete);
  EXPECT_FALSE(*on_b->SetCopyProgress(id, before->id, *complete, {2}));
  EXPECT_EQ(Newest(kB, kProgress)->last_copied_object, 1U);
  ExpectTellsAsOpened(kB, kProgress);

  const auto incomplete = on_b->SnapshotRecord(id, before->id);
  ASSERT_OK(incomplete);
  EXPECT_TRUE(
      *on_b->SetCopyProgress(id, before->id, *incomplete,
                             {before->last_copied_object, /*complete=*/true}));
  EXPECT_TRUE(Newest(kB, kProgress)->complete);
  EXPECT_EQ(*on_b->SnapshotRecord(id, before->id), *complete);
  ExpectTellsAsOpened(kB, kProgress);

  EXPECT_THAT(on_b->SnapshotRecord(id, before->id + 1000), HasErrno(ENOENT));
  EXPECT_THAT(on_b->SnapshotRecord("absent", before->id), HasErrno(ENOENT));
  EXPECT_FALSE(*on_b->SetCopyProgress(id, before->id + 1000, *complete, {1}));
  EXPECT_THAT(on_b->SetCopyProgress("absent", before->id, *complete, {1}),
              HasErrno(ENOENT));
}

TEST_P(ContractTest, TheKindOfACopyIsSetWhileNothingHasChanged) {
  constexpr auto kOrdinary = MirrorSnapshotKind::kNonPrimary;
  constexpr auto kDemotion = MirrorSnapshotKind::kNonPrimaryDemoted;
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kOfKind));
  const auto before = Newest(kB, kOfKind);
  ASSERT_EQ(before->kind, kOrdinary);
  EXPECT_FALSE(before->lists_peers);
  const std::string id = IdOf(kB, kOfKind);
  const auto on_b = OpenPool(kB, Access::kMutate);
  const std::string ordinary = on_b->SnapshotRecord(id, before->id).value();
  EXPECT_TRUE(*on_b->SetCopyKind(id, before->id, ordinary, kDemotion));
  const auto after = Newest(kB, kOfKind);
  EXPECT_EQ(after->id, before->id);
  EXPECT_EQ(after->kind, kDemotion);
  EXPECT_EQ(after->complete, before->complete);
  EXPECT_EQ(after->last_copied_object, before->last_copied_object);
  EXPECT_EQ(after->primary_snapshot_id, before->primary_snapshot_id);
  ExpectTellsAsOpened(kB, kOfKind);

  EXPECT_FALSE(*on_b->SetCopyKind(id, before->id, ordinary, kOrdinary));
  EXPECT_EQ(Newest(kB, kOfKind)->kind, kDemotion);
  const std::string demotion = on_b->SnapshotRecord(id, before->id).value();
  EXPECT_TRUE(*on_b->SetCopyKind(id, before->id, demotion, kOrdinary));
  EXPECT_EQ(Newest(kB, kOfKind)->kind, kOrdinary);
  EXPECT_EQ(on_b->SnapshotRecord(id, before->id).value(), ordinary);

  EXPECT_FALSE(*on_b->SetCopyKind(id, before->id + 1000, ordinary, kDemotion));
  EXPECT_THAT(on_b->SetCopyKind("absent", before->id, ordinary, kDemotion),
              HasErrno(ENOENT));
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

TEST_P(ContractTest, SecondarysMetadataIsNotChangedEither) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  for (const std::optional<std::string>& value :
       {std::optional<std::string>("v"), std::optional<std::string>()}) {
    EXPECT_THAT(Change(kB, kStanding,
                       [&](Image& image) {
                         return image.ChangeMetadata({{"k", value}});
                       }),
                HasErrno(EROFS));
  }
}

// What a promotion notes before the image is primary.
TEST_P(ContractTest, ASecondarysMetadataIsChangedPastLibrbd) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kNoted));
  const auto change = [this](Site site,
                             const std::optional<std::string>& value) {
    return Change(site, kNoted, [&](Image& image) {
      return image.ChangeMetadataOfSecondary({{"rbd-addons.note", value}});
    });
  };
  EXPECT_THAT(change(kA, "v"), HasErrno(EAGAIN));
  EXPECT_OK(change(kB, "v"));
  const auto noted = [] {
    const auto value = Look(kB, kNoted)->Metadata("rbd-addons.note");
    return value.ok() ? value->value_or("none") : "unread";
  };
  EXPECT_EQ(noted(), "v");
  EXPECT_OK(change(kB, std::nullopt));
  EXPECT_EQ(noted(), "none");
  // What the primary has not goes with the next copy.
  EXPECT_OK(change(kB, "v"));
  EXPECT_OK(Change(kA, kNoted, [](Image& image) {
    return image.CreateMirrorSnapshot().status();
  }));
  EXPECT_TRUE(
      bed().WaitFor([&noted] { return noted() == "none"; }, kCopyLimit));
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
  // The lock of one that was killed stays until the next one breaks it.
  const auto locked = [] {
    const auto image = Look(kB, kStanding);
    const auto watchers = ClientIds(image->Watchers());
    const auto lockers = image->Lockers();
    return watchers.size() == 1 && lockers->size() == 1 &&
           lockers->front().client ==
               absl::StrCat("client.", *watchers.begin());
  };
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

TEST_P(ContractTest, TheHeaderOfAnImageTellsWhetherItExists) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto pool = OpenPool(kB, Access::kRead);
  const std::string header = HeaderObject(IdOf(kB, kStanding));
  EXPECT_OK(pool->ListWatchers(header));
  EXPECT_THAT(pool->ListWatchers(absl::StrCat(header, "0")),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace addons
