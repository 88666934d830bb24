// What mirroring leaves out is made on two real sites, seen by reading both of
// them, and named by the audit of copies. On bluestore: memstore hides some of
// it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cluster/disk.h"
#include "tests/cluster/real_bed.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const bool on_bluestore = OnBluestore({"LackingCopyTest"});

class LackingCopyTest : public TwoSitesTest {
 protected:
  void SetUp() override {
    TwoSitesTest::SetUp();
    ASSERT_TRUE(on_bluestore);
  }
  /// Written on both sites, with a snapshot to roll back to.
  enum class Map { kKept, kNone };
  static TestVolume MakeVolumeWithSnapshots(Map map = Map::kKept) {
    TestVolume volume = MakeVolume();
    if (map == Map::kNone) {
      Rbd("a",
          {"feature", "disable", ImageSpec(volume), "fast-diff", "object-map"});
    }
    Replicate(&volume, ScheduleNotDue());
    Write("a", volume, "first");
    // What was written before the older one is clean in the newer one.
    Rbd("a", {"snap", "create", "--no-progress",
              absl::StrCat(ImageSpec(volume), "@older")});
    Rbd("a", {"snap", "create", "--no-progress",
              absl::StrCat(ImageSpec(volume), "@restore-point")});
    Synchronize("a", volume);
    Write("a", volume, "second");
    Synchronize("a", volume);
    EXPECT_EQ(ReadText("b", volume), "second");
    return volume;
  }
  static void RollBack(const TestVolume& volume) {
    RollBackTo(volume, "restore-point");
    EXPECT_EQ(ReadText("a", volume), "first");
  }
  static void RollBackTo(const TestVolume& volume,
                         const std::string& snapshot) {
    Rbd("a", {"snap", "rollback", "--no-progress",
              absl::StrCat(ImageSpec(volume), "@", snapshot)});
  }
  static std::string Audit() {
    const CliResult result =
        RbdAddons(Daemon("a"),
                  {"audit", "copies", "--pool", RealBed::kPool, "--cluster",
                   "site-a", "--secrets-file", Bed().Path("a/secrets.json")});
    EXPECT_EQ(result.err, "");
    return result.out;
  }
};

TEST_F(LackingCopyTest, WhatARollbackTakesFromTheCopyIsNamed) {
  const TestVolume lacking = MakeVolumeWithSnapshots();
  const TestVolume healthy = MakeVolumeWithSnapshots();
  const TestVolume rebuilt = MakeVolumeWithSnapshots();
  const TestVolume without_map = MakeVolumeWithSnapshots(Map::kNone);
  EXPECT_THAT(Audit(), HasSubstr("nothing found (looked at: copies)"));

  // What no mirror snapshot has was rolled back: the OSDs call it changed, and
  // it holds what it held.
  Rbd("a", {"snap", "create", "--no-progress",
            absl::StrCat(ImageSpec(healthy), "@now")});
  Write("a", healthy, "third");
  RollBackTo(healthy, "now");
  EXPECT_EQ(ReadText("a", healthy), "second");

  RollBack(lacking);
  RollBack(rebuilt);
  RollBack(without_map);
  const std::string rebuild = "do: rbd object-map rebuild ";
  EXPECT_THAT(Audit(),
              AllOf(HasSubstr(rebuild + ImageSpec(lacking)),
                    HasSubstr(rebuild + ImageSpec(rebuilt)),
                    HasSubstr("4 objects (from byte 0, byte 4194304, byte "
                              "8388608 ... on) changed since its newest"),
                    HasSubstr("2 findings, 0 unclear")));
  Rbd("a", {"object-map", "rebuild", "--no-progress", ImageSpec(rebuilt)});
  EXPECT_THAT(Audit(), AllOf(HasSubstr(rebuild + ImageSpec(lacking)),
                             HasSubstr("1 finding, 0 unclear")));

  for (const TestVolume& volume : {lacking, healthy, rebuilt, without_map}) {
    Synchronize("a", volume);
  }
  EXPECT_EQ(ReadText("b", lacking), "second");  // wrong, and stays so
  EXPECT_NE(Digest("a", lacking), Digest("b", lacking));
  for (const TestVolume& volume : {healthy, rebuilt, without_map}) {
    EXPECT_EQ(Digest("a", volume), Digest("b", volume));
  }
  EXPECT_THAT(
      Audit(),
      AllOf(HasSubstr("do: rbd mirror image resync " + ImageSpec(lacking)),
            HasSubstr("changed between its two newest mirror snapshots"),
            Not(HasSubstr(rebuild)), HasSubstr("1 finding, 0 unclear")));

  // The remedy.
  Rbd("b", {"mirror", "image", "resync", ImageSpec(lacking)});
  const auto copied = [&] {
    Disk disk(Bed().Path("b/ceph.conf"), RealBed::kPool, "", lacking.image,
              Disk::Mode::kReadOnly);
    return disk.result() == 0 && disk.Read(0, 5) == "first";
  };
  EXPECT_TRUE(Eventually(copied, std::chrono::seconds(180)));
}

}  // namespace
}  // namespace addons::testing
