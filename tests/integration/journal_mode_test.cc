// What only journal mode has: a first copy of the whole image, before anything
// is replayed.

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class JournalModeTest : public TwoSitesTest {
 protected:
  /// How many tags the journal of the copy on site b has had.
  static int Tags(const TestVolume& volume) {
    const std::string file = Bed().Path("tags");
    Rados("b", volume,
          {"getomapval", absl::StrCat("journal.", ImageId("b", volume)),
           "next_tag_tid", file});
    std::ifstream input(file, std::ios::binary);
    const std::string value(std::istreambuf_iterator<char>(input), {});
    EXPECT_EQ(value.size(), 8U);
    return value.empty() ? -1 : value.front();
  }
  static bool Exists(const std::string& site, const TestVolume& volume) {
    return Bed().Run("rbd", {site, "info", ImageSpec(volume)}).ok();
  }
};

TEST_F(JournalModeTest, AFirstCopyThatIsNotWholeIsNotForced) {
  const Parameters journal = {{"mirroringMode", "journal"}};
  TestVolume volume;
  // Caught in the middle of the copy; a quick machine may be too quick.
  for (int tries = 0; tries < 4; ++tries) {
    volume = MakeVolume({"--size", "768M"});
    Write("a", volume, "whole", 768u << 20);
    Rbd("a", {"feature", "enable", ImageSpec(volume), "journaling"});
    ASSERT_THAT(Enable("a", volume, journal), HasCode(Code::OK));
    ASSERT_TRUE(Eventually([&] { return Exists("b", volume); }));
    Stop("b", "rbd-mirror");
    if (Tags(volume) == 1) break;
    Continue("b", "rbd-mirror");
  }
  ASSERT_EQ(Tags(volume), 1) << "the copy was never caught";
  // Until its rbd-mirror has told on site a that it copies: UNAVAILABLE.
  ::replication::GetVolumeReplicationInfoResponse info;
  EXPECT_THAT(Info("a", volume, &info),
              AnyOf(HasCode(Code::NOT_FOUND), HasCode(Code::UNAVAILABLE)));
  volume.id_b = Testbed("peer-journal", {"b", volume.id_a});

  const grpc::Status refused = Promote("b", volume, true, journal);
  EXPECT_THAT(refused, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(refused.error_message(), HasSubstr("first copy"));
  EXPECT_FALSE(IsPrimary("b", volume));

  Continue("b", "rbd-mirror");
  // What the primary calls whole can be promoted at once.
  ASSERT_TRUE(
      Eventually([&] { return Info("a", volume, &info).ok(); }, seconds(180)));
  EXPECT_GT(Tags(volume), 1);
  EXPECT_THAT(Promote("b", volume, true, journal), HasCode(Code::OK));
  EXPECT_EQ(Digest("b", volume), Digest("a", volume));
}

}  // namespace
}  // namespace addons::testing
