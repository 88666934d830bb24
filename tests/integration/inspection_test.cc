// What administrators are told before they act is what the act then answers, on
// real clusters.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "tests/cluster/two_sites.h"
#include "tests/cluster/volume_group_client.h"
#include "tests/integration/command_line.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

class InspectionTest : public TwoSitesTest {
 protected:
  static CliResult Ask(const std::string& site,
                       std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--json", "--secrets-file",
                      Bed().Path(absl::StrCat(site, "/secrets.json"))});
    return RbdAddons(Daemon(site), std::move(arguments));
  }
  static json Check(const std::string& site, const TestVolume& volume) {
    const CliResult result = Ask(site, {"check-failover", volume.id(site)});
    const json found = ParseJson(result.out);
    if (!found.is_object() || found["findings"].size() != 1) {
      ADD_FAILURE() << result.out << result.err;
      return json::object();
    }
    return found["findings"][0];
  }
  static json Explain(const std::string& site, const TestVolume& volume) {
    const CliResult result = Ask(site, {"explain", volume.id(site)});
    EXPECT_EQ(result.code, 0) << result.err;
    return ParseJson(result.out);
  }
  /// "demote: OK", "primary -> demoted" and the like, the oldest first.
  static std::vector<std::string> History(const std::string& site,
                                          const TestVolume& volume) {
    const CliResult result = Ask(site, {"history", volume.id(site)});
    EXPECT_EQ(result.code, 0) << result.err;
    const json found = ParseJson(result.out);
    std::vector<std::string> events;
    for (const json& event : found["events"]) {
      const std::string to = event["to"];
      events.push_back(
          to.empty()
              ? absl::StrCat(event["verb"].get<std::string>(), ": ",
                             event["code"].get<std::string>())
              : absl::StrCat(event["from"].get<std::string>(), " -> ", to));
    }
    return events;
  }
  static std::string Said(const json& explained, const std::string& topic,
                          const std::string& name) {
    for (const json& fact : explained["facts"]) {
      if (fact["topic"] == topic && fact["name"] == name) return fact["value"];
    }
    return "";
  }
  static json Forecast(const json& explained, const std::string& verb,
                       bool force) {
    for (const json& forecast : explained["forecasts"]) {
      if (forecast["verb"] == verb && forecast["force"] == force) {
        return forecast;
      }
    }
    return json::object();
  }
};

TEST_F(InspectionTest, WhatIsSaidIsWhatIsAnswered) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "1h"}});
  Write("a", volume, "written");
  Synchronize("a", volume);

  // With a workload.
  std::unique_ptr<Disk> disk = OpenDisk("a", volume);
  ASSERT_EQ(disk->Write(0, "once"), 0);
  json on_a = Explain("a", volume);
  EXPECT_TRUE(on_a["unseen"].empty()) << on_a["unseen"];
  EXPECT_EQ(Said(on_a, "mirroring", "role"), "primary");
  EXPECT_EQ(Said(on_a, "image", "name"), ImageSpec(volume));
  EXPECT_EQ(Said(on_a, "image", "id"), ImageId("a", volume));
  EXPECT_EQ(Said(on_a, "schedule", "real"), "every 1h");
  const json refusal = Forecast(on_a, "demote", false);
  EXPECT_EQ(refusal["verdict"], "REFUSES") << refusal;
  const grpc::Status refused = Demote("a", volume);
  EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(refused.error_message(),
              HasSubstr(refusal["reason"].get<std::string>()));
  disk.reset();
  EXPECT_EQ(Check("a", volume)["planned"]["verdict"], "WORKS");

  // The primary lives: a planned move waits for its demotion, a forced one
  // would work.
  json found = Check("b", volume);
  EXPECT_EQ(found["planned"]["verdict"], "WAITS") << found;
  EXPECT_EQ(found["forced"]["verdict"], "WORKS") << found;
  EXPECT_NE(found["returns_to"], "") << found;
  EXPECT_THAT(Promote("b", volume, false, {}, seconds(3)),
              HasCode(Code::UNAVAILABLE));
  EXPECT_EQ(Explain("b", volume)["forecasts"].size(), 7U);

  // The second half of a planned move.
  ASSERT_TRUE(
      Eventually([&] { return Demote("a", volume).error_code() == Code::OK; },
                 seconds(90)));
  EXPECT_TRUE(Eventually(
      [&] { return Check("b", volume)["planned"]["verdict"] == "WORKS"; },
      seconds(90)));
  EXPECT_THAT(Promote("b", volume, false, {}, seconds(15)), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
}

TEST_F(InspectionTest, TheHistoryIsWhatTheTestDid) {
  const TestVolume volume = MakeReplicatedVolume();
  std::unique_ptr<Disk> disk = OpenDisk("a", volume);
  ASSERT_EQ(disk->Write(0, "once"), 0);
  ASSERT_THAT(Demote("a", volume), HasCode(Code::FAILED_PRECONDITION));
  disk.reset();
  ASSERT_TRUE(
      Eventually([&] { return Demote("a", volume).error_code() == Code::OK; },
                 seconds(90)));
  ASSERT_TRUE(Eventually(
      [&] {
        return Promote("b", volume, false, {}, seconds(15)).error_code() ==
               Code::OK;
      },
      seconds(90)));
  // Written a second after it happened; the daemons are killed then.
  std::this_thread::sleep_for(seconds(4));
  Restart("a");
  Restart("b");
  const std::vector<std::string> on_a = History("a", volume);
  EXPECT_THAT(on_a, ::testing::IsSupersetOf(
                        {"enable replication: OK", "off -> primary",
                         "promote: OK", "demote: FAILED_PRECONDITION",
                         "primary -> demoted", "demote: OK"}));
  EXPECT_EQ(on_a.back(), "demote: OK");
  const std::vector<std::string> on_b = History("b", volume);
  EXPECT_THAT(on_b,
              ::testing::IsSupersetOf({"demoted -> primary", "promote: OK"}));
  EXPECT_EQ(on_b.back(), "promote: OK");
  EXPECT_THAT(on_b, ::testing::Not(::testing::Contains("demote: OK")));
}

TEST_F(InspectionTest, AGroupAndAllOfASite) {
  const std::vector<TestVolume> volumes = {MakeReplicatedVolume(),
                                           MakeReplicatedVolume()};
  const GroupReply group =
      VolumeGroupClient("a", Daemon("a").socket())
          .Create("inspected", {volumes[0].id("a"), volumes[1].id("a")});
  ASSERT_THAT(group.status, HasCode(Code::OK));
  CliResult result = Ask("a", {"explain", group.id, "--group"});
  ASSERT_EQ(result.code, 0) << result.err;
  json seen = ParseJson(result.out);
  EXPECT_TRUE(seen["unseen"].empty()) << seen["unseen"];
  ASSERT_EQ(seen["members"].size(), 2U) << result.out;
  for (const json& member : seen["members"]) {
    EXPECT_EQ(member["role"], "primary");
  }

  result = Ask("a", {"check-failover", "--group", group.id});
  EXPECT_EQ(result.code, 0) << result.out;
  seen = ParseJson(result.out);
  ASSERT_EQ(seen["groups"].size(), 1U) << result.out;
  EXPECT_EQ(seen["groups"][0]["members"], 2);
  EXPECT_EQ(seen["groups"][0]["planned"]["verdict"], "WORKS");

  // With one member demoted the group is no primary any more.
  ASSERT_TRUE(Eventually(
      [&] { return Demote("a", volumes[0]).error_code() == Code::OK; },
      seconds(90)));
  seen = ParseJson(Ask("a", {"explain", group.id, "--group"}).out);
  std::vector<std::string> roles;
  for (const json& member : seen["members"]) roles.push_back(member["role"]);
  EXPECT_THAT(roles, ::testing::UnorderedElementsAre("demoted", "primary"));

  result = Ask("b", {"check-failover", "--all"});
  seen = ParseJson(result.out);
  EXPECT_TRUE(seen["unseen"].empty()) << seen["unseen"];
  for (const TestVolume& volume : volumes) {
    EXPECT_EQ(std::count_if(seen["findings"].begin(), seen["findings"].end(),
                            [&](const json& finding) {
                              return finding["image"] == ImageSpec(volume);
                            }),
              1)
        << result.out;
  }
  // One of them waits for its demotion, so not all would work planned.
  EXPECT_EQ(Ask("b", {"check-failover", "--all", "--planned"}).code, 9);
}

TEST_F(InspectionTest, WhatStandsInTheWayOfImagesIsNamedAndMended) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "1h"}});
  Synchronize("a", volume);
  const std::string spec = ImageSpec(volume);
  /// The findings of this image: what is seen, and the remedy.
  const auto audit = [&](const std::string& site) {
    const CliResult result =
        Ask(site, {"audit", "images", "--pool", RealBed::kPool, "--cluster",
                   absl::StrCat("site-", site)});
    EXPECT_EQ(result.code, 0) << result.err;
    std::vector<std::pair<std::string, std::string>> found;
    const json answer = ParseJson(result.out);
    if (!answer.contains("findings")) return found;
    for (const json& finding : answer["findings"]) {
      if (finding["object"] != spec) continue;
      found.emplace_back(finding["seen"], finding["remedy"]);
    }
    return found;
  };
  /// The words of a remedy that is one command of rbd.
  const auto words_of = [](const std::string& remedy) {
    std::vector<std::string> words = absl::StrSplit(remedy, ' ');
    EXPECT_EQ(words.front(), "rbd");
    words.erase(words.begin());
    return words;
  };
  EXPECT_THAT(audit("a"), ::testing::IsEmpty());
  EXPECT_THAT(audit("b"), ::testing::IsEmpty());

  Rbd("a", {"snap", "limit", "set", "--limit", "5", spec});
  Rbd("a", {"lock", "add", spec, "mine"});
  auto found = audit("a");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].first, HasSubstr("'mine', which 'rbd lock rm' breaks"));
  EXPECT_THAT(found[1].first, HasSubstr("it may have 5 snapshots"));
  for (const auto& [seen, remedy] : found) Rbd("a", words_of(remedy));
  EXPECT_THAT(audit("a"), ::testing::IsEmpty());

  const std::string group = absl::StrCat(RealBed::kPool, "/of-a-secondary");
  Rbd("b", {"group", "create", group});
  Rbd("b", {"group", "image", "add", group, spec});
  Rbd("b", {"group", "snap", "create", absl::StrCat(group, "@daily")});
  Rbd("b", {"group", "image", "remove", group, spec});
  found = audit("b");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second,
            absl::StrCat("rbd group snap rm ", group, "@daily"));
  // As it says, once the image is primary there.
  ASSERT_TRUE(
      Eventually([&] { return Demote("a", volume).error_code() == Code::OK; },
                 seconds(90)));
  ASSERT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  Rbd("b", words_of(found[0].second));
  EXPECT_THAT(Rbd("b", {"snap", "ls", "--all", spec}),
              ::testing::Not(HasSubstr("daily")));
  Rbd("b", {"group", "rm", group});
}

// RBD_ADDONS_CHECKED_IMAGES sets how many images the pool gets.
TEST_F(InspectionTest, APoolIsCheckedInSeconds) {
  const char* wanted = std::getenv(
      "RBD_ADDONS_CHECKED_IMAGES");  // NOLINT(concurrency-mt-unsafe)
  int images = 0;
  if (wanted == nullptr || !absl::SimpleAtoi(wanted, &images)) images = 20;
  for (int i = 0; i < images; ++i) {
    const std::string spec = absl::StrCat(RealBed::kPool, "/checked-", i);
    Rbd("a", {"create", "--size", "1M", spec});
    Rbd("a", {"mirror", "image", "enable", spec, "snapshot"});
  }
  const steady_clock::time_point begin = steady_clock::now();
  const CliResult result = Ask("a", {"check-failover", "--pool", RealBed::kPool,
                                     "--cluster", "site-a", "--planned"});
  const auto took =
      std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
  const json found = ParseJson(result.out);
  ASSERT_TRUE(found.is_object()) << result.out << result.err;
  EXPECT_GE(found["volumes"].get<int>(), images);
  EXPECT_EQ(found["unclear"], 0) << result.out;
  std::cout << found["volumes"] << " images were checked in " << took.count()
            << " ms\n";
  RecordProperty("milliseconds", static_cast<int>(took.count()));
  EXPECT_LT(took, seconds(5));
}

}  // namespace
}  // namespace addons::testing
