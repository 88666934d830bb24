// Proof that a copy is whole, on real clusters: what mirroring leaves out or
// damages while each status says that all is well.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const bool kPointsBed = OnBluestore({"PointsProofTest"});

constexpr uint64_t kObject = uint64_t{4} << 20;

class PointsProofTest : public TwoSitesTest {
 protected:
  static CliResult On(const std::string& site,
                      std::vector<std::string> arguments) {
    return ShownRbdAddons(Daemon(site), std::move(arguments),
                          Bed().Path(absl::StrCat(site, "/secrets.json")));
  }
  static void MakePoint(const TestVolume& volume, const std::string& name) {
    ASSERT_EQ(On("a", {"point", "create", volume.id("a"), "--name", name,
                       "--rate", "0"})
                  .code,
              0);
    Synchronize("a", volume);
  }
  /// All of the image, as a client reads it.
  static std::string Content(const std::string& site,
                             const TestVolume& volume) {
    const TempDir dir;
    const std::string file = dir.File("export");
    Rbd(site, {"export", "--no-progress", ImageSpec(volume), file});
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  struct Verified {
    int code = 0;
    nlohmann::json answer;
  };
  static Verified Verify(const std::string& site, const TestVolume& volume) {
    const CliResult result = On(site, {"verify", volume.id(site), "--rate", "0",
                                       "--json", "--timeout", "120"});
    return {result.code, nlohmann::json::parse(result.out, nullptr, false)};
  }
  static uint64_t Number(const Verified& verified, const char* key) {
    return std::stoull(verified.answer.value(key, std::string("0")));
  }
  static std::string DataObject(const std::string& site,
                                const TestVolume& volume, uint64_t number) {
    return absl::StrFormat("rbd_data.%s.%016x", ImageId(site, volume), number);
  }
};

TEST_F(PointsProofTest, AWholeCopyIsProvenWhileItIsWrittenTo) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  Write("a", volume, "at the point");
  Synchronize("a", volume);
  MakePoint(volume, "first");
  Write("a", volume, "later");
  Synchronize("a", volume);
  for (const std::string site : {"a", "b"}) {
    const Verified verified = Verify(site, volume);
    EXPECT_EQ(verified.code, 0);
    EXPECT_EQ(verified.answer.value("verdict", ""), "WHOLE");
    EXPECT_EQ(verified.answer.value("name", ""), "first");
    EXPECT_GE(Number(verified, "objects_with_data"), 4U);
  }
  EXPECT_THAT(On("b", {"point", "list", volume.id("b")}).out,
              HasSubstr("first  read at 20"));
  EXPECT_THAT(On("b", {"history", volume.id("b")}).out,
              HasSubstr("point first: whole"));
  // Removed on a, it goes on b, too; a disable finds nothing to remove.
  EXPECT_EQ(On("a", {"point", "remove", volume.id("a"), "first"}).code, 0);
  Synchronize("a", volume);
  EXPECT_THAT(Rbd("b", {"snap", "ls", ImageSpec(volume)}),
              Not(HasSubstr("rbd-addons.point")));
  EXPECT_EQ(Metadata("b", volume, "rbd-addons-point"), "");
}

// Each status says "replaying", and nothing is behind.
// The class asks for points, and nobody else does.
TEST_F(PointsProofTest, APlanHasTheCopyProvenByItself) {
  auto asked = ScheduleNotDue();
  const TestVolume volume = MakeReplicatedVolume(asked);
  Write("a", volume, "by a plan");
  Synchronize("a", volume);
  asked["points"] = "1h*3,1d*2";
  ASSERT_THAT(Promote("a", volume, false, asked), HasCode(Code::OK));
  const auto read = [&volume](const std::string& site) {
    const std::string listed = On(site, {"point", "list", volume.id(site)}).out;
    return absl::StrContains(listed, "auto-20") &&
           absl::StrContains(listed, "read at 20");
  };
  ASSERT_TRUE(Eventually([&] { return read("a"); }, std::chrono::minutes(6)));
  ASSERT_TRUE(Eventually([&] { return read("b"); }, std::chrono::minutes(1)));
  // As the operator calls the other site's daemon.
  ASSERT_THAT(Enable("b", volume, asked), HasCode(Code::OK));
  EXPECT_TRUE(Eventually(
      [&volume] {
        return absl::StrContains(On("b", {"explain", volume.id("b")}).out,
                                 "whole at point 'auto-20");
      },
      std::chrono::minutes(2)));
  EXPECT_EQ(Verify("b", volume).code, 0);
  // The same period has no second one, and no plan outlives a disable.
  EXPECT_THAT(Disable("a", volume), HasCode(Code::OK));
}

TEST_F(PointsProofTest, WhatARollbackTookFromTheCopyIsFound) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  Write("a", volume, "earlier");
  // What was written before the older one is clean in the newer one.
  for (const std::string snapshot : {"@older", "@earlier"}) {
    Rbd("a", {"snap", "create", "--no-progress", ImageSpec(volume) + snapshot});
  }
  Synchronize("a", volume);
  Write("a", volume, "overwritten");
  Synchronize("a", volume);
  Rbd("a",
      {"snap", "rollback", "--no-progress", ImageSpec(volume) + "@earlier"});
  MakePoint(volume, "after");
  const Verified verified = Verify("b", volume);
  EXPECT_EQ(verified.code, 9);
  EXPECT_EQ(verified.answer.value("verdict", ""), "DAMAGED");
  EXPECT_GE(Number(verified, "damaged"), 1U);
  EXPECT_EQ(Verify("a", volume).code, 0);
  const CliResult told =
      On("b", {"verify", volume.id("b"), "--rate", "0", "--timeout", "120"});
  EXPECT_THAT(told.out, AllOf(HasSubstr("DAMAGED"),
                              HasSubstr("object 0, at byte 0 of the image"),
                              HasSubstr("rbd mirror image resync")));
}

TEST_F(PointsProofTest, AFlippedBitIsFoundWhereItIs) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  ASSERT_EQ(OpenDisk("a", volume)->Write(2 * kObject, std::string(9000, 'x')),
            0);
  Synchronize("a", volume);
  const TempDir dir;
  const std::string file = dir.File("object");
  const std::string object = DataObject("b", volume, 2);
  Rados("b", volume, {"get", object, file});
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  ASSERT_GT(bytes.size(), 5000U);
  bytes[5000] = static_cast<char>(bytes[5000] ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;
  Rados("b", volume, {"put", object, file});
  MakePoint(volume, "first");
  const Verified verified = Verify("b", volume);
  EXPECT_EQ(verified.code, 9);
  EXPECT_EQ(Number(verified, "damaged"), 1U);
  ASSERT_EQ(verified.answer["damaged_objects"].size(), 1U);
  const nlohmann::json& damaged = verified.answer["damaged_objects"][0];
  EXPECT_EQ(damaged.value("object", ""), "2");
  EXPECT_EQ(damaged.value("offset", ""), absl::StrCat(2 * kObject));
}

// A discard at the beginning of an object is not carried.
TEST_F(PointsProofTest, WhatIsNotClearedIsCountedAndNoDamage) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  constexpr uint64_t kDiscarded = uint64_t{1} << 20;
  ASSERT_EQ(
      OpenDisk("a", volume)->Write(kObject, std::string(2 * kDiscarded, 'x')),
      0);
  Synchronize("a", volume);
  ASSERT_EQ(OpenDisk("a", volume)->Discard(kObject, kDiscarded), 0);
  MakePoint(volume, "first");
  const Verified verified = Verify("b", volume);
  EXPECT_EQ(verified.code, 0);
  EXPECT_EQ(verified.answer.value("verdict", ""), "NOT_CLEARED");
  EXPECT_EQ(Number(verified, "not_cleared_bytes"), kDiscarded);
}

// What `rbd snap rollback` does not do. Discards are not carried each, so what
// was zeros then is written.
TEST_F(PointsProofTest, ARollbackReachesBothSites) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  const auto write = [&volume](uint64_t offset, size_t length, char byte) {
    ASSERT_EQ(OpenDisk("a", volume)->Write(offset, std::string(length, byte)),
              0);
  };
  write(0, 9000, 'a');
  write(2 * kObject, kObject, 'b');
  write(7 * kObject - kObject / 4, kObject / 4, 'c');
  Synchronize("a", volume);
  MakePoint(volume, "good");
  const std::string good = Content("a", volume);
  // Overwritten, discarded in a part and whole, and where nothing was.
  write(4096, 4096, 'X');
  ASSERT_EQ(OpenDisk("a", volume)->Discard(2 * kObject, kObject / 2), 0);
  write(3 * kObject + 512, 1024, 'X');
  // Zeros at the point, and on the primary again: the copy keeps the data.
  write(6 * kObject, kObject / 4, 'X');
  Synchronize("a", volume);
  ASSERT_EQ(OpenDisk("a", volume)->Discard(6 * kObject, kObject / 4), 0);
  Synchronize("a", volume);
  EXPECT_EQ(Content("b", volume)[6 * kObject], 'X');
  const std::string bad = Content("a", volume);
  ASSERT_NE(bad, good);
  ASSERT_EQ(Content("b", volume).size(), good.size());
  {
    const auto open = OpenDisk("a", volume);
    ASSERT_EQ(open->Write(0, "x"), 0);
    EXPECT_EQ(On("a", {"point", "rollback", volume.id("a"), "good", "--yes",
                       "--timeout", "120"})
                  .code,
              9)
        << "in use";
    ASSERT_EQ(open->Write(0, "a"), 0);
  }
  const CliResult rolled = On("a", {"point", "rollback", volume.id("a"), "good",
                                    "--yes", "--json", "--timeout", "300"});
  ASSERT_EQ(rolled.code, 0);
  const std::string kept =
      nlohmann::json::parse(rolled.out, nullptr, false).value("kept", "");
  EXPECT_THAT(kept, HasSubstr("before-20"));
  EXPECT_EQ(Content("a", volume), good);
  EXPECT_EQ(Metadata("a", volume, "rbd-addons.rollback"), "");
  Synchronize("a", volume);
  EXPECT_EQ(Content("b", volume), good);
  // And a proof of that, object by object.
  MakePoint(volume, "after");
  EXPECT_EQ(Verify("b", volume).code, 0);
  // It can be taken back.
  ASSERT_EQ(On("a", {"point", "rollback", volume.id("a"), kept, "--yes",
                     "--discard", "--timeout", "300"})
                .code,
            0);
  Synchronize("a", volume);
  EXPECT_EQ(Content("a", volume), bad);
  EXPECT_EQ(Content("b", volume), bad);
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  ASSERT_THAT(PromoteAtLast("b", volume, ScheduleNotDue()), HasCode(Code::OK));
  EXPECT_EQ(Content("b", volume), bad);
}

// A daemon dies in the middle, and the manager's snapshot carries the mixture:
// each site says so, and whichever is primary goes on.
TEST_F(PointsProofTest, ARollbackThatDiedGoesOnWhereTheOtherSiteTakesOver) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  const auto write = [&volume](char byte) {
    const auto disk = OpenDisk("a", volume);
    for (uint64_t i = 0; i < 6; ++i) {
      ASSERT_EQ(disk->Write(i * kObject, std::string(kObject, byte)), 0);
    }
  };
  write('a');
  Synchronize("a", volume);
  MakePoint(volume, "good");
  const std::string good = Content("a", volume);
  write('X');
  Synchronize("a", volume);
  const auto roll_back = [&volume](const std::string& site) {
    return On(site, {"point", "rollback", volume.id(site), "good", "--yes",
                     "--timeout", "120"});
  };
  Restart("a", {{"RBD_ADDONS_FAULTS", "rbd_aio_write#2:kill"}});
  EXPECT_NE(roll_back("a").code, 0);
  EXPECT_TRUE(Daemon("a").WaitForEnd(20));
  Restart("a");
  EXPECT_NE(Metadata("a", volume, "rbd-addons.rollback"), "");
  const auto mixture =
      AllOf(HasSubstr("mixture"), HasSubstr("'good'"), HasSubstr("'before-20"));
  for (const grpc::Status& status :
       {Promote("a", volume), Demote("a", volume)}) {
    EXPECT_THAT(status, HasCode(Code::UNAVAILABLE));
    EXPECT_THAT(status.error_message(), mixture);
  }
  Rbd("a", {"mirror", "image", "snapshot", ImageSpec(volume)});
  Synchronize("a", volume);
  EXPECT_NE(Metadata("b", volume, "rbd-addons.rollback"), "");
  EXPECT_NE(Content("b", volume), good);

  // Site a is given up.
  grpc::Status forced;
  EXPECT_TRUE(Eventually(
      [&] {
        forced = Promote("b", volume, true);
        return IsPrimary("b", volume);
      },
      std::chrono::minutes(3)));
  EXPECT_THAT(Promote("b", volume, true).error_message(), mixture);
  EXPECT_EQ(roll_back("b").code, 0);
  EXPECT_EQ(Content("b", volume), good);
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));

  // And so it would have been here.
  EXPECT_EQ(roll_back("a").code, 0);
  EXPECT_EQ(Content("a", volume), good);
}

TEST_F(PointsProofTest, ATakeoverGoesBackToAPoint) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  const auto write = [&volume](uint64_t first, uint64_t last, char byte) {
    const auto disk = OpenDisk("a", volume);
    for (uint64_t i = first; i < last; ++i) {
      ASSERT_EQ(disk->Write(i * kObject, std::string(kObject, byte)), 0);
    }
  };
  write(0, 6, 'a');
  Synchronize("a", volume);
  MakePoint(volume, "good");
  const std::string good = Content("a", volume);
  // Changed, and new.
  write(2, 9, 'X');
  Synchronize("a", volume);
  const std::string bad = Content("a", volume);
  ASSERT_NE(bad, good);
  ASSERT_EQ(Content("b", volume), bad);

  const auto take_over = [&volume](const std::string& point) {
    return On("b", {"promote", volume.id("b"), "--force", "--point", point,
                    "--yes", "--timeout", "240"});
  };
  const CliResult refused = take_over("better");
  EXPECT_EQ(refused.code, Code::INVALID_ARGUMENT);
  EXPECT_THAT(refused.err, HasSubstr("good"));
  EXPECT_FALSE(IsPrimary("b", volume));
  const CliResult taken = take_over("good");
  ASSERT_EQ(taken.code, 0) << taken.err;
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(Content("b", volume), good);
  EXPECT_EQ(Metadata("b", volume, "rbd-addons.rollback"), "");
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  const std::string snapshots = Rbd("b", {"snap", "ls", ImageSpec(volume)});
  const std::string prefix = "rbd-addons.point.";
  const size_t at = snapshots.find(prefix + "before-20");
  ASSERT_NE(at, std::string::npos) << snapshots;
  EXPECT_EQ(snapshots.find(prefix + "good"), std::string::npos) << snapshots;

  // The other site gets the same, beside the point that is kept.
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  const CliResult copied = On(
      "a", {"resync", volume.id("a"), "--force", "--yes", "--timeout", "300"});
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_EQ(Content("a", volume), good);

  // And what was given up can be had back, on both.
  const size_t name = at + prefix.size();
  const std::string kept =
      snapshots.substr(name, snapshots.find(' ', name) - name);
  const CliResult back = On("b", {"point", "rollback", volume.id("b"), kept,
                                  "--discard", "--yes", "--timeout", "120"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(Content("b", volume), bad);
  Synchronize("b", volume);
  EXPECT_EQ(Content("a", volume), bad);
}

// The passphrase of today does not open a header of then.
TEST_F(PointsProofTest, ARollbackKeepsTheHeaderOfAnEncryptedVolume) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  const auto write = [&volume](uint64_t offset, const std::string& bytes) {
    ASSERT_EQ(OpenDisk("a", volume)->Write(offset, bytes), 0);
  };
  std::string header("LUKS\xba\xbe\0\2", 8);
  header.resize(4096, 'h');
  write(0, header);
  write(5 * kObject, std::string(4096, 'd'));
  Synchronize("a", volume);
  MakePoint(volume, "then");
  const auto roll_back = [&volume] {
    return On("a", {"point", "rollback", volume.id("a"), "then", "--yes",
                    "--discard", "--timeout", "120"});
  };
  write(5 * kObject, std::string(4096, 'X'));
  EXPECT_EQ(roll_back().code, 0);
  // A key in another slot.
  write(kObject, std::string(4096, 'k'));
  const uint64_t before = Digest("a", volume);
  const CliResult refused = roll_back();
  EXPECT_EQ(refused.code, Code::FAILED_PRECONDITION);
  EXPECT_THAT(refused.err, HasSubstr("its header was changed"));
  EXPECT_EQ(Digest("a", volume), before);
  EXPECT_EQ(Metadata("a", volume, "rbd-addons.rollback"), "");
}

TEST_F(PointsProofTest, AfterAMoveTheOtherSiteMakesTheNextOne) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  Write("a", volume, "first");
  Synchronize("a", volume);
  MakePoint(volume, "first");
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  ASSERT_THAT(PromoteAtLast("b", volume, ScheduleNotDue()), HasCode(Code::OK));
  const CliResult old = On("b", {"verify", volume.id("b"), "--timeout", "60"});
  EXPECT_EQ(old.code, Code::FAILED_PRECONDITION);
  EXPECT_THAT(old.err, HasSubstr("point create"));
  // The former primary's has gone with the promotion.
  EXPECT_THAT(Rbd("b", {"snap", "ls", ImageSpec(volume)}),
              Not(HasSubstr("rbd-addons.point")));
  Write("b", volume, "second");
  Synchronize("b", volume);
  ASSERT_EQ(On("b", {"point", "create", volume.id("b"), "--name", "second",
                     "--rate", "0"})
                .code,
            0);
  Synchronize("b", volume);
  const Verified verified = Verify("a", volume);
  EXPECT_EQ(verified.code, 0);
  EXPECT_EQ(verified.answer.value("name", ""), "second");
}

// A copy of what the point held, also where mirroring has not carried a
// discard; moves go on beside it.
TEST_F(PointsProofTest, ATestHoldsWhatThePointHeld) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  constexpr uint64_t kDiscarded = uint64_t{1} << 20;
  Write("a", volume, "at the point");
  ASSERT_EQ(
      OpenDisk("a", volume)->Write(kObject, std::string(2 * kDiscarded, 'x')),
      0);
  Synchronize("a", volume);
  ASSERT_EQ(OpenDisk("a", volume)->Discard(kObject, kDiscarded), 0);
  const uint64_t at_the_point = Digest("a", volume);
  MakePoint(volume, "night");
  Write("a", volume, "later");
  Synchronize("a", volume);

  const CliResult started =
      On("b", {"test", "start", volume.id("b"), "--point", "night", "--rate",
               "0", "--timeout", "120", "--json"});
  ASSERT_EQ(started.code, 0);
  const auto answer = nlohmann::json::parse(started.out, nullptr, false);
  ASSERT_TRUE(answer.is_object() && answer["items"].size() == 1) << started.out;
  const nlohmann::json& item = answer["items"][0];
  EXPECT_EQ(item.value("not_cleared_bytes", ""), absl::StrCat(kDiscarded));
  const nlohmann::json& test = item["test"];
  TestVolume copy = volume;
  copy.image = test.value("image", "");
  copy.image = copy.image.substr(copy.image.rfind('/') + 1);
  copy.id_b = test.value("volume_id", "");
  EXPECT_EQ(Digest("b", copy), at_the_point);

  // The driver finds it in its journal, and so does each call by its id.
  const CliResult reclaimed = On("b", {"reclaim", copy.id_b});
  EXPECT_EQ(reclaimed.code, 0) << reclaimed.err;
  const CliResult manifest =
      On("b", {"test", "manifest", volume.id("b"), "--claim-namespace", "drill",
               "--secret", "storage/node"});
  EXPECT_EQ(manifest.code, 0);
  EXPECT_THAT(manifest.out, AllOf(HasSubstr(copy.id_b),
                                  HasSubstr("kind: PersistentVolumeClaim")));
  EXPECT_THAT(On("b", {"test", "list"}).out,
              AllOf(HasSubstr(volume.image), HasSubstr("ready")));

  // Its writes are its own, and a move goes on beside it.
  Write("b", copy, "by the test");
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  ASSERT_THAT(PromoteAtLast("b", volume, ScheduleNotDue()), HasCode(Code::OK));
  EXPECT_NE(Digest("b", copy), at_the_point);

  // Who has it open keeps it.
  {
    const auto open = OpenDisk("b", copy);
    EXPECT_EQ(On("b", {"test", "stop", volume.id("b"), "--timeout", "3"}).code,
              Code::UNAVAILABLE);
  }
  EXPECT_EQ(On("b", {"test", "stop", volume.id("b")}).code, 0);
  EXPECT_THAT(Rbd("b", {"ls", RealBed::kPool}),
              Not(HasSubstr("rbd-addons-test")));
  EXPECT_THAT(On("b", {"test", "list"}).out, HasSubstr("there are no tests"));
  EXPECT_EQ(On("b", {"reclaim", copy.id_b}).code, Code::NOT_FOUND);
}

}  // namespace
}  // namespace addons::testing
