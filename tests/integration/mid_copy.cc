#include "tests/integration/mid_copy.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

/// A rescue writes so many small ranges at a time. So many objects must have
/// arrived that bringing the last complete state back takes two such writes: of
/// a half-arrived demotion librbd takes nothing back, and what has not arrived
/// needs no bringing back.
constexpr int64_t kRangesAtATime = 64;
constexpr int64_t kArrived = kRangesAtATime + kRangesAtATime / 2;

}  // namespace

std::map<std::string, MidCopyTest::Volume>* MidCopyTest::volumes_ = nullptr;

void MidCopyTest::TearDownTestSuite() {
  delete volumes_;
  TwoSitesTest::TearDownTestSuite();
}

void MidCopyTest::StopInMidCopy(const std::map<std::string, Kind>& volumes) {
  TwoSitesTest::SetUpTestSuite();
  CopyObjectsAtOnce(1);
  volumes_ = new std::map<std::string, Volume>();
  for (const auto& [name, kind] : volumes) Make(name, kind);
  // Nothing of it is copied before there is a mirror snapshot. Written before b
  // stops, because a demotion asks for a report that is a minute old at most.
  for (const auto& [name, made] : *volumes_) {
    Write("a", made.volume, "in mid-copy", kBytes);
    if (const auto& interval = volumes.at(name).interval) interval(made.volume);
  }
  Testbed("stop", {"b", "rbd-mirror"});
  for (const auto& [name, made] : *volumes_) {
    if (IsDemotion(name)) {
      ASSERT_THAT(Demote("a", made.volume), HasCode(Code::OK));
    } else {
      Rbd("a", {"mirror", "image", "snapshot", ImageSpec(made.volume)});
    }
  }
  CopyInPart();
}

void MidCopyTest::SiteDies() {
  Testbed("stop", {"a", "all"});
  Testbed("cont", {"b", "rbd-mirror"});
}

bool MidCopyTest::IsDemotion(const std::string& name) {
  return name.starts_with("demotion");
}

void MidCopyTest::Make(const std::string& name, const Kind& kind) {
  std::vector<std::string> flags = kind.flags;
  flags.insert(flags.end(), {"--size", "2G"});
  Volume made{MakeVolume(flags)};
  if (kind.prepare) kind.prepare(made.volume);
  Replicate(&made.volume);
  if (kind.prepare) made.digest_before = Digest("a", made.volume);
  if (kind.whole) {
    kind.whole(made.volume);
  } else {
    Write("a", made.volume, absl::StrCat("whole: ", name), kWholeBytes);
  }
  Synchronize("a", made.volume);
  made.digest = Digest("b", made.volume);
  volumes_->emplace(name, made);
}

void MidCopyTest::CopyInPart() {
  const auto start = steady_clock::now();
  constexpr milliseconds kStep{50};
  milliseconds step = kStep;
  int64_t arrived = 0;
  bool all = false;
  while (!all) {
    ASSERT_LT(steady_clock::now() - start, seconds(600));
    RunMirrorDaemonFor("b", step);
    all = true;
    int64_t now_arrived = 0;
    for (const auto& [name, made] : *volumes_) {
      const SeenSnapshot newest = NewestSnapshot("b", made.volume);
      all = all && !newest.complete && newest.copied_objects >= kArrived;
      if (!newest.complete) now_arrived += newest.copied_objects;
    }
    // On a busy machine the looks between two steps take seconds, and a step
    // is too short to get anywhere.
    step = now_arrived == arrived ? std::min(step * 2, 8 * kStep) : kStep;
    arrived = now_arrived;
  }
  for (const auto& [name, made] : *volumes_) {
    const SeenSnapshot newest = NewestSnapshot("b", made.volume);
    std::cerr << name << ": " << newest.copied_objects << " objects copied"
              << std::endl;
    ASSERT_FALSE(newest.complete) << "copied too quickly for this test";
    ASSERT_EQ(newest.demoted, IsDemotion(name));
  }
}

void MidCopyTest::WaitUntilForceIsRight(const TestVolume& volume) {
  const auto answers = PromoteRepeatedly("b", volume, seconds(150));
  ASSERT_THAT(answers.back(), HasCode(Code::FAILED_PRECONDITION))
      << Status("b", volume);
  ASSERT_THAT(answers.back().error_message(), HasSubstr("no sign of life"));
}

grpc::Status MidCopyTest::Force(const TestVolume& volume,
                                std::vector<std::string>* answers) {
  const auto start = steady_clock::now();
  grpc::Status answer;
  do {
    answer = Promote("b", volume, true, {}, seconds(20));
    if (!answer.ok()) std::cerr << answer.error_message() << std::endl;
    if (answers != nullptr) answers->push_back(answer.error_message());
  } while ((answer.error_code() == Code::UNAVAILABLE ||
            answer.error_code() == Code::ABORTED) &&
           Daemon("b").Running() && steady_clock::now() - start < seconds(240));
  std::cerr
      << "forced in "
      << std::chrono::duration<double>(steady_clock::now() - start).count()
      << " s" << std::endl;
  return answer;
}

std::string MidCopyTest::Images(const TestVolume& volume) {
  const std::string spec = ImageSpec(volume);
  return Rbd("b", {"ls", spec.substr(0, spec.rfind('/'))});
}

void MidCopyTest::ExpectWhole(const Volume& made) {
  ExpectHolds(made.volume, made.digest);
}

void MidCopyTest::ExpectHolds(const TestVolume& volume, uint64_t digest) {
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(Digest("b", volume), digest);
  EXPECT_THAT(Images(volume), Not(HasSubstr("rescue")));
  const SeenSnapshot newest = NewestSnapshot("b", volume);
  EXPECT_TRUE(newest.complete);
  EXPECT_FALSE(newest.demoted);
}

void MidCopyTest::DieOnTheWayBack(
    const Volume& made,
    const std::function<void(const TestVolume&)>& before_force) {
  Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_mirror_image_promote:kill"}});
  ASSERT_NO_FATAL_FAILURE(before_force(made.volume));
  EXPECT_THAT(Force(made.volume), HasCode(Code::UNAVAILABLE));
  ASSERT_TRUE(Daemon("b").WaitForEnd(20));
  ASSERT_FALSE(IsPrimary("b", made.volume));
  // What is saved is not written again: the first write brings back.
  Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_aio_write#2:kill"}});
  EXPECT_THAT(Force(made.volume), HasCode(Code::UNAVAILABLE));
  ASSERT_TRUE(Daemon("b").WaitForEnd(20));
  Restart("b");
  ASSERT_TRUE(IsPrimary("b", made.volume));
  ASSERT_THAT(Images(made.volume), HasSubstr("rbd-addons-rescue."));
  ASSERT_NE(Digest("b", made.volume), made.digest);

  // Nobody takes it for whole.
  ::replication::GetVolumeReplicationInfoResponse info;
  EXPECT_THAT(Info("b", made.volume, &info), HasCode(Code::OK));
  EXPECT_THAT(info.status_message(), HasSubstr("half-done"));
  EXPECT_THAT(Demote("b", made.volume), HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(Disable("b", made.volume), HasCode(Code::UNAVAILABLE));

  // The two that died are no workloads, although their watches live on.
  std::vector<std::string> answers;
  EXPECT_THAT(Force(made.volume, &answers), HasCode(Code::OK));
  EXPECT_THAT(answers, Each(Not(HasSubstr("in use by"))));
  ExpectWhole(made);
}

void MidCopyTest::DieInThePromotion(
    const Volume& made,
    const std::function<void(const TestVolume&)>& before_force) {
  Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_mirror_image_promote:kill-after"}});
  ASSERT_NO_FATAL_FAILURE(before_force(made.volume));
  EXPECT_THAT(Force(made.volume), HasCode(Code::UNAVAILABLE));
  ASSERT_TRUE(Daemon("b").WaitForEnd(20));
  RefuseWrites("b", made.volume);
  Restart("b");
  ASSERT_TRUE(IsPrimary("b", made.volume));
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
  Write("b", made.volume, "of site b", kBytes / 4);
}

void MidCopyTest::ExpectPeerResynced(const std::string& name,
                                     const Volume& made) {
  const TestVolume& volume = made.volume;
  ASSERT_TRUE(
      Eventually([&] { return Demote("a", volume).ok(); }, seconds(120)))
      << name;
  bool ready = false;
  EXPECT_TRUE(Eventually(
      [&] { return Resync("a", volume, true, &ready).ok() && ready; },
      seconds(150)))
      << name << ": " << Status("a", volume);
  Synchronize("b", volume);
  EXPECT_EQ(Digest("a", volume), Digest("b", volume)) << name;
}

}  // namespace addons::testing
