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
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
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
       // Its notes.
       {"rados_write_op_operate2:kill", "rados_write_op_operate2:kill-after",
        "rbd_mirror_image_demote:kill", "rbd_mirror_image_demote:kill-after"}) {
    Write("a", volume, fault);
    DieDuring("a", fault, [&] { return Demote("a", volume); });
    DemoteAgain(volume);
    EXPECT_THAT(Metadata("a", volume, ".rbd.image.creation_time"),
                HasSubstr("seconds:"));
    EXPECT_EQ(ReadText("a", volume), fault);
    ASSERT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK)) << fault;
    Rbd("a", {"image-meta", "remove", ImageSpec(volume),
              ".rbd.image.creation_time"});
  }
}

TEST_F(CrashTest, PromoteIsFinishedByTheRetry) {
  const TestVolume volume = MakeReplicatedVolume();
  int hours = 0;
  for (const std::string fault :
       {"rbd_mirror_image_promote:kill", "rbd_mirror_image_promote:kill-after",
        "rados_mgr_command#1:kill", "rados_mgr_command#1:kill-after",
        "rados_mgr_command#2:kill", "rados_mgr_command#2:kill-after"}) {
    const std::string interval = std::to_string(++hours) + "h";
    const Parameters schedule = {{"schedulingInterval", interval}};
    DemoteAgain(volume);
    const std::string previous = std::to_string(hours - 1) + "h";
    if (hours > 1) {
      // #2 is the removal of the old schedule.
      ASSERT_THAT(Schedules("a", volume), HasSubstr("every " + previous));
    }
    // Until the peer follows it, it does not come as far as its schedule.
    DieDuring("a", fault, [&] {
      grpc::Status status;
      for (int call = 0; call < 9; ++call) {
        status = Promote("a", volume, false, schedule);
        if (status.ok() || Daemon("a").WaitForEnd(1)) break;
      }
      return status;
    });
    EXPECT_THAT(PromoteAtLast("a", volume, schedule), HasCode(Code::OK))
        << fault;
    EXPECT_THAT(Schedules("a", volume), HasSubstr("every " + interval));
    EXPECT_THAT(Schedules("a", volume),
                ::testing::Not(HasSubstr("every " + previous)));
    ExpectWritable("a", volume, fault);
  }
}

class CrashElsewhereTest : public CrashTest {};

/// The daemon dies at a moment that depends on the other site's reports.
class SuddenDeathTest : public CrashTest {};

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
       {"rados_mgr_command:kill", "rados_mgr_command:kill-after",
        "rbd_mirror_image_disable:kill",
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

TEST_F(CrashElsewhereTest, AnImageThatIsLeftDisablingIsDisabled) {
  // librbd marks the image "disabling" first. Who dies then leaves it so for
  // ever, with or without its mirror snapshots.
  const TestVolume volume = MakeReplicatedVolume();
  const std::string key = "image_" + ImageId("a", volume);
  const std::string file = Bed().Path("mirror-image");
  const auto rados = [&](std::vector<std::string> args) {
    const std::vector<std::string> object = {"a", "-p", RealBed::kPool};
    args.insert(args.begin(), object.begin(), object.end());
    Testbed("rados", args);
  };
  rados({"getomapval", "rbd_mirroring", key, file});
  std::string record;
  {
    std::ifstream input(file, std::ios::binary);
    record.assign(std::istreambuf_iterator<char>(input), {});
  }
  // Header of 6 bytes, length and text of the global id, state.
  constexpr size_t kState = 6 + 4 + 36;
  ASSERT_GT(record.size(), kState);
  ASSERT_EQ(record[kState], 1);  // enabled
  record[kState] = 0;            // disabling
  std::ofstream(file, std::ios::binary) << record;
  rados({"setomapval", "rbd_mirroring", key, "--input-file", file});
  ASSERT_EQ(MirrorState("a", volume), "disabling");

  const grpc::Status enabled =
      Enable("a", volume, {}, std::chrono::seconds(10));
  EXPECT_THAT(enabled, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(enabled.error_message(), HasSubstr("disable it once more"));
  EXPECT_THAT(Disable("a", volume, {}, std::chrono::seconds(30)),
              HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", volume), "disabled");
  Write("a", volume, "an ordinary image");
  EXPECT_THAT(Enable("a", volume), HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", volume), "enabled");
}

TEST_F(SuddenDeathTest, ResyncIsRequestedOnceAllTheSame) {
  const TestVolume volume = MakeSplitBrain();
  const std::string old_id = ImageId("a", volume);
  bool ready = false;
  const auto resync = [&] { return Resync("a", volume, true, &ready); };
  // Nothing is requested before both sites have reported.
  const auto until_it_dies = [&] {
    grpc::Status status;
    for (int call = 0; call < 90; ++call) {
      status = resync();
      if (status.ok() || Daemon("a").WaitForEnd(1)) break;
    }
    return status;
  };
  DieDuring("a", "rbd_mirror_image_resync:kill", until_it_dies);
  EXPECT_EQ(ImageId("a", volume), old_id);
  DieDuring("a", "rbd_mirror_image_resync:kill-after", until_it_dies);

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

// A forced disable of a dead peer's copy that dies inside librbd leaves it
// "disabling", while rbd-mirror of this site lives.
class InterruptedDisableTest : public CrashElsewhereTest {
 protected:
  const Parameters force_{{"force", "true"}};

  /// Disables by force again, as the operator repeats it.
  void ExpectCarriedOn(const TestVolume& volume) {
    grpc::Status status;
    EXPECT_TRUE(Eventually(
        [&] {
          status = Disable("b", volume, force_, std::chrono::seconds(100));
          EXPECT_THAT(status,
                      AnyOf(HasCode(Code::OK), HasCode(Code::UNAVAILABLE)));
          return status.ok();
        },
        std::chrono::seconds(200)))
        << status.error_message();
    EXPECT_EQ(MirrorState("b", volume), "disabled");
    Write("b", volume, "plain");
    EXPECT_EQ(ReadText("b", volume), "plain");
  }
};

TEST_F(InterruptedDisableTest, IsCarriedOn) {
  TestVolume volume;
  std::vector<TestVolume> spare;
  for (int i = 0; i < 4; ++i) {
    spare.push_back(MakeReplicatedVolume());
    Synchronize("a", spare.back());
  }
  Stop("a", "all");
  // Killed as soon as it is seen to be inside; it may be out by then.
  bool caught = false;
  for (size_t tries = 0; tries < spare.size() && !caught; ++tries) {
    volume = spare[tries];
    const auto begun = [&] {
      const std::string state = MirrorState("b", volume);
      return state == "disabling" || state == "disabled";
    };
    // As long as the other site counts as alive the answer is OK, and nothing
    // is done.
    auto disabled = std::async(std::launch::async, [&] {
      return Eventually(
          [&] {
            Disable("b", volume, force_, std::chrono::seconds(200));
            return begun();
          },
          std::chrono::seconds(200));
    });
    EXPECT_TRUE(Eventually(begun, std::chrono::seconds(200)));
    Daemon("b").Stop(SIGKILL);
    disabled.get();
    caught = MirrorState("b", volume) == "disabling";
    Restart("b");
  }
  ASSERT_TRUE(caught) << "each disable was too quick";
  ExpectCarriedOn(volume);
}

/// With clusters of its own: an OSD that stood still for minutes may take no
/// request for good (its PGs stay "laggy"; Ceph 16.2.15).
class HeldDisableTest : public InterruptedDisableTest {};

TEST_F(HeldDisableTest, IsCarriedOnWhileRbdMirrorHasTheImageOpen) {
  const TestVolume volume = MakeReplicatedVolume();
  Synchronize("a", volume);
  Stop("a", "all");
  // As a death right after librbd's first step leaves it.
  const std::string file = Bed().Path("mirror-image");
  const std::string key = "image_" + ImageId("b", volume);
  const auto rados = [&](const std::string& command,
                         const std::vector<std::string>& more) {
    std::vector<std::string> args = {
        "b", "-p", RealBed::kPool, command, "rbd_mirroring", key};
    args.insert(args.end(), more.begin(), more.end());
    Testbed("rados", args);
  };
  rados("getomapval", {file});
  std::string image;
  {
    std::ifstream input(file, std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(input), {});
  }
  // Version and length, the global id with its length, the state: enabled.
  constexpr size_t kState = 6 + 4 + 36;
  ASSERT_GT(image.size(), kState);
  ASSERT_EQ(image[kState], 1);
  image[kState] = 0;
  std::ofstream(file, std::ios::binary) << image;
  rados("setomapval", {"--input-file", file});
  ASSERT_EQ(MirrorState("b", volume), "disabling");
  ExpectCarriedOn(volume);
}

// librbd takes the mark "non-primary" off after the snapshot that makes the
// image primary, and sets it before the one that demotes it. Who dies between
// the two leaves a primary on which every write ends with EROFS.
class RefusingPrimaryTest : public CrashElsewhereTest {
 protected:
  static TestVolume MakeRefusingPrimary() {
    const TestVolume volume = MakeReplicatedVolume();
    RefuseWrites("a", volume);
    EXPECT_THAT(Rbd("a", {"info", ImageSpec(volume)}),
                HasSubstr("non-primary"));
    EXPECT_TRUE(IsPrimary("a", volume));
    return volume;
  }
};

TEST_F(RefusingPrimaryTest, IsPromotedAgain) {
  const TestVolume volume = MakeRefusingPrimary();
  EXPECT_THAT(Promote("a", volume), HasCode(Code::OK));
  ExpectWritable("a", volume, "writable again");
}

TEST_F(RefusingPrimaryTest, IsDemoted) {
  const TestVolume volume = MakeRefusingPrimary();
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_FALSE(IsPrimary("a", volume));
  EXPECT_THAT(PromoteRepeatedly("b", volume, std::chrono::seconds(120)).back(),
              HasCode(Code::OK));
  ExpectWritable("b", volume, "on the other site");
}

TEST_F(SuddenDeathTest, DemoteAndPromoteConverge) {
  const TestVolume volume = MakeReplicatedVolume();
  for (const int delay : {5, 20, 50, 100}) {
    const std::string text = "written " + std::to_string(delay);
    Write("a", volume, text);
    KillDuring("a", milliseconds(delay), [&] { return Demote("a", volume); });
    DemoteAgain(volume);
    EXPECT_EQ(ReadText("a", volume), text);

    KillDuring("a", milliseconds(delay), [&] { return Promote("a", volume); });
    // It takes its own demotion back, so the peer must follow it first.
    EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK)) << delay;
    EXPECT_EQ(ReadText("a", volume), text);
    ExpectWritable("a", volume, "after " + std::to_string(delay));
  }
  // All of that has left nothing behind that would stop the copying.
  Write("a", volume, "at last");
  Synchronize("a", volume);
  EXPECT_EQ(ReadText("b", volume), "at last");
}

TEST_F(SuddenDeathTest, DisableConverges) {
  int disabling = 0;
  for (const int delay : {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 50, 60}) {
    const TestVolume volume = MakeVolume();
    ASSERT_THAT(Enable("a", volume), HasCode(Code::OK));
    KillDuring("a", milliseconds(delay), [&] { return Disable("a", volume); });
    disabling += MirrorState("a", volume) == "disabling" ? 1 : 0;
    EXPECT_THAT(Disable("a", volume, {}, std::chrono::seconds(40)),
                HasCode(Code::OK))
        << delay;
    EXPECT_EQ(MirrorState("a", volume), "disabled") << delay;
    EXPECT_THAT(Enable("a", volume), HasCode(Code::OK)) << delay;
  }
  // How many of the kills met the middle is chance.
  RecordProperty("left_disabling", disabling);
}

}  // namespace
}  // namespace addons::testing
