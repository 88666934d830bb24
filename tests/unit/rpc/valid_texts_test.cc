#include "rpc/valid_texts.h"

#include <gtest/gtest.h>

#include <string>

#include "replication/replication.pb.h"
#include "rpc/text.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

TEST(MakeValidTest, ReplacesOnlyWhatIsNoUtf8) {
  std::string text = "caf\xC3\xA9 \xFFz \xC3( \xE2\x82";
  EXPECT_TRUE(MakeValid(&text));
  EXPECT_EQ(text, "caf\xC3\xA9 ?z ?( ??");
  EXPECT_FALSE(MakeValid(&text));
  std::string line = "two\nlines";
  EXPECT_FALSE(MakeValid(&line));
  EXPECT_EQ(line, "two\nlines");
}

TEST(MakeTextsValidTest, ReachesNestedMessagesListsAndMaps) {
  volumegroup::CreateVolumeGroupResponse response;
  response.mutable_volume_group()->set_volume_group_id("g\xFF");
  auto* volume = response.mutable_volume_group()->add_volumes();
  volume->set_volume_id("v\xFF");
  (*volume->mutable_volume_context())["k"] = "\xFE";
  MakeTextsValid(response);
  EXPECT_EQ(response.volume_group().volume_group_id(), "g?");
  EXPECT_EQ(response.volume_group().volumes(0).volume_id(), "v?");
  EXPECT_EQ(response.volume_group().volumes(0).volume_context().at("k"), "?");
  std::string sent;
  EXPECT_TRUE(response.SerializeToString(&sent));
}

TEST(MakeTextsValidTest, LeavesTheRestAlone) {
  replication::GetVolumeReplicationInfoResponse response;
  response.set_last_sync_bytes(7);
  response.set_status_message("in step");
  const std::string before = response.SerializeAsString();
  MakeTextsValid(response);
  EXPECT_EQ(response.SerializeAsString(), before);
}

}  // namespace
}  // namespace addons
