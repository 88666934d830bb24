#include "replication/look/role_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rpc/log_capture.h"

namespace addons {
namespace {

using ::addons::testing::LogCapture;

MirrorView View(MirrorImageState state, bool primary) {
  MirrorView view;
  view.info.state = state;
  view.info.mode = MirrorMode::kSnapshot;
  view.info.primary = primary;
  return view;
}

TEST(RoleOfTest, NamesEveryRole) {
  EXPECT_EQ(RoleName(View(MirrorImageState::kDisabled, false)), "off");
  EXPECT_EQ(RoleName(View(MirrorImageState::kDisabling, true)), "disabling");
  EXPECT_EQ(RoleName(View(MirrorImageState::kUnknown, false)), "unclear");
  EXPECT_EQ(RoleName(View(MirrorImageState::kCreating, false)), "creating");
  EXPECT_EQ(RoleName(View(MirrorImageState::kEnabled, true)), "primary");
  EXPECT_EQ(RoleName(View(MirrorImageState::kEnabled, false)), "secondary");
}

TEST(RoleOfTest, ADemotionIsSeenOnBothSites) {
  for (const MirrorSnapshotKind kind :
       {MirrorSnapshotKind::kPrimaryDemoted,
        MirrorSnapshotKind::kNonPrimaryDemoted}) {
    MirrorView view = View(MirrorImageState::kEnabled, false);
    view.snapshots.emplace_back().kind = kind;
    EXPECT_EQ(RoleName(view), "demoted");
  }
}

TEST(RoleLogTest, AChangeIsOneLineWithBothRoles) {
  const LogCapture log;
  ResolvedVolume volume;
  volume.volume_id = VolumeHandle("0001-v");
  volume.attributes.image_name = ImageName("csi-vol-1");
  MirrorView before = View(MirrorImageState::kEnabled, false);
  before.info.mode = MirrorMode::kJournal;
  LogRoleChange(volume, RoleName(before), "primary", ForcedPromotion(before));
  EXPECT_EQ(log.text(),
            "info role changed volume=0001-v image=csi-vol-1 from=secondary "
            "to=primary by=\"promoted by force, back to the last entry that "
            "was replayed\"\n");
}

}  // namespace
}  // namespace addons
