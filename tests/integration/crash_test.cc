// The daemon dies at any moment: the next one finds the state, and the same
// call again leads to the same end.

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/integration/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class CrashTest : public TwoSitesTest {
 protected:
  void TearDown() override {
    TwoSitesTest::TearDown();
    // No fault outlives its test.
    for (const std::string site : {"a", "b"}) Daemon(site).Stop(SIGKILL);
  }

  /// The daemon of `site` dies at `fault` in the middle of `call`; then a new
  /// one runs.
  void DieDuring(const std::string& site, const std::string& fault,
                 const std::function<grpc::Status()>& call) {
    Restart(site, {{"RBD_ADDONS_FAULTS", fault}});
    EXPECT_THAT(call(), HasCode(Code::UNAVAILABLE)) << fault;
    EXPECT_TRUE(Daemon(site).WaitForEnd(20)) << "survived " << fault;
    Restart(site);
  }

  /// The same by SIGKILL, so long after the call began.
  void KillDuring(const std::string& site, milliseconds delay,
                  const std::function<grpc::Status()>& call) {
    auto status = std::async(std::launch::async, call);
    // The delay is what is varied here; nothing is waited for.
    RealClock().SleepFor(delay, std::stop_token());
    Daemon(site).Stop(SIGKILL);
    status.get();
    Restart(site);
  }

  /// Repeats the demotion until the dead daemon is no client of the image any
  /// more; nothing else may refuse it meanwhile.
  static void DemoteAgain(const TestVolume& volume) {
    grpc::Status status;
    EXPECT_TRUE(Eventually([&] {
      status = Demote("a", volume);
      if (!status.ok()) {
        EXPECT_THAT(status, HasCode(Code::FAILED_PRECONDITION));
        EXPECT_THAT(status.error_message(), HasSubstr("in use by"));
      }
      return status.ok();
    })) << status.error_message();
    EXPECT_FALSE(IsPrimary("a", volume));
  }

  /// The image is an ordinary primary that takes writes.
  static void ExpectWritable(const std::string& site, const TestVolume& volume,
                             const std::string& text) {
    EXPECT_TRUE(IsPrimary(site, volume)) << text;
    Write(site, volume, text);
    EXPECT_EQ(ReadText(site, volume), text);
  }
};

TEST_F(CrashTest, DemoteIsFinishedByTheRetry) {
  const TestVolume volume = MakeReplicatedVolume();
  for (const std::string fault :
       {"rbd_metadata_set:kill", "rbd_metadata_set:kill-after",
        "rbd_mirror_image_demote:kill", "rbd_mirror_image_demote:kill-after"}) {
    Write("a", volume, fault);
    DieDuring("a", fault, [&] { return Demote("a", volume); });
    DemoteAgain(volume);
    EXPECT_THAT(Metadata("a", volume, ".rbd.image.creation_time"),
                HasSubstr("seconds:"));
    EXPECT_EQ(ReadText("a", volume), fault);
    ASSERT_THAT(Promote("a", volume), HasCode(Code::OK)) << fault;
    Rbd("a", {"image-meta", "remove", ImageSpec(volume),
              ".rbd.image.creation_time"});
  }
}

TEST_F(CrashTest, PromoteIsFinishedByTheRetry) {
  const TestVolume volume = MakeReplicatedVolume();
  int hours = 0;
  for (const std::string fault :
       {"rbd_mirror_image_promote:kill", "rbd_mirror_image_promote:kill-after",
        "rados_mgr_command#1:kill", "rados_mgr_command#2:kill",
        "rados_mgr_command#2:kill-after", "rados_mgr_command#3:kill-after"}) {
    const std::string interval = std::to_string(++hours) + "h";
    const Parameters schedule = {{"schedulingInterval", interval}};
    DemoteAgain(volume);
    if (hours == 6) {
      // #3 is the removal of an old schedule.
      ASSERT_THAT(Schedules("a", volume), HasSubstr("5h"));
    }
    DieDuring("a", fault,
              [&] { return Promote("a", volume, false, schedule); });
    EXPECT_THAT(Promote("a", volume, false, schedule), HasCode(Code::OK))
        << fault;
    EXPECT_THAT(Schedules("a", volume), HasSubstr("every " + interval));
    const std::string previous = std::to_string(hours - 1) + "h";
    EXPECT_THAT(Schedules("a", volume),
                ::testing::Not(HasSubstr("every " + previous)));
    ExpectWritable("a", volume, fault);
  }
}

class CrashElsewhereTest : public CrashTest {};

TEST_F(CrashElsewhereTest, ForcedPromoteIsFinishedByTheRetry) {
  for (const std::string fault : {"rbd_mirror_image_promote:kill",
                                  "rbd_mirror_image_promote:kill-after"}) {
    const TestVolume volume = MakeReplicatedVolume();
    Write("a", volume, "copied");
    Synchronize("a", volume);
    DieDuring("b", fault, [&] { return Promote("b", volume, true); });
    EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK)) << fault;
    EXPECT_EQ(ReadText("b", volume), "copied");
    EXPECT_EQ(JournalImageId("b", volume), ImageId("b", volume));
    ExpectWritable("b", volume, fault);
  }
}

TEST_F(CrashElsewhereTest, EnableIsFinishedByTheRetry) {
  for (const std::string fault : {"rbd_mirror_image_enable2:kill",
                                  "rbd_mirror_image_enable2:kill-after"}) {
    const TestVolume volume = MakeVolume();
    DieDuring("a", fault, [&] { return Enable("a", volume); });
    EXPECT_THAT(Enable("a", volume), HasCode(Code::OK)) << fault;
    EXPECT_EQ(MirrorState("a", volume), "enabled");
    ExpectWritable("a", volume, fault);
  }
}

TEST_F(CrashElsewhereTest, DisableIsFinishedByTheRetry) {
  for (const std::string fault :
       {"rados_mgr_command#1:kill", "rados_mgr_command#2:kill",
        "rados_mgr_command#2:kill-after", "rbd_mirror_image_disable:kill",
        "rbd_mirror_image_disable:kill-after"}) {
    const TestVolume volume = MakeVolume();
    const Parameters schedule = {{"schedulingInterval", "8h"}};
    ASSERT_THAT(Enable("a", volume), HasCode(Code::OK));
    ASSERT_THAT(Promote("a", volume, false, schedule), HasCode(Code::OK));
    ASSERT_THAT(Schedules("a", volume), HasSubstr("8h"));
    DieDuring("a", fault, [&] { return Disable("a", volume); });
    EXPECT_THAT(Disable("a", volume), HasCode(Code::OK)) << fault;
    EXPECT_EQ(MirrorState("a", volume), "disabled") << fault;
    Write("a", volume, fault);
    // A schedule that was left behind would show when it is mirrored again.
    ASSERT_THAT(Enable("a", volume), HasCode(Code::OK));
    EXPECT_EQ(Schedules("a", volume), "") << fault;
  }
}

TEST_F(CrashElsewhereTest, ResyncIsRequestedOnceAllTheSame) {
  const TestVolume volume = MakeSplitBrain();
  const std::string old_id = ImageId("a", volume);
  bool ready = false;
  const auto resync = [&] { return Resync("a", volume, true, &ready); };
  DieDuring("a", "rbd_mirror_image_resync:kill", resync);
  EXPECT_EQ(ImageId("a", volume), old_id);
  DieDuring("a", "rbd_mirror_image_resync:kill-after", resync);

  std::set<std::string> ids;
  EXPECT_TRUE(Eventually(
      [&] {
        const bool ok = resync().ok();
        if (const std::string id = ImageId("a", volume); !id.empty()) {
          ids.insert(id);
        }
        return ok && ready;
      },
      std::chrono::seconds(150)))
      << Status("a", volume);
  ids.erase(old_id);
  EXPECT_EQ(ids.size(), 1U);
  EXPECT_EQ(JournalImageId("a", volume), ImageId("a", volume));
  Synchronize("b", volume);
  EXPECT_EQ(ReadText("a", volume), "of site b");
}

TEST_F(CrashElsewhereTest, APrimaryThatCannotBeWrittenIsRepaired) {
  // librbd takes the mark "non-primary" off after the snapshot that makes the
  // image primary, and sets it before the one that demotes it. Who dies between
  // the two leaves a primary on which every write ends with EROFS.
  const TestVolume volume = MakeReplicatedVolume();
  const std::string header = "rbd_header." + ImageId("a", volume);
  const std::string file = Bed().Path("features");
  const std::vector<std::string> object = {"a", "-p", RealBed::kPool};
  const auto rados = [&](std::vector<std::string> args) {
    args.insert(args.begin(), object.begin(), object.end());
    Testbed("rados", args);
  };
  rados({"getomapval", header, "features", file});
  std::string features;
  {
    std::ifstream input(file, std::ios::binary);
    features.assign(std::istreambuf_iterator<char>(input), {});
  }
  ASSERT_EQ(features.size(), 8U);
  features[1] = static_cast<char>(features[1] | 4);  // bit 10
  std::ofstream(file, std::ios::binary) << features;
  rados({"setomapval", header, "features", "--input-file", file});
  ASSERT_THAT(Rbd("a", {"info", ImageSpec(volume)}), HasSubstr("non-primary"));
  ASSERT_TRUE(IsPrimary("a", volume));

  EXPECT_THAT(Promote("a", volume), HasCode(Code::OK));
  ExpectWritable("a", volume, "writable again");
}

class SuddenDeathTest : public CrashTest {};

TEST_F(SuddenDeathTest, DemoteAndPromoteConverge) {
  const TestVolume volume = MakeReplicatedVolume();
  for (const int delay : {5, 20, 50, 100}) {
    const std::string text = "written " + std::to_string(delay);
    Write("a", volume, text);
    KillDuring("a", milliseconds(delay), [&] { return Demote("a", volume); });
    DemoteAgain(volume);
    EXPECT_EQ(ReadText("a", volume), text);

    KillDuring("a", milliseconds(delay), [&] { return Promote("a", volume); });
    EXPECT_THAT(Promote("a", volume), HasCode(Code::OK)) << delay;
    EXPECT_EQ(ReadText("a", volume), text);
    ExpectWritable("a", volume, "after " + std::to_string(delay));
  }
  // All of that has left nothing behind that would stop the copying.
  Write("a", volume, "at last");
  Synchronize("a", volume);
  EXPECT_EQ(ReadText("b", volume), "at last");
}

}  // namespace
}  // namespace addons::testing
