// A forced promotion in the middle of a copy, for images that are special:
// those that can be brought back hold the last complete state, the others are
// refused, and nothing of them is changed.

#include <chrono>
#include <string>
#include <vector>

#include "tests/integration/mid_copy.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const bool kRescueKindsBed = OnBluestore(
    {"RescueKindsTest", "UserSnapshotRescueTest", "CloneRescueTest"});

class KindsTest : public MidCopyTest {
 protected:
  static void ExpectRefused(const std::string& name, const std::string& why) {
    const Volume& made = volumes_->at(name);
    const SeenSnapshot before = NewestSnapshot("b", made.volume);
    const uint64_t digest = Digest("b", made.volume);
    const grpc::Status answer = Promote("b", made.volume, true);
    EXPECT_THAT(answer, HasCode(Code::UNAVAILABLE));
    EXPECT_THAT(answer.error_message(), HasSubstr(why));
    EXPECT_TRUE(Daemon("b").Running());
    EXPECT_FALSE(IsPrimary("b", made.volume));
    EXPECT_EQ(NewestSnapshot("b", made.volume).id, before.id);
    EXPECT_EQ(Digest("b", made.volume), digest);
  }
  /// Site a is back. These were refused: their copies become complete.
  static void ExpectMoves(const std::string& name) {
    const TestVolume& volume = volumes_->at(name).volume;
    ASSERT_TRUE(
        Eventually([&] { return Demote("a", volume).ok(); }, seconds(120)))
        << name;
    EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK)) << name;
    EXPECT_EQ(Digest("a", volume), Digest("b", volume)) << name;
  }
  /// They are forced, and site a comes back.
  void ExpectBothTheSame(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      ASSERT_THAT(Force(volumes_->at(name).volume), HasCode(Code::OK)) << name;
      Write("b", volumes_->at(name).volume, "of site b", kBytes / 4);
    }
    Continue("a", "all");
    for (const std::string& name : names) {
      ExpectPeerResynced(name, volumes_->at(name));
    }
  }
};

/// Site a has died before the first test.
class RescueKindsTest : public KindsTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy({
        {"object map off",
         {{},
          [](const TestVolume& volume) {
            Rbd("a", {"feature", "disable", ImageSpec(volume), "fast-diff",
                      "object-map"});
          }}},
        {"discards",
         {{},
          {},
          [](const TestVolume& volume) {
            EXPECT_EQ(OpenDisk("a", volume)->Discard(0, kWholeBytes / 2), 0);
          }}},
        {"grown",
         {{},
          {},
          [](const TestVolume& volume) {
            Rbd("a",
                {"resize", "--no-progress", "--size", "3G", ImageSpec(volume)});
            Write("a", volume, "in the new part, too", kBytes / 2 * 3);
          }}},
        {"shrunk",
         {{},
          {},
          [](const TestVolume& volume) {
            Rbd("a", {"resize", "--no-progress", "--allow-shrink", "--size",
                      "1G", ImageSpec(volume)});
          }}},
    });
    SiteDies();
  }
};

TEST_F(RescueKindsTest, AFullPoolChangesNothingUntilThereIsSpace) {
  const Volume& made = volumes_->at("object map off");
  SetQuota("b", "max_bytes", "1");
  ASSERT_TRUE(Eventually([] { return IsFull("b"); }));
  const grpc::Status full = Promote("b", made.volume, true, {}, seconds(60));
  EXPECT_THAT(full, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(full.error_message(), HasSubstr("full"));
  EXPECT_FALSE(IsPrimary("b", made.volume));
  EXPECT_THAT(Images(made.volume), Not(HasSubstr("rescue")));
  SetQuota("b", "max_bytes", "0");
  ASSERT_TRUE(Eventually([] { return !IsFull("b"); }));
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(RescueKindsTest, WithoutAnObjectMap) {
  const Volume& made = volumes_->at("object map off");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(RescueKindsTest, WhatWasDiscardedIsBack) {
  const Volume& made = volumes_->at("discards");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(RescueKindsTest, AnImageThatGrewHasItsSizeOfBefore) {
  const Volume& made = volumes_->at("grown");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(RescueKindsTest, AnImageThatBecomesSmallerIsRefused) {
  ExpectRefused("shrunk", "smaller");
}

// The last test: it brings site a back, and the copies that the forced
// promotions have interrupted go on.
TEST_F(RescueKindsTest, BothSitesHoldTheSameAfterwards) {
  ExpectBothTheSame({"object map off", "discards", "grown"});
  ExpectMoves("shrunk");
}

/// The copy that is interrupted has brought a snapshot of a user with it.
class UserSnapshotRescueTest : public KindsTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy({
        {"first copy", {{}, {}, MakeSnapshot}},
        {"ordinary", {{}, WriteBefore, MakeSnapshot}},
        {"demotion", {{}, WriteBefore, MakeSnapshot}},
        // An empty copy lies between: its snapshot reads as the last complete
        // state.
        {"sealed",
         {{},
          WriteBefore,
          MakeSnapshot,
          [](const TestVolume& volume) {
            Write("a", volume, "whole: sealed", kWholeBytes);
            Synchronize("a", volume);
            Synchronize("a", volume);
          }}},
    });
    SiteDies();
  }

 private:
  static void MakeSnapshot(const TestVolume& volume) {
    Rbd("a",
        {"snap", "create", "--no-progress", ImageSpec(volume) + "@backup"});
  }
  static void WriteBefore(const TestVolume& volume) {
    Write("a", volume, "before: all of it", kWholeBytes / 2);
  }
};

TEST_F(UserSnapshotRescueTest, AfterAFirstCopyNothingIsComplete) {
  ExpectRefused("first copy", "this site held nothing");
}

// librbd 16.2 dies of such an image where it is promoted as it is.
TEST_F(UserSnapshotRescueTest, TheStateBeforeIsBack) {
  for (const std::string name : {"ordinary", "demotion"}) {
    const Volume& made = volumes_->at(name);
    ASSERT_NE(made.digest_before, made.digest);
    EXPECT_THAT(Force(made.volume), HasCode(Code::OK)) << name;
    ExpectHolds(made.volume, made.digest_before);
    EXPECT_THAT(Rbd("b", {"snap", "ls", ImageSpec(made.volume)}),
                Not(HasSubstr("backup")))
        << name;
  }
}

TEST_F(UserSnapshotRescueTest, ASealedStateIsBack) {
  const Volume& made = volumes_->at("sealed");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

// The last test, as above.
TEST_F(UserSnapshotRescueTest, BothSitesHoldTheSameAfterwards) {
  ExpectBothTheSame({"ordinary", "demotion", "sealed"});
  ExpectMoves("first copy");
}

/// A clone, in mid-copy as well, and site a has died.
class CloneRescueTest : public MidCopyTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy({{"clone", Clone()}});
    SiteDies();
  }

 protected:
  /// Of a parent that another program mirrors, as it does the clone. Where the
  /// last complete state reads as the parent the interval writes.
  static Kind Clone() {
    const std::string parent = MakeParent("golden-image");
    Kind kind;
    kind.flags = {"--parent", parent + "@origin"};
    kind.prepare = [parent](const TestVolume& volume) {
      Rbd("a", {"resize", "--no-progress", "--size", "2G", ImageSpec(volume)});
      for (const std::string& spec : {parent, ImageSpec(volume)}) {
        Rbd("a", {"mirror", "image", "enable", spec, "snapshot"});
      }
    };
    kind.whole = [](const TestVolume& volume) {
      EXPECT_EQ(OpenDisk("a", volume)->Write(kWholeBytes, "whole"), 0);
    };
    return kind;
  }
};

TEST_F(CloneRescueTest, ReadsAsItsParentAgain) {
  const Volume& made = volumes_->at("clone");
  EXPECT_EQ(ReadText("b", made.volume), "in mid-copy");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
  EXPECT_EQ(ReadText("b", made.volume), "of the parent");
}

}  // namespace
}  // namespace addons::testing
