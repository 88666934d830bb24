// Snapshots of several images at one instant, by a process of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "ceph/blocklist_commands.h"
#include "ceph/librados/snapshot_together.h"
#include "tests/cluster/daemon_process.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::DaemonProgram;
using ::addons::testing::ShortTimeouts;
using ::addons::testing::StatusIs;
using ::addons::testing::TempDir;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kSnapshot[] = "together";

class RealTogetherTest : public RealTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) {
      const std::string name = MakeImage(absl::StrCat("-", i));
      order_.images.push_back({Bed().PoolId("a"), "", ImageName(name),
                               OpenReadOnly(name)->Id().value()});
    }
    order_.target = Bed().Target("a");
    order_.user = Bed().User("a");
    order_.timeouts = ShortTimeouts().timeouts;
    order_.snapshot = kSnapshot;
    // The same but for what writers see of it, where librbd has no other.
    const bool has =
        OpenReadOnly(NameOf(0))->HasTransientLock().value_or(false);
    order_.lock = has ? LockMode::kTransient : LockMode::kExclusive;
    options_.program = DaemonProgram();
    cluster_ = Connect("a").value();
  }
  std::string NameOf(size_t i) const { return order_.images[i].name.text(); }
  absl::Status Take() { return SnapshotInChild(order_, options_, *cluster_); }
  size_t SnapshotsOf(size_t i) {
    return OpenReadOnly(NameOf(i))->Snapshots().value().size();
  }
  std::vector<Locker> LockersOf(size_t i) {
    return OpenReadOnly(NameOf(i))->Lockers().value();
  }
  /// Stands for the daemon's program, and says what `script` says.
  void Play(const std::string& script) {
    options_.program = folder_.File("program");
    std::ofstream(options_.program) << "#!/bin/sh\nread -r order\n" << script;
    ASSERT_EQ(chmod(options_.program.c_str(), 0755), 0);
  }
  static std::string Say(const std::string& stage, const std::string& client) {
    return absl::StrCat("echo '{\"stage\":\"", stage, "\",\"client\":\"",
                        client,
                        "\",\"clean\":true,\"code\":0,\"message\":\"\"}'\n");
  }
  bool Blocks(const std::string& client) {
    return ReadBlocklist(*cluster_).value().FindClient(client) != nullptr;
  }

  TempDir folder_;
  SnapshotOrder order_;
  SnapshotChildOptions options_;
  std::shared_ptr<Cluster> cluster_;
};

TEST_F(RealTogetherTest, EachImageHasOneAndNoLock) {
  ASSERT_OK(Take());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(SnapshotsOf(i), 1) << i;
    EXPECT_THAT(LockersOf(i), IsEmpty()) << i;
    EXPECT_OK(OpenWritable(NameOf(i))->Write({{{0, 1}, "y"}})) << i;
  }
}

TEST_F(RealTogetherTest, AWriterThatKeepsItsLockIsNamedAndTheOthersGoOn) {
  ConnectionCache other_cache(ShortTimeouts(), RealClock(), gate_);
  const auto other = other_cache.Connect(Bed().Target("a"), Bed().User("a"));
  const auto pool =
      (*other)->OpenPool(Bed().PoolId("a"), "", Access::kMutate).value();
  const auto theirs = pool->OpenImage(ImageName(NameOf(1))).value();
  ASSERT_OK(theirs->AcquireLock(LockMode::kExclusive));
  EXPECT_THAT(Take(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(NameOf(1))));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(SnapshotsOf(i), 0) << i;
  EXPECT_THAT(LockersOf(0), IsEmpty());
  EXPECT_THAT(LockersOf(2), IsEmpty());
  EXPECT_TRUE(theirs->HoldsLock().value_or(false));
}

TEST_F(RealTogetherTest, AnotherImageOfThatNameIsNotMeant) {
  order_.images[2].id = "1234567890ab";
  EXPECT_THAT(Take(), StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("another one")));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(SnapshotsOf(i), 0) << i;
}

TEST_F(RealTogetherTest, AnImageWithoutTheLockIsNamed) {
  ASSERT_OK(
      Bed().Run("rbd", {"a", "feature", "disable",
                        absl::StrCat(testing::RealBed::kPool, "/", NameOf(1)),
                        "fast-diff", "object-map", "exclusive-lock"}));
  EXPECT_THAT(Take(), StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr(NameOf(1))));
  EXPECT_EQ(SnapshotsOf(0), 0);
}

TEST_F(RealTogetherTest, OneThatTakesTooLongIsKilledAndItsWritersGoOn) {
  options_.held_patience = milliseconds(1);
  const size_t before = ReadBlocklist(*cluster_).value().entries.size();
  const absl::Status killed = Take();
  ASSERT_THAT(killed, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("longer than 1 ms")));
  EXPECT_GT(ReadBlocklist(*cluster_).value().entries.size(), before);
  const SteadyTime begin = RealClock().Now();
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_OK(OpenWritable(NameOf(i))->AcquireLock(LockMode::kExclusive)) << i;
  }
  EXPECT_LT(RealClock().Now() - begin, seconds(28));
}

/// What the process does at one of its calls of Ceph (RBD_ADDONS_FAULTS).
class RealTogetherFaultTest : public RealTogetherTest {
 protected:
  absl::Status TakeWith(const std::string& fault) {
    setenv("RBD_ADDONS_FAULTS", fault.c_str(), 1);
    absl::Status taken = Take();
    unsetenv("RBD_ADDONS_FAULTS");
    return taken;
  }
};

TEST_F(RealTogetherFaultTest, ADeathAndAHangAtEachStepLetWritersGoOn) {
  for (const std::string step :
       {"rbd_open", "rbd_lock_acquire", "rbd_snap_create2", "rbd_lock_release",
        "rbd_close"}) {
    for (const std::string fault : {"kill", "kill-after", "hang=40000"}) {
      SCOPED_TRACE(absl::StrCat(step, " ", fault));
      options_.open_patience = seconds(3);
      options_.held_patience = seconds(4);
      order_.snapshot =
          absl::StrCat(step, "-", fault.substr(0, 4), "-", fault.size());
      const SteadyTime begin = RealClock().Now();
      const absl::Status taken = TakeWith(absl::StrCat(step, "#2:", fault));
      if (step == "rbd_close" && fault[0] == 'h') {
        EXPECT_OK(taken) << "all that counts was done before";
      } else {
        EXPECT_THAT(taken, StatusIs(absl::StatusCode::kUnavailable));
      }
      EXPECT_LT(RealClock().Now() - begin, seconds(20));
      const SteadyTime ended = RealClock().Now();
      for (size_t i = 0; i < 3; ++i) {
        ASSERT_OK(OpenWritable(NameOf(i))->Write({{{0, 1}, "y"}})) << i;
      }
      EXPECT_LT(RealClock().Now() - ended, seconds(29))
          << "its client was not put on the blocklist";
    }
  }
}

// Without an answer nobody knows that the snapshots are of one instant.
TEST_F(RealTogetherFaultTest, ALockThatIsNotSeenToBeHeldIsNoInstant) {
  const size_t before = ReadBlocklist(*cluster_).value().entries.size();
  EXPECT_THAT(TakeWith("rbd_is_exclusive_lock_owner#1:errno=5"),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(ReadBlocklist(*cluster_).value().entries.size(), before)
      << "all locks were given back all the same";
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(LockersOf(i), IsEmpty()) << i;
}

TEST_F(RealTogetherTest, WhoHangsWithTheLocksIsPutOnTheBlocklist) {
  constexpr char kClient[] = "10.9.9.9:0/77";
  Play(absl::StrCat(Say("connected", kClient), Say("locking", kClient),
                    "exec sleep 60\n"));
  options_.held_patience = milliseconds(300);
  const SteadyTime begin = RealClock().Now();
  EXPECT_THAT(Take(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_LT(RealClock().Now() - begin, seconds(30));
  EXPECT_TRUE(Blocks(kClient));
}

TEST_F(RealTogetherTest, WhoDiesWithTheLocksIsPutOnTheBlocklist) {
  constexpr char kClient[] = "10.9.9.9:0/78";
  Play(absl::StrCat(Say("connected", kClient), Say("locking", kClient)));
  EXPECT_THAT(Take(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(Blocks(kClient));
}

TEST_F(RealTogetherTest, WhoHasGivenThemBackIsNot) {
  constexpr char kClient[] = "10.9.9.9:0/79";
  Play(absl::StrCat(Say("connected", kClient), Say("locking", kClient),
                    Say("released", kClient), Say("ended", kClient)));
  EXPECT_OK(Take());
  EXPECT_FALSE(Blocks(kClient));
}

TEST_F(RealTogetherTest, OneThatCannotBeStartedSaysSo) {
  options_.program = folder_.File("none");
  EXPECT_THAT(Take(), StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("could not be started")));
  Play("exit 1\n");
  EXPECT_THAT(Take(), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace addons
