// How the members of a group share the threads of an operation.

#include "replication/group/group_run.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::Field;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr size_t kMany = 20;  // more than there are threads

class GroupRunTest : public GroupTest {
 protected:
  GroupRunTest() {
    for (size_t i = 0; i < kMany; ++i) {
      target_.members.emplace_back(absl::StrCat("volume ", i));
    }
    options_.group_members_at_once = 4;
    options_.group_threads = 8;
    options_.group_looking_threads = 2;
    context_.SetClock(clock_);
    context_.SetDeadline(minutes(10));
  }
  GroupRun RunOf(MemberVerb verb) {
    return GroupRun(context_, options_, target_,
                    {GroupHandle("group"), "try", "being tried", "tried"},
                    std::move(verb));
  }
  static auto AllAre(MemberState state) {
    return Each(Field(&GroupMember::state, state));
  }
  /// How often the verb was called for each member.
  int Count(const VolumeHandle& member) {
    const MutexLock lock(mutex_);
    return ++calls_[member];
  }
  std::map<VolumeHandle, int> Calls() {
    const MutexLock lock(mutex_);
    return calls_;
  }

  ReplicationOptions options_;
  GroupTarget target_{GroupHandle("group"), {}, {}};
  TestOperationContext context_{world_};

 private:
  Mutex mutex_;
  std::map<VolumeHandle, int> calls_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(GroupRunTest, EachOfManyMembersThatRefuseIsAsked) {
  GroupRun run = RunOf([this](OperationContext&, const VolumeTarget& volume) {
    Count(volume.volume_id);
    return absl::FailedPreconditionError("no");
  });
  EXPECT_OK(run.Probe());
  EXPECT_THAT(run.members(), AllAre(MemberState::kFailed));
  EXPECT_THAT(Calls(), SizeIs(kMany));
}

// As the clocks of the promote table: what is seen of a member counts from the
// first look at it. All have theirs at the beginning, also those that have no
// thread to wait on.
TEST_F(GroupRunTest, ManyMembersThatWaitWaitTogether) {
  constexpr seconds kSettle{90};
  const SteadyTime begin = world_.Now();
  Mutex mutex;
  std::map<VolumeHandle, SteadyTime> first_look;
  GroupRun run = RunOf([&](OperationContext& context,
                           const VolumeTarget& volume) -> absl::Status {
    while (true) {
      const SteadyTime now = context.clock().Now();
      {
        const MutexLock lock(mutex);
        const auto since = first_look.try_emplace(volume.volume_id, now).first;
        if (now - since->second >= kSettle) {
          return absl::FailedPreconditionError("the peer is gone");
        }
      }
      context.Step("waiting");
      const absl::Status slept = context.LookAgainAfter(seconds(1));
      if (!slept.ok()) return slept;
    }
  });
  EXPECT_OK(run.Probe());
  EXPECT_THAT(run.members(), AllAre(MemberState::kFailed));
  EXPECT_LT(world_.Now() - begin, kSettle + seconds(40));
}

TEST_F(GroupRunTest, ManyMembersAreChangedEachOnce) {
  Mutex mutex;
  std::map<VolumeHandle, int> changes;
  GroupRun run = RunOf([&](OperationContext& context,
                           const VolumeTarget& volume) -> absl::Status {
    {
      const MutexLock lock(mutex);
      if (changes.contains(volume.volume_id)) return absl::OkStatus();
    }
    const absl::Status begun = context.BeginMutation();
    if (!begun.ok()) return begun;
    const MutexLock lock(mutex);
    ++changes[volume.volume_id];
    return absl::OkStatus();
  });
  EXPECT_OK(run.Probe());
  EXPECT_THAT(run.members(), AllAre(MemberState::kReady));
  EXPECT_THAT(changes, SizeIs(0));
  EXPECT_OK(run.RunReady());
  EXPECT_THAT(run.members(), AllAre(MemberState::kDone));
  EXPECT_THAT(changes, SizeIs(kMany));
  EXPECT_THAT(changes, Each(Pair(::testing::_, 1)));
}

TEST_F(GroupRunTest, WhenNobodyWaitsManyMembersEndAtOnce) {
  context_.SetDeadline(seconds(5));
  GroupRun run = RunOf([this](OperationContext& context,
                              const VolumeTarget& volume) -> absl::Status {
    Count(volume.volume_id);
    context.Step("waiting for ever");
    while (true) {
      const absl::Status slept = context.LookAgainAfter(seconds(1));
      if (!slept.ok()) return slept;
    }
  });
  EXPECT_THAT(run.Probe(), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace addons::testing
