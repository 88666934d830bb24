#include "ceph/librados/ceph_enums.h"

#include <gtest/gtest.h>

#include "ceph/mirror.h"

namespace addons {
namespace {

TEST(CephEnumsTest, KnowsTheStateThatLibrbdDoesNotDocument) {
  EXPECT_EQ(ToMirrorImageState(3), MirrorImageState::kCreating);
}

TEST(CephEnumsTest, MapsImageStates) {
  EXPECT_EQ(ToMirrorImageState(0), MirrorImageState::kDisabling);
  EXPECT_EQ(ToMirrorImageState(1), MirrorImageState::kEnabled);
  EXPECT_EQ(ToMirrorImageState(2), MirrorImageState::kDisabled);
}

TEST(CephEnumsTest, MapsSnapshotKinds) {
  EXPECT_EQ(ToMirrorSnapshotKind(0), MirrorSnapshotKind::kPrimary);
  EXPECT_EQ(ToMirrorSnapshotKind(1), MirrorSnapshotKind::kPrimaryDemoted);
  EXPECT_EQ(ToMirrorSnapshotKind(2), MirrorSnapshotKind::kNonPrimary);
  EXPECT_EQ(ToMirrorSnapshotKind(3), MirrorSnapshotKind::kNonPrimaryDemoted);
}

TEST(CephEnumsTest, MapsStatusStates) {
  EXPECT_EQ(ToMirrorStatusState(0), MirrorStatusState::kUnknown);
  EXPECT_EQ(ToMirrorStatusState(1), MirrorStatusState::kError);
  EXPECT_EQ(ToMirrorStatusState(2), MirrorStatusState::kSyncing);
  EXPECT_EQ(ToMirrorStatusState(3), MirrorStatusState::kStartingReplay);
  EXPECT_EQ(ToMirrorStatusState(4), MirrorStatusState::kReplaying);
  EXPECT_EQ(ToMirrorStatusState(5), MirrorStatusState::kStoppingReplay);
  EXPECT_EQ(ToMirrorStatusState(6), MirrorStatusState::kStopped);
}

TEST(CephEnumsTest, MapsModes) {
  EXPECT_EQ(ToMirrorMode(0), MirrorMode::kJournal);
  EXPECT_EQ(ToMirrorMode(1), MirrorMode::kSnapshot);
  EXPECT_EQ(ToPoolMirrorMode(0), PoolMirrorMode::kDisabled);
  EXPECT_EQ(ToPoolMirrorMode(1), PoolMirrorMode::kImage);
  EXPECT_EQ(ToPoolMirrorMode(2), PoolMirrorMode::kPool);
}

TEST(CephEnumsTest, TakesValuesOfTheFutureForUnknown) {
  for (const int value : {-1, 7, 1000}) {
    EXPECT_EQ(ToPoolMirrorMode(value), PoolMirrorMode::kUnknown);
    EXPECT_EQ(ToMirrorMode(value), MirrorMode::kUnknown);
    EXPECT_EQ(ToMirrorImageState(value), MirrorImageState::kUnknown);
    // Not kUnknown, which librbd says of two images that are both demoted.
    EXPECT_EQ(ToMirrorStatusState(value), MirrorStatusState::kUnrecognized);
    EXPECT_EQ(ToMirrorSnapshotKind(value), MirrorSnapshotKind::kUnknown);
    EXPECT_EQ(ToSnapshotKind(value), SnapshotKind::kUnknown);
  }
}

}  // namespace
}  // namespace addons
