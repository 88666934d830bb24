#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "ceph/pool.h"
#include "replication/look/journal.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

class JournalReplayTest : public ::testing::Test {
 protected:
  bool Began() { return JournalReplayBegan(*pool_, "10a1").value(); }
  void SetHeader(OmapValues values) {
    pair_.b().SetOmap(MirroredPair::kPool, "", "journal.10a1",
                      std::move(values));
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  const std::unique_ptr<Pool> pool_ = *pair_.cluster(pair_.b())->OpenPool(
      pair_.pool_id(pair_.b()), "", Access::kRead);
};

TEST_F(JournalReplayTest, TheFirstTagIsThatOfTheCopyItself) {
  // As Ceph 16.2.15 writes it during the first copy, and when it has ended.
  SetHeader({{"next_tag_tid", std::string("\1\0\0\0\0\0\0\0", 8)}});
  EXPECT_FALSE(Began());
  SetHeader({{"next_tag_tid", std::string("\2\0\0\0\0\0\0\0", 8)}});
  EXPECT_TRUE(Began());
  SetHeader({{"next_tag_tid", std::string("\0\1\0\0\0\0\0\0", 8)}});
  EXPECT_TRUE(Began());
}

TEST_F(JournalReplayTest, WhatIsNotThereHasReplayedNothing) {
  EXPECT_FALSE(Began());
  SetHeader({{"order", "x"}});
  EXPECT_FALSE(Began());
  SetHeader({{"next_tag_tid", std::string(4, '\2')}});
  EXPECT_FALSE(Began());
}

// A resync that was asked for deletes the copy: that nobody can tell is no
// "no".
TEST_F(JournalReplayTest, AClientOfAnotherShapeIsNoWordThatNoResyncIsWanted) {
  const auto requested = JournalResyncRequested(*pool_, "10a1");
  ASSERT_OK(requested);
  EXPECT_FALSE(*requested) << "no journal";
  SetHeader({{"order", "x"}});
  EXPECT_FALSE(*JournalResyncRequested(*pool_, "10a1")) << "nor a client";
  SetHeader({{"client_", "of a newer Ceph"}});
  EXPECT_THAT(JournalResyncRequested(*pool_, "10a1"),
              StatusIs(absl::StatusCode::kUnavailable,
                       ::testing::HasSubstr("does not know")));
  EXPECT_THAT(ClearJournalResync(*pool_, "10a1"),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(JournalReplayTest, AReadThatFailsTellsNothing) {
  world_.SetCallHook(
      [](absl::string_view, absl::string_view, bool) { return EIO; });
  EXPECT_FALSE(JournalReplayBegan(*pool_, "10a1").ok());
}

}  // namespace
}  // namespace addons::testing
