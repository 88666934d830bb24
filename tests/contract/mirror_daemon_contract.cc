// What an rbd-mirror leaves when it goes, and does when it begins.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "ceph/image_header.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

// It removes them at once, when it has connected.
constexpr std::chrono::seconds kBeginLimit{15};
// One that died has kept the leader's lock, and each change of an image waits
// for its watches for half a minute. Seven other clusters may run beside.
constexpr std::chrono::seconds kReturnLimit{240};

TEST_P(ContractTest, ARbdMirrorThatBeginsRemovesTheStatusesOfAllThatAreDown) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto replays = [] {
    return StatusIsUp(kB, kStanding, true, MirrorStatusState::kReplaying) &&
           StatusIsUp(kA, kStanding, false, MirrorStatusState::kReplaying);
  };
  const auto is_primary = [] {
    return StatusIsUp(kA, kStanding, true, MirrorStatusState::kStopped) &&
           StatusIsUp(kB, kStanding, false, MirrorStatusState::kStopped);
  };
  ASSERT_TRUE(
      bed().WaitFor([&] { return replays() && is_primary(); }, kReturnLimit));

  // One that ends as it is told to says so on both sites, and is down at once.
  ASSERT_OK(bed().EndMirrorDaemon(kB));
  for (const Site site : {kA, kB}) {
    const auto status = StatusOf(site, kStanding, site == kB);
    ASSERT_TRUE(status.has_value());
    EXPECT_FALSE(status->up);
    EXPECT_EQ(status->state, MirrorStatusState::kStopped);
    EXPECT_EQ(status->description, "stopped");
    EXPECT_TRUE(StatusOf(site, kStanding, site == kA)->up);
  }

  // A primary's last word is the same as before, or none of its role (20.2.4,
  // seen once on a busy machine).
  ASSERT_OK(bed().EndMirrorDaemon(kA));
  for (const Site site : {kA, kB}) {
    const auto status = StatusOf(site, kStanding, site == kA);
    ASSERT_TRUE(status.has_value());
    EXPECT_FALSE(status->up);
    EXPECT_THAT(status->description,
                AnyOf("local image is primary", "stopped"));
  }

  ASSERT_OK(bed().StartMirrorDaemon(kA));
  EXPECT_TRUE(bed().WaitFor(
      [] {
        return !StatusOf(kA, kStanding, false).has_value() &&
               !StatusOf(kB, kStanding, true).has_value();
      },
      kBeginLimit));
  // Its own come anew. Before it knows the role it says that it begins.
  std::set<MirrorStatusState> said;
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        const auto status = StatusOf(kB, kStanding, false);
        if (status) said.insert(status->state);
        return is_primary();
      },
      kReturnLimit));
  EXPECT_THAT(said, Each(AnyOf(MirrorStatusState::kStopped,
                               MirrorStatusState::kStartingReplay)));
  // Those of one that stays down do not.
  EXPECT_FALSE(bed().WaitFor(
      [] {
        return StatusOf(kA, kStanding, false).has_value() ||
               StatusOf(kB, kStanding, true).has_value();
      },
      kBeginLimit));

  ASSERT_OK(bed().StartMirrorDaemon(kB));
  EXPECT_TRUE(bed().WaitFor(replays, kReturnLimit));
}

// An image of journal mode is half empty until all of it was copied once.
TEST_P(ContractTest, AFirstCopyInJournalModeIsToldBeforeAnEntryIsReplayed) {
  static constexpr char kImage[] = "first-copy-by-journal";
  ASSERT_OK(bed().CreateImage(kA, kImage, uint64_t{256} << 20));
  ASSERT_OK(bed().Write(kA, kImage, 7));
  ASSERT_OK(Change(kA, kImage, [](Image& image) {
    return image.MirrorEnable(MirrorMode::kJournal);
  }));
  const auto tags = [] {
    const auto id =
        FindImageId(*OpenPool(kB, Access::kRead), ImageName(kImage));
    if (!id.ok()) return 0;
    const auto value = OpenPool(kB, Access::kRead)
                           ->ReadOmapKey("journal." + *id, "next_tag_tid");
    return value.ok() && value->has_value() ? (*value)->front() : 0;
  };
  const auto tells = [](const SiteStatus& status, const std::string& text) {
    return status.description.find(text) != std::string::npos;
  };
  std::set<MirrorStatusState> said;
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        const auto status = StatusOf(kA, kImage, false);
        if (!status) return false;
        said.insert(status->state);
        if (status->state == MirrorStatusState::kSyncing) {
          EXPECT_TRUE(tells(*status, "bootstrapping, ")) << status->description;
        }
        if (status->state != MirrorStatusState::kReplaying) return false;
        EXPECT_TRUE(tells(*status, "\"entries_behind_primary\":"));
        const bool replayed = tells(*status, "\"entries_behind_primary\":0") &&
                              !tells(*status, "\"non_primary_position\":{}");
        EXPECT_TRUE(!replayed || tags() == 2) << status->description;
        return replayed;
      },
      kReturnLimit));
  EXPECT_THAT(said, Each(AnyOf(MirrorStatusState::kStartingReplay,
                               MirrorStatusState::kSyncing,
                               MirrorStatusState::kReplaying)));
  EXPECT_EQ(bed().Fingerprint(kB, kImage).value(),
            bed().Fingerprint(kA, kImage).value());
}

// rbd-mirror looks again every 30 s, and says nothing else meanwhile. Of an
// image of snapshot mode it does.
TEST_P(ContractTest, ASplitBrainOfJournalsIsToldWithoutABreak) {
  static constexpr char kImage[] = "split-journal";
  MakeImage(kA, kImage);
  ASSERT_OK(Change(kA, kImage, [](Image& image) {
    return image.MirrorEnable(MirrorMode::kJournal);
  }));
  ASSERT_OK(bed().Write(kA, kImage, 7));
  ASSERT_TRUE(bed().WaitFor(
      [] {
        const auto status = StatusOf(kA, kImage, false);
        return status && status->state == MirrorStatusState::kReplaying &&
               status->description.find("\"entries_behind_primary\":0") !=
                   std::string::npos &&
               bed().Fingerprint(kB, kImage) == bed().Fingerprint(kA, kImage);
      },
      kReturnLimit));
  ASSERT_OK(Change(kB, kImage, [](Image& image) {
    return image.MirrorPromote(Force::kYes);
  }));
  ASSERT_OK(bed().Write(kA, kImage, 8));
  ASSERT_OK(bed().Write(kB, kImage, 9));
  ASSERT_OK(
      Change(kA, kImage, [](Image& image) { return image.MirrorDemote(); }));
  const auto told = [] {
    const auto status = StatusOf(kA, kImage, true);
    return status && status->state == MirrorStatusState::kError &&
           status->description == "split-brain detected";
  };
  ASSERT_TRUE(bed().WaitFor(told, kReturnLimit));
  EXPECT_FALSE(
      bed().WaitFor([&] { return !told(); }, std::chrono::seconds(40)));
}

TEST_P(ContractTest, AKilledRbdMirrorLeavesItsLastWordAndItsWatchForAWhile) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto replays = [](bool up) {
    for (const Site site : {kA, kB}) {
      const auto status = StatusOf(site, kStanding, site == kB);
      if (!status || status->up != up ||
          status->state != MirrorStatusState::kReplaying) {
        return false;
      }
    }
    return true;
  };
  ASSERT_TRUE(bed().WaitFor([&] { return replays(true); }, kReturnLimit));
  const auto clients = MirrorClients(kA);
  ASSERT_OK(bed().KillMirrorDaemon(kB));
  EXPECT_TRUE(replays(true));
  EXPECT_EQ(MirrorClients(kA), clients);
  EXPECT_TRUE(bed().WaitFor([&] { return replays(false); }, kStatusLimit));
  EXPECT_NE(MirrorClients(kA), clients);
  ASSERT_OK(bed().StartMirrorDaemon(kB));
  EXPECT_TRUE(bed().WaitFor(
      [] {
        return !StatusOf(kA, kStanding, false).has_value() &&
               !StatusOf(kB, kStanding, true).has_value();
      },
      kBeginLimit));
  EXPECT_TRUE(bed().WaitFor([&] { return replays(true); }, kReturnLimit));
}

TEST_P(ContractTest, ADemotionAtTheSnapshotLimitLeavesAPrimaryThatIsReadOnly) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kLimited));
  const auto marked = [] { return *Look(kA, kLimited)->MarkedNonPrimary(); };
  const auto demote = [](Image& image) { return image.MirrorDemote(); };
  const auto snapshot = [](Image& image) {
    return image.CreateMirrorSnapshot().status();
  };
  // Nobody removes what has been copied.
  ASSERT_OK(bed().KillMirrorDaemon(kB));
  ASSERT_OK(Change(kA, kLimited, snapshot));  // one more than it needs
  const size_t present = Look(kA, kLimited)->Snapshots()->size();
  ASSERT_OK(bed().SetSnapshotLimit(kA, kLimited, present));
  EXPECT_FALSE(marked());
  const uint64_t before =
      OpenPool(kA, Access::kRead)->HeaderVersion(IdOf(kA, kLimited)).value();

  EXPECT_OK(Change(kA, kLimited, demote));
  EXPECT_TRUE(IsPrimary(kA, kLimited));
  EXPECT_TRUE(NewestIs(kA, kLimited, MirrorSnapshotKind::kPrimary));
  EXPECT_TRUE(marked());
  ExpectTellsAsOpened(kA, kLimited);
  EXPECT_THAT(bed().Write(kA, kLimited, 2), Not(::addons::testing::IsOk()));
  EXPECT_THAT(Change(kA, kLimited,
                     [](Image& image) { return image.SetMetadata("k", "v"); }),
              HasErrno(EROFS));
  EXPECT_THAT(Change(kA, kLimited, snapshot), HasErrno(EROFS));

  // What librbd does at the end of a promotion mends it.
  EXPECT_THAT(*Look(kA, kLimited)->Lockers(), IsEmpty());
  const auto on_a = OpenPool(kA, Access::kMutate);
  const std::string id = IdOf(kA, kLimited);
  const uint64_t now = on_a->HeaderVersion(id).value();
  EXPECT_NE(now, before);
  EXPECT_FALSE(*on_a->ClearNonPrimary(id, before));
  EXPECT_FALSE(*on_a->ClearNonPrimary(id, now + 1));
  EXPECT_TRUE(marked());
  EXPECT_TRUE(*on_a->ClearNonPrimary(id, now));
  EXPECT_FALSE(marked());
  EXPECT_TRUE(IsPrimary(kA, kLimited));
  ExpectTellsAsOpened(kA, kLimited);
  EXPECT_OK(bed().Write(kA, kLimited, 2));
  EXPECT_FALSE(*on_a->ClearNonPrimary("absent", now));
  EXPECT_OK(bed().StartMirrorDaemon(kB));
}

// What is removed by hand there librbd removes when it makes the next one.
TEST_P(ContractTest, ASpareMirrorSnapshotIsRemovedAndMakesRoom) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kRoom));
  const auto snapshot = [](Image& image) {
    return image.CreateMirrorSnapshot().status();
  };
  const auto copied = [] {
    const auto here = Newest(kA, kRoom);
    const auto there = Newest(kB, kRoom);
    return here && there && there->complete &&
           there->primary_snapshot_id == here->id;
  };
  // rbd-mirror removes those before it, after the copy.
  const auto spare = []() -> std::optional<uint64_t> {
    const auto snapshots = Look(kA, kRoom)->MirrorSnapshots();
    if (!snapshots.ok() || snapshots->size() != 2 ||
        !snapshots->front().unsynced_peer_uuids.empty()) {
      return std::nullopt;
    }
    return snapshots->front().id;
  };
  ASSERT_OK(Change(kA, kRoom, snapshot));
  ASSERT_TRUE(bed().WaitFor(copied, kCopyLimit));
  ASSERT_OK(Change(kA, kRoom, snapshot));
  // A killed rbd-mirror leaves a snapshot that it was removing from the copy in
  // the trash for ever. Such a copy has more than the limit that comes to it,
  // cannot take it (ERANGE), and stays behind.
  const auto cleared = [] {
    const auto snapshots = Look(kB, kRoom)->Snapshots();
    return snapshots.ok() && snapshots->size() == 1;
  };
  ASSERT_TRUE(bed().WaitFor([&] { return copied() && spare() && cleared(); },
                            kCopyLimit));
  // It may remove this one, too.
  ASSERT_OK(bed().KillMirrorDaemon(kB));
  ASSERT_TRUE(spare().has_value());
  const uint64_t present = Look(kA, kRoom)->Snapshots()->size();
  ASSERT_OK(bed().SetSnapshotLimit(kA, kRoom, present));
  const auto on_a = OpenPool(kA, Access::kRead);
  EXPECT_THAT(*ReadSnapshotLimit(*on_a, IdOf(kA, kRoom)),
              Optional(Eq(present)));
  EXPECT_THAT(on_a->Header(IdOf(kA, kRoom))->snapshot_limit,
              Optional(Eq(present)));
  EXPECT_OK(Change(
      kA, kRoom, [&](Image& image) { return image.RemoveSnapshot(*spare()); }));
  EXPECT_OK(Change(kA, kRoom, snapshot));
  // Both are needed now.
  EXPECT_THAT(Change(kA, kRoom, snapshot), HasErrno(EDQUOT));
  ASSERT_OK(bed().SetSnapshotLimit(kA, kRoom, std::nullopt));
  EXPECT_OK(
      Change(kA, kRoom, [](Image& image) { return image.MirrorDemote(); }));
  EXPECT_TRUE(NewestIs(kA, kRoom, MirrorSnapshotKind::kPrimaryDemoted));
  EXPECT_FALSE(IsPrimary(kA, kRoom));
  ASSERT_OK(bed().StartMirrorDaemon(kB));
  EXPECT_TRUE(bed().WaitFor(
      [] {
        return NewestIs(kB, kRoom, MirrorSnapshotKind::kNonPrimaryDemoted);
      },
      kReturnLimit));
}

TEST_P(ContractTest, WhatIsDisabledAtTheSnapshotLimitRefusesWrites) {
  constexpr char kFull[] = "contract-full";
  MakeImage(kA, kFull);
  const auto on_a = OpenPool(kA, Access::kRead);
  EXPECT_EQ(*ReadSnapshotLimit(*on_a, IdOf(kA, kFull)), std::nullopt);
  ASSERT_OK(Change(kA, kFull, [](Image& image) {
    return image.MirrorEnable(MirrorMode::kSnapshot);
  }));
  ASSERT_OK(bed().SetSnapshotLimit(kA, kFull, 1));
  EXPECT_THAT(Change(kA, kFull,
                     [](Image& image) {
                       return image.CreateMirrorSnapshot().status();
                     }),
              HasErrno(EDQUOT));
  // What refuses writes stays on what is disabled.
  EXPECT_OK(
      Change(kA, kFull, [](Image& image) { return image.MirrorDemote(); }));
  EXPECT_TRUE(*Look(kA, kFull)->MarkedNonPrimary());
  EXPECT_OK(Change(
      kA, kFull, [](Image& image) { return image.MirrorDisable(Force::kNo); }));
  EXPECT_TRUE(*Look(kA, kFull)->MarkedNonPrimary());
  EXPECT_THAT(bed().Write(kA, kFull, 2), Not(::addons::testing::IsOk()));
}

}  // namespace
}  // namespace addons
