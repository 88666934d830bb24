// Demote never takes an image away from a workload, and says so when it did
// not.

#include <chrono>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "base/json.h"
#include "tests/cluster/nvmeof_notes.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kCreationTime[] = ".rbd.image.creation_time";
constexpr char kRefused[] = "rbd-addons.demotion-refused";

class DemoteTest : public TwoSitesTest {
 protected:
  /// Addresses of the image's watchers, as `rbd status` has them.
  static std::set<std::string> Watchers(const std::string& site,
                                        const TestVolume& volume) {
    const auto status =
        ParseJson(Rbd(site, {"status", "--format", "json", ImageSpec(volume)}));
    std::set<std::string> addresses;
    if (!status.is_object()) return addresses;
    for (const auto& watcher : status["watchers"]) {
      addresses.insert(watcher.value("address", ""));
    }
    return addresses;
  }
};

TEST_F(DemoteTest, RefusesAnImageThatIsOpenAndLeavesItsWorkloadAlone) {
  const TestVolume volume = MakeReplicatedVolume();
  // The other site's rbd-mirror watches a primary as well.
  Synchronize("a", volume);
  const std::set<std::string> before = Watchers("a", volume);
  auto disk = OpenDisk("a", volume);
  ASSERT_EQ(disk->Write(0, "before"), 0);
  std::set<std::string> added = Watchers("a", volume);
  for (const std::string& address : before) added.erase(address);
  ASSERT_EQ(added.size(), 1U);
  const std::string address = *added.begin();

  const grpc::Status refused = Demote("a", volume);
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(refused.error_message(), HasSubstr(address));
  for (const std::string& mirror : before) {
    EXPECT_THAT(refused.error_message(), Not(HasSubstr(mirror)));
  }
  EXPECT_TRUE(IsPrimary("a", volume));
  EXPECT_EQ(disk->Write(0, "after "), 0);
  EXPECT_EQ(disk->Read(0, 6), "after ");

  disk.reset();
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_FALSE(IsPrimary("a", volume));
}

// A client stands for the gateway. What the driver notes at the image stays on
// its site, also when the image was a copy in between.
TEST_F(DemoteTest, WhereAGatewayExportsTheImageIsToldOnItsSite) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::map<std::string, std::string> noted = NvmeofNotes("3");
  for (const auto& [key, value] : noted) {
    Rbd("a", {"image-meta", "set", ImageSpec(volume), key, value});
  }
  auto gateway = OpenDisk("a", volume);
  ASSERT_EQ(gateway->Write(0, "exported"), 0);
  const grpc::Status refused = Demote("a", volume);
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(refused.error_message(),
              HasSubstr("remove namespace 3 of subsystem "
                        "'nqn.2016-06.io.spdk:site-a' at the NVMe-oF gateway "
                        "'127.0.0.1:5500'"));
  gateway.reset();

  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  ASSERT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_THAT(ReadText("b", volume), StartsWith("exported"));
  for (const auto& [key, value] : noted) {
    EXPECT_EQ(Metadata("b", volume, key), "") << key;
  }
  Synchronize("b", volume);
  ASSERT_THAT(Demote("b", volume), HasCode(Code::OK));
  ASSERT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK));
  for (const auto& [key, value] : noted) {
    EXPECT_EQ(Metadata("a", volume, key), value) << key;
  }
}

TEST_F(DemoteTest, AReaderIsNoWorkload) {
  // A client that only reads has no watch, needs no lock and loses nothing.
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "text");
  const auto reader = OpenDisk("a", volume, Disk::Mode::kReadOnly);
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_THAT(reader->Read(0, 4), StartsWith("text"));
}

TEST_F(DemoteTest, RefusesAnImageThatIsNotReplicated) {
  const TestVolume volume = MakeVolume();
  EXPECT_THAT(Demote("a", volume), HasCode(Code::FAILED_PRECONDITION));
  EXPECT_EQ(MirrorState("a", volume), "disabled");
  Write("a", volume, "still writable");
  EXPECT_EQ(ReadText("a", volume), "still writable");
}

TEST_F(DemoteTest, RecordsTheCreationTimeAsCephCsiDoes) {
  const TestVolume volume = MakeReplicatedVolume();
  ASSERT_EQ(Metadata("a", volume, kCreationTime), "");
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));

  const auto info =
      ParseJson(Rbd("a", {"info", "--format", "json", ImageSpec(volume)}));
  std::tm created{};
  created.tm_isdst = -1;
  ASSERT_NE(strptime(info.value("create_timestamp", "").c_str(),
                     "%a %b %d %H:%M:%S %Y", &created),
            nullptr)
      << info;
  const std::string text = Metadata("a", volume, kCreationTime);
  EXPECT_THAT(
      text,
      StartsWith("seconds:" + std::to_string(std::mktime(&created)) + " "));
  EXPECT_THAT(text, ::testing::ContainsRegex("^seconds:[0-9]+ nanos:[0-9]+$"));
}

TEST_F(DemoteTest, APublishMarkWithoutAClientDelaysButDoesNotStopIt) {
  const TestVolume volume = MakeReplicatedVolume();
  Rbd("a", {"image-meta", "set", ImageSpec(volume),
            ".rbd.csi.ceph.com/clientaddress/" + volume.id_a + "/node-1",
            "10.0.0.5"});
  const auto started = std::chrono::steady_clock::now();
  const grpc::Status early = Demote("a", volume, std::chrono::seconds(10));
  EXPECT_THAT(early, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(early.error_message(), HasSubstr("published"));
  EXPECT_TRUE(IsPrimary("a", volume));

  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_FALSE(IsPrimary("a", volume));
  EXPECT_GE(std::chrono::steady_clock::now() - started,
            std::chrono::seconds(30));
}

// With a forced promotion librbd drops the copies, and leaves a demotion that
// was taken back before them. On 20.2.4 rbd-mirror has removed that one with
// the next copy, so that nothing is left; the answer is the same.
TEST_F(DemoteTest, AfterATakeoverOfALivingSiteOnlyWhatWasCopiedCounts) {
  const TestVolume volume = MakeReplicatedVolume();
  Synchronize("a", volume);
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  ASSERT_TRUE(Eventually([&] { return NewestSnapshot("b", volume).demoted; }));
  ASSERT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK));
  Write("a", volume, "second");
  Synchronize("a", volume);
  // It would say at once that a is primary, too, and b be demoted for that.
  Stop("a", "rbd-mirror");
  const auto has_demotion = [&] {
    return absl::StrContains(Rbd("b", {"snap", "ls", "--all", "--format",
                                       "json", ImageSpec(volume)}),
                             "\"demoted\"");
  };
  const bool kept = has_demotion();
  if (absl::StrContains(Testbed("ceph", {"b", "versions"}),
                        "ceph version 16.")) {
    ASSERT_TRUE(kept);
  }
  ASSERT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  ASSERT_EQ(has_demotion(), kept);

  const grpc::Status refused = Demote("b", volume, std::chrono::seconds(15));
  EXPECT_THAT(refused, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(refused.error_message(),
              HasSubstr("reported that it has copied something since"));
  EXPECT_TRUE(IsPrimary("b", volume));
  Continue("a", "rbd-mirror");
}

TEST_F(DemoteTest, ASecondaryIsLeftAsItIs) {
  const TestVolume volume = MakeReplicatedVolume();
  EXPECT_THAT(Demote("b", volume), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("a", volume));
  // It still follows.
  Write("a", volume, "later");
  Synchronize("a", volume);
  EXPECT_EQ(ReadText("b", volume), "later");
}

// --- mirror snapshots beside the manager's

TEST_F(DemoteTest, AClientThatIsNeverQuietHoldsNoNoteUp) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  auto disk = OpenDisk("a", volume);
  ASSERT_EQ(disk->HangWhenQuiesced(), 0);
  EXPECT_THAT(Demote("a", volume), HasCode(Code::FAILED_PRECONDITION));
  EXPECT_TRUE(Eventually([&] {
    return Metadata("b", volume, kRefused).find("client.") != std::string::npos;
  }));
}

}  // namespace
}  // namespace addons::testing
