#include "replication/look/last_roles.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/answering_cluster.h"

namespace addons::testing {
namespace {

class LastRolesTest : public ::testing::Test {
 protected:
  ResolvedVolume Volume(const std::string& uuid) const {
    ResolvedVolume volume;
    volume.cluster = cluster_;
    volume.uuid = uuid;
    return volume;
  }
  static MirrorView View(MirrorImageState state, bool primary) {
    MirrorView view;
    view.info.state = state;
    view.info.primary = primary;
    return view;
  }

  std::shared_ptr<AnsweringCluster> cluster_ =
      std::make_shared<AnsweringCluster>();
  LastRoles roles_;
};

TEST_F(LastRolesTest, TheLastLookCounts) {
  const ResolvedVolume volume = Volume("one");
  EXPECT_EQ(roles_.Of(volume), std::nullopt);
  roles_.Note(volume, View(MirrorImageState::kEnabled, true));
  EXPECT_EQ(roles_.Of(volume), LastRole::kPrimary);
  roles_.Note(volume, View(MirrorImageState::kEnabled, false));
  EXPECT_EQ(roles_.Of(volume), LastRole::kSecondary);
  roles_.Note(volume, View(MirrorImageState::kDisabled, false));
  EXPECT_EQ(roles_.Of(volume), LastRole::kOff);
  // What is being disabled has no role any more.
  roles_.Note(volume, View(MirrorImageState::kDisabling, true));
  EXPECT_EQ(roles_.Of(volume), LastRole::kOff);
  EXPECT_EQ(roles_.Of(Volume("another")), std::nullopt);
}

TEST_F(LastRolesTest, TellsWhatIsNew) {
  const ResolvedVolume volume = Volume("one");
  const MirrorView off = View(MirrorImageState::kDisabled, false);
  const MirrorView primary = View(MirrorImageState::kEnabled, true);
  EXPECT_FALSE(roles_.Note(volume, off));
  EXPECT_TRUE(roles_.Note(volume, primary));
  EXPECT_FALSE(roles_.Note(volume, primary));
  EXPECT_TRUE(roles_.Note(volume, View(MirrorImageState::kEnabled, false)));
  EXPECT_TRUE(roles_.Note(volume, off));
}

TEST_F(LastRolesTest, SoManyAreRememberedAndNotMore) {
  roles_.Note(Volume("old"), View(MirrorImageState::kEnabled, true));
  for (size_t i = 0; i + 1 < LastRoles::kEnough; ++i) {
    roles_.Note(Volume(absl::StrCat(i)),
                View(MirrorImageState::kEnabled, true));
  }
  EXPECT_EQ(roles_.Of(Volume("old")), LastRole::kPrimary);
  for (size_t i = 0; i < LastRoles::kEnough; ++i) {
    roles_.Note(Volume(absl::StrCat("newer ", i)),
                View(MirrorImageState::kEnabled, true));
  }
  EXPECT_EQ(roles_.Of(Volume("old")), std::nullopt);
}

}  // namespace
}  // namespace addons::testing
