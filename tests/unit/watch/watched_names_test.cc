#include "watch/watched_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace addons {
namespace {

WatchSnapshot Seen() {
  WatchedPool pool;
  pool.pool = "replicapool";
  pool.rados_namespace = "tenant";
  for (const char* const id : {"id-claim", "id-pv", "id-image", ""}) {
    WatchedImage& image = pool.images.emplace_back();
    image.image = "csi-vol-1";
    image.volume_id = id;
  }
  pool.images[0].claim = "shop/data-0";
  pool.images[0].volume_name = "pvc-0";
  pool.images[1].volume_name = "pvc-1";
  JournalGroups groups;
  groups["uuid"] = {"vgrcontent-1", "id-group"};
  groups["other"] = {"", "id-nameless"};
  pool.groups = std::make_shared<const JournalGroups>(groups);
  WatchSnapshot seen;
  seen.pools = {pool};
  return seen;
}

TEST(WatchedNamesTest, VolumesAndGroupsHaveNames) {
  const WatchSnapshot seen = Seen();
  const WatchedNames names(&seen);
  EXPECT_EQ(names.NameOf("id-claim"), "shop/data-0");
  EXPECT_EQ(names.NameOf("id-pv"), "pvc-1");
  EXPECT_EQ(names.NameOf("id-image"), "replicapool/tenant/csi-vol-1");
  EXPECT_EQ(names.NameOf("id-group"), "vgrcontent-1");
  for (const char* const unknown : {"id-nameless", "id-other", ""}) {
    EXPECT_EQ(names.NameOf(unknown), "") << unknown;
  }
}

TEST(WatchedNamesTest, AnObjectIsCalledByItsNameWhereThatIsKnown) {
  const WatchSnapshot seen = Seen();
  const WatchedNames names(&seen);
  EXPECT_EQ(names.Named("volume 'id-pv'"), "volume 'pvc-1'");
  EXPECT_EQ(names.Named("volume group 'id-group'"),
            "volume group 'vgrcontent-1'");
  EXPECT_EQ(names.NameOfObject("volume group 'id-group'"), "vgrcontent-1");
  for (const char* const unknown : {"volume 'id-other'", "cluster 'site-a'",
                                    "the mirrored pools", "'", ""}) {
    EXPECT_EQ(names.Named(unknown), unknown);
    EXPECT_EQ(names.NameOfObject(unknown), "") << unknown;
  }
  EXPECT_EQ(WatchedNames(nullptr).Named("volume 'id-pv'"), "volume 'id-pv'");
}

}  // namespace
}  // namespace addons
