// What an rbd-mirror that was restarted in mid-copy finds, on simulated
// clusters.

#include "watch/mirror_restart_watch.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ceph/mirror_clients.h"
#include "replication/look/evictions.h"
#include "replication/look/mirror_view.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";

constexpr char kSetCopyProgress[] =
    "rbd.mirror_image_snapshot_set_copy_progress";

/// How often `part` is in `text`.
int Times(absl::string_view part, absl::string_view text) {
  const std::vector<absl::string_view> between = absl::StrSplit(text, part);
  return static_cast<int>(between.size()) - 1;
}

/// A volume that is primary on a, and in mid-copy on b.
class MirrorRestartWatchTest : public ::testing::Test {
 protected:
  MirrorRestartWatchTest() {
    pair_.WriteConfig(dir_.path());
    id_ = pair_.AddMirroredVolume(a_, kUuid);
    world_.Advance(minutes(1));
    environment_.aside = [](const std::string&,
                            const std::function<void()>& job) { job(); };
    Note(pair_.pool_id(b_));

    b_.SetCopySpeed(4);
    EXPECT_OK(a_.Write(image_, 7));
    a_.CreateMirrorSnapshot(image_);
    EXPECT_TRUE(
        world_.AdvanceUntil([this] { return Copied() > 3; }, minutes(1)));
    b_.SetCopySpeed(0);
  }
  /// As a call does that has found the volume on b, in this pool.
  void Note(int64_t pool_id) {
    ResolvedVolume volume;
    volume.cluster_id = ClusterId(b_.cluster_id());
    volume.pool_id = pool_id;
    volume.pool_name = MirroredPair::kPool;
    volume.volume_id = VolumeHandle(id_);
    volume.attributes.image_name = ImageName(image_);
    environment_.watched.Note(volume, b_.ImageId(image_), b_.user());
  }
  /// As a forced promotion does that has ended the copying.
  void NoteEviction(Rewind rewind = Rewind::kDone) {
    Eviction stop;
    *stop.rewind = rewind;
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
    ASSERT_OK(pool.status());
    const auto clients = ListMirrorClients(**pool);
    ASSERT_OK(clients.status());
    for (const Watcher& client : *clients) {
      stop.clients.insert(client.client_id);
    }
    stop.known_to_osds_since = world_.Now();
    environment_.evictions.Keep(
        absl::StrCat(WholePoolKey(pair_.cluster(b_)->fsid(), pair_.pool_id(b_)),
                     "/"),
        stop);
  }
  /// As the daemon did that this one replaces, when rbd-mirror had last
  /// reported at `reported`.
  void NoteEvictionOfAnother(WallTime reported) {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
    ASSERT_OK(pool.status());
    ASSERT_OK(WriteEvictionNote(
        {**pool}, std::chrono::system_clock::to_time_t(reported), reported));
  }
  /// rbd-mirror of b ends, and is in no list any more.
  void EndMirrorDaemon() {
    b_.SetMirrorDaemon(DaemonState::kDown);
    world_.Advance(minutes(1));
  }
  /// Until the hook is taken away.
  void Fail(const std::string& failing) {
    world_.SetCallHook(
        [failing](absl::string_view, absl::string_view call, bool) {
          return call == failing ? ETIMEDOUT : 0;
        });
  }
  /// Objects of the copy under way; 0: there is none.
  uint64_t Copied() {
    const auto snapshots = b_.Snapshots(image_);
    return snapshots.empty() || snapshots.back().complete
               ? 0
               : snapshots.back().last_copied_object;
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  FakeSite& b_ = pair_.b();
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_{world_};
  Resolver resolver_{config_, clusters_};
  ReplicationEnvironment environment_{resolver_, config_, world_, {}};
  MirrorRestartWatch watch_{environment_, clusters_,
                            std::chrono::milliseconds(0)};
  const std::string image_ = MirroredPair::ImageOf(kUuid);
  std::string id_;
};

TEST_F(MirrorRestartWatchTest, SetsACopyBackThatARestartHasInterrupted) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

TEST_F(MirrorRestartWatchTest, DoesSoAsSoonAsItIsGone) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  EndMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// rbd-mirror makes a copy anew of which it has noted nothing.
TEST_F(MirrorRestartWatchTest, PutsBackWhatACopyThatHasJustBegunHasWritten) {
  b_.SetCopySpeed(4);
  ASSERT_TRUE(
      world_.AdvanceUntil([this] { return Copied() == 0; }, minutes(1)));
  b_.SetCopySpeed(0.1);
  EXPECT_OK(a_.Write(image_, 8));
  a_.CreateMirrorSnapshot(image_);
  ASSERT_TRUE(
      world_.AdvanceUntil([this] { return b_.Torn(image_); }, minutes(1)));
  watch_.LookAtAll();
  EndMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_FALSE(b_.Torn(image_));
  EXPECT_EQ(b_.Data(image_), 7U);
}

// What this site's rbd-mirror reported before the image was demoted says
// nothing of now.
TEST_F(MirrorRestartWatchTest, SetsBackWhatWasPrimaryInAnOldReport) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  b_.SetStatus(image_, "", MirrorStatusState::kStopped,
               "local image is primary");
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// Its own eviction sets the copies back itself.
TEST_F(MirrorRestartWatchTest, LeavesItToAForcedPromotionThatSentItAway) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  NoteEviction();
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
}

TEST_F(MirrorRestartWatchTest, LeavesAloneWhoComesBackFromAnEviction) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  NoteEviction();
  EndMirrorDaemon();
  watch_.LookAtAll();
  b_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(seconds(1));
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
}

// The daemon that sent it away died before it set the copies back, and so may
// the next one, before rbd-mirror is there again.
TEST_F(MirrorRestartWatchTest, EndsAtItsFirstLookWhatADeadDaemonHasBegun) {
  const uint64_t copied = Copied();
  NoteEvictionOfAnother(world_.WallNow());
  b_.SetMirrorDaemon(DaemonState::kDown);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

TEST_F(MirrorRestartWatchTest, AFirstLookThatFailedIsMadeOnceMore) {
  const uint64_t copied = Copied();
  EndMirrorDaemon();
  NoteEvictionOfAnother(world_.WallNow());
  Fail("rbd_mirror_image_global_status_list");
  watch_.LookAtAll();
  world_.SetCallHook(nullptr);
  EXPECT_EQ(Copied(), copied);
  world_.Advance(seconds(31));
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

TEST_F(MirrorRestartWatchTest, LeavesAloneWhoHasReportedSinceItsEviction) {
  const uint64_t copied = Copied();
  NoteEvictionOfAnother(world_.WallNow() - minutes(2));
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
}

TEST_F(MirrorRestartWatchTest, LeavesItToItsOwnPromotionAtTheFirstLook) {
  const uint64_t copied = Copied();
  NoteEviction();
  NoteEvictionOfAnother(world_.WallNow());
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
}

// Its client was blocklisted itself, say, or the cluster did not answer.
TEST_F(MirrorRestartWatchTest, SetsBackWhatAForcedPromotionCouldNot) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  NoteEviction(Rewind::kFailed);
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// It was known to be dead before, so that nothing is noted in the pool.
TEST_F(MirrorRestartWatchTest, DoesSoAlsoAtTheFirstLook) {
  const uint64_t copied = Copied();
  NoteEviction(Rewind::kFailed);
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// rbd-mirror that was sent away comes back later.
TEST_F(MirrorRestartWatchTest, DoesSoOnce) {
  const uint64_t copied = Copied();
  NoteEviction(Rewind::kFailed);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// A person restarts rbd-mirror meanwhile: it goes on in a few seconds.
TEST_F(MirrorRestartWatchTest, DoesNotWaitForThePromotionWhenRbdMirrorIsBack) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  NoteEviction(Rewind::kUnderWay);
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// Nobody goes or comes after that.
TEST_F(MirrorRestartWatchTest, ComesBackToWhatAForcedPromotionIsAboutToDo) {
  const uint64_t copied = Copied();
  NoteEviction(Rewind::kUnderWay);
  NoteEvictionOfAnother(world_.WallNow());
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
  world_.Advance(seconds(11));
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

TEST_F(MirrorRestartWatchTest, LeavesItToAForcedPromotionThatIsAboutToDoIt) {
  const uint64_t copied = Copied();
  NoteEviction(Rewind::kUnderWay);
  NoteEvictionOfAnother(world_.WallNow());
  watch_.LookAtAll();
  NoteEviction(Rewind::kDone);
  watch_.LookAtAll();
  world_.Advance(seconds(11));
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
}

// Nobody comes back to it: rbd-mirror goes on after a few seconds.
TEST_F(MirrorRestartWatchTest, WhatFailsTwiceIsTriedAgainAtOnce) {
  for (const absl::string_view failing :
       {"rbd_namespace_list", "rbd_mirror_image_global_status_list",
        "rbd_open_by_id_read_only", kSetCopyProgress}) {
    const uint64_t copied = Copied();
    watch_.LookAtAll();
    b_.ReconnectMirrorDaemon();
    int calls = 0;
    world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
      return call == failing && ++calls <= 2 ? ETIMEDOUT : 0;
    });
    watch_.LookAtAll();
    world_.SetCallHook(nullptr);
    EXPECT_GE(calls, 3) << failing;
    EXPECT_EQ(Copied(), copied - 1) << failing;
  }
}

// OSDs that a node's end took with it are back before its rbd-mirror is.
TEST_F(MirrorRestartWatchTest, WhatFailsIsTriedAgainWhileNoRbdMirrorIsThere) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  EndMirrorDaemon();
  const LogCapture log;
  Fail(kSetCopyProgress);
  watch_.LookAtAll();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
  EXPECT_EQ(Times("this is tried again", log.text()), 1) << log.text();
  world_.SetCallHook(nullptr);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
  EXPECT_EQ(Times("they are set back", log.text()), 1) << log.text();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// A forced promotion of before, which had set the copies back, is no reason not
// to.
TEST_F(MirrorRestartWatchTest, WhatFailsIsTriedOnceMoreWhenRbdMirrorComes) {
  const uint64_t copied = Copied();
  NoteEviction(Rewind::kDone);
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EndMirrorDaemon();
  Fail(kSetCopyProgress);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
  world_.SetCallHook(nullptr);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// It has gone on since, and its number tells of another object.
TEST_F(MirrorRestartWatchTest, IsNotTriedAgainWhereRbdMirrorIsBack) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  b_.ReconnectMirrorDaemon();
  Fail(kSetCopyProgress);
  watch_.LookAtAll();
  world_.SetCallHook(nullptr);
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied);
}

// What came back from an eviction may be restarted, too.
TEST_F(MirrorRestartWatchTest, SeesARestartSoonAfterAnEviction) {
  const uint64_t copied = Copied();
  NoteEviction();
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// A change of a role that took the lock from it, while it was copying another
// volume: nobody else sets that one's copy back.
TEST_F(MirrorRestartWatchTest, SeesWhoWasBlocklistedByAnOpenOfOurs) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  environment_.timeline.NoteDisturbance(pair_.cluster(b_)->fsid());
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

// One that was deleted, say, which calls have named within the day.
TEST_F(MirrorRestartWatchTest, APoolThatIsGoneDoesNotHideTheOthers) {
  const uint64_t copied = Copied();
  Note(pair_.pool_id(b_) - 1);  // looked at first
  watch_.LookAtAll();
  b_.ReconnectMirrorDaemon();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

TEST_F(MirrorRestartWatchTest, AConnectionThatWasBlocklistedIsMadeAnew) {
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  b_.ReconnectMirrorDaemon();
  b_.BlocklistClients();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

TEST_F(MirrorRestartWatchTest, AClusterThatIsAwayIsAskedAgainAfterAWhile) {
  watch_.LookAtAll();
  b_.SetClusterUp(false);
  watch_.LookAtAll();
  world_.ClearCalls();
  watch_.LookAtAll();
  EXPECT_EQ(world_.CountCalls("b", "rados_list_watchers"), 0);
  b_.SetClusterUp(true);
  b_.ReconnectMirrorDaemon();
  world_.Advance(seconds(31));
  const uint64_t copied = Copied();
  watch_.LookAtAll();
  EXPECT_EQ(Copied(), copied - 1);
}

}  // namespace
}  // namespace addons::testing
