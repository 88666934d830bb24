// Doctor before a hand-over, and the audit, on real clusters: damage is made,
// named, and mended by the command that stands beside it.

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "networkfence/helper_marker.h"
#include "replication/look/rescue_record.h"
#include "tests/integration/doctor_bed.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorHandoverTest : public DoctorBed {
 protected:
  static Found BeforeHandover() {
    return Diagnose(
        "a", {"--before-handover", "--confirmed", "handover.built-in-server",
              "--confirmed", "handover.resources", "--confirmed",
              "handover.replicas", "--confirmed", "handover.other-site"});
  }
  static void Rados(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"a", "-p", RealBed::kPool});
    Testbed("rados", arguments);
  }

  // The manager keeps the schedule of an image that is removed, until it
  // looks through its schedules again.
  static void LeaveScheduleOfGoneImage() {
    const std::string spec = absl::StrCat(RealBed::kPool, "/scheduled");
    Rbd("a", {"create", "--size", "1M", spec});
    Rbd("a", {"mirror", "image", "enable", spec, "snapshot"});
    Rbd("a", {"mirror", "snapshot", "schedule", "add", "--pool", RealBed::kPool,
              "--image", "scheduled", "1h"});
    Rbd("a", {"mirror", "image", "disable", spec});
    Rbd("a", {"rm", spec});
  }
};

TEST_F(DoctorHandoverTest, AnInstallationInOrderIsSafeBetweenMoves) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "1h"}});
  Synchronize("a", volume);
  // Where no image is mirrored nobody reports.
  (void)MakeReplicatedVolume({}, {"--namespace", RealBed::kNamespace});
  Found found;
  EXPECT_TRUE(Eventually(
      [&] {
        found = Diagnose("a");
        return found.Verdict("mirror.peer-daemon") == "OK" &&
               found.Verdict("mirror.daemon") == "OK" &&
               // The copy is reported some seconds after it is there.
               found.Verdict("schedule.kept") == "OK";
      },
      seconds(90)));
  for (const char* const id :
       {"cluster.connect", "cluster.key", "cluster.key-type", "cluster.release",
        "clock.host", "clock.monitors", "caps.blocklist", "caps.manager",
        "caps.mirror-daemons", "caps.osd-map", "mirror.mode", "mirror.peer",
        "mirror.daemon", "caps.write", "schedule.kept"}) {
    EXPECT_EQ(found.Verdict(id), "OK") << id << ": " << found.all;
  }
  found = Diagnose("a", {"--before-handover"});
  for (const char* const id : {"handover.built-in-server", "handover.resources",
                               "handover.replicas", "handover.other-site"}) {
    EXPECT_EQ(found.Verdict(id), "CONFIRM") << id << ": " << found.all;
  }
  found = BeforeHandover();
  for (const char* const id :
       {"handover.moves", "handover.volumes", "handover.clones",
        "handover.groups", "handover.leftovers", "handover.fences"}) {
    EXPECT_EQ(found.Verdict(id), "OK") << id << ": " << found.all;
  }
  EXPECT_EQ(found.all["handover_safe"], true) << found.all;

  // In the middle of a move it is not.
  ASSERT_TRUE(
      Eventually([&] { return Demote("a", volume).error_code() == Code::OK; },
                 seconds(90)));
  found = BeforeHandover();
  EXPECT_EQ(found.Verdict("handover.moves"), "PROBLEM") << found.all;
  EXPECT_EQ(found.all["handover_safe"], false) << found.all;
  EXPECT_EQ(Ask("a", {"doctor", "--before-handover"}).code, 9);
  // "finish what was begun".
  EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_TRUE(Eventually(
      [&] {
        found = BeforeHandover();
        return found.Verdict("handover.moves") == "OK";
      },
      seconds(90)))
      << found.all;
}

TEST_F(DoctorHandoverTest, WhatCallsThatDiedHaveLeftIsMendedAsItSays) {
  Rados({"setomapval", "csi.volumes.default", "csi.volume.pvc-lost",
         "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11"});
  Rados({"setomapval", "csi.groups.default", "csi.volume.group.half",
         "1d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11"});
  Rbd("a", {"create", "--size", "1M",
            absl::StrCat(RealBed::kPool, "/",
                         RescueImageName(ImageName("csi-vol-gone")).text())});
  const std::string marker =
      HelperMarker{*Cidr::Parse("192.0.2.0/24"), 3}.Key().argument;
  Testbed("ceph", {"a", "osd", "blocklist", "add", marker, "3600"});

  Found found = BeforeHandover();
  EXPECT_EQ(found.Verdict("handover.volumes"), "WARNING") << found.all;
  EXPECT_EQ(found.Verdict("handover.groups"), "PROBLEM") << found.all;
  EXPECT_EQ(found.Verdict("handover.leftovers"), "PROBLEM") << found.all;
  EXPECT_EQ(found.Verdict("handover.fences"), "PROBLEM") << found.all;
  EXPECT_EQ(found.all["handover_safe"], false) << found.all;
  for (const char* const id :
       {"handover.volumes", "handover.groups", "handover.leftovers"}) {
    RunRemedy("a", found.Remedy(id));
  }
  // "rbd-addons fence RANGE --cluster site-a --secrets-file SECRETS-FILE".
  EXPECT_EQ(found.Remedy("handover.fences"),
            "rbd-addons fence 192.0.2.0/24 --cluster site-a --secrets-file "
            "SECRETS-FILE");
  EXPECT_EQ(
      Ask("a", {"fence", "192.0.2.0/24", "--cluster", "site-a", "--yes"}).code,
      0);
  found = BeforeHandover();
  for (const char* const id : {"handover.volumes", "handover.groups",
                               "handover.leftovers", "handover.fences"}) {
    EXPECT_EQ(found.Verdict(id), "OK") << id << ": " << found.all;
  }
  EXPECT_EQ(
      Ask("a", {"unfence", "192.0.2.0/24", "--cluster", "site-a", "--yes"})
          .code,
      0);
}

TEST_F(DoctorHandoverTest, WhatTheDaemonMayRepairIsRepaired) {
  const TestVolume volume = MakeReplicatedVolume();
  Rados({"setomapval", "csi.volumes.default", "csi.volume.pvc-ghost",
         "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11"});
  Testbed("ceph",
          {"a", "osd", "blocklist", "range", "add", "192.0.2.0/24", "600"});

  const std::vector<std::string> audit = {"audit", "--pool", RealBed::kPool,
                                          "--cluster", "site-a"};
  CliResult result = Ask("a", audit);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("the name 'pvc-ghost' is reserved"),
                    HasSubstr("fences  192.0.2.0/24: this fence ends at")));
  std::vector<std::string> repair = audit;
  repair.insert(repair.end(), {"--repair", "--yes"});
  result = Ask("a", repair);
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("free the name 'pvc-ghost'"),
                                Not(HasSubstr("failed"))));
  // The manager sweeps its schedules once a minute, and can be first.
  bool removed = false;
  for (int tries = 0; tries < 3 && !removed; ++tries) {
    LeaveScheduleOfGoneImage();
    const std::string found = Ask("a", audit).out;
    result = Ask("a", repair);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("failed")));
    removed =
        absl::StrContains(found, "schedules  ") &&
        absl::StrContains(result.out, "remove the schedule of this image id");
  }
  EXPECT_TRUE(removed) << result.out;
  result = Ask("a", audit);
  EXPECT_THAT(result.out,
              AllOf(Not(HasSubstr("pvc-ghost")), Not(HasSubstr("schedules  ")),
                    HasSubstr("192.0.2.0/24")));
  Testbed("ceph", {"a", "osd", "blocklist", "range", "rm", "192.0.2.0/24"});
  // The volume that is there has lost nothing.
  EXPECT_TRUE(IsPrimary("a", volume));
  EXPECT_EQ(JournalImageId("a", volume), ImageId("a", volume));
}

// For minutes: a copy is late from two intervals of its schedule on, which is a
// minute at least.
class LongDoctorTest : public DoctorBed {};

TEST_F(LongDoctorTest, CopiesThatAreLaterThanTheirScheduleAreNamed) {
  const TestVolume volume = MakeReplicatedVolume();
  EXPECT_TRUE(Eventually([] {
    return Diagnose("a").Verdict("schedule.none", kPlace) == "WARNING";
  }));
  ASSERT_TRUE(Promote("a", volume, false, {{"schedulingInterval", "1m"}}).ok());
  Synchronize("a", volume);
  EXPECT_EQ(Diagnose("a").Verdict("schedule.none", kPlace), "");
  const auto kept = [](const std::string& verdict) {
    return Diagnose("a").Verdict("schedule.kept", kPlace) == verdict;
  };
  EXPECT_TRUE(Eventually([&] { return kept("OK"); }, seconds(60)));
  EXPECT_THAT(Diagnose("a").Seen("schedule.kept", kPlace),
              HasSubstr("1 image with a schedule"));
  // From here on snapshots are taken, and copied by nobody.
  Testbed("kill", {"b", "rbd-mirror"});
  EXPECT_TRUE(Eventually([&] { return kept("PROBLEM"); }, seconds(300)))
      << Diagnose("a").all;
  EXPECT_THAT(Diagnose("a").Remedy("schedule.kept", kPlace),
              HasSubstr("rbd mirror image status"));
  Testbed("start", {"b", "rbd-mirror"});
  EXPECT_TRUE(Eventually([&] { return kept("OK"); }, seconds(180)))
      << Diagnose("a").all;
}

TEST_F(DoctorHandoverTest, ANameWithoutAnImageKeepsNoCopyAwayForEver) {
  TestVolume volume = MakeVolume();
  const std::string spec = ImageSpec(volume);
  // What an rbd-mirror leaves that dies between the name and the image.
  Rbd("b", {"create", "--size", "1M", spec});
  Testbed("rados", {"b", "-p", RealBed::kPool, "rm",
                    "rbd_header." + ImageId("b", volume)});
  ASSERT_THAT(Enable("a", volume), HasCode(Code::OK));
  ASSERT_THAT(Promote("a", volume), HasCode(Code::OK));
  const auto fails = [&] {
    return absl::StrContains(Status("a", volume), "up+error");
  };
  EXPECT_TRUE(Eventually(fails, seconds(90))) << Status("a", volume);

  const std::vector<std::string> audit = {
      "audit", "rescues", "--pool", RealBed::kPool, "--cluster", "site-b"};
  EXPECT_THAT(Ask("b", audit).out,
              AllOf(HasSubstr(spec + ": the name is taken"),
                    HasSubstr("do: rbd rm " + spec)));
  Rbd("b", {"rm", spec});
  EXPECT_THAT(Ask("b", audit).out, Not(HasSubstr(spec)));
  Synchronize("a", volume);
  EXPECT_EQ(Digest("a", volume), Digest("b", volume));
}

}  // namespace
}  // namespace addons::testing
