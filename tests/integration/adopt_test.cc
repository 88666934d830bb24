// A disaster without Kubernetes on the other site, on real clusters: nobody has
// restored a PersistentVolume there, so that ceph-csi's journal is empty.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/json.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/pool.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class AdoptionTest : public TwoSitesTest {
 protected:
  static CliResult OnB(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--secrets-file", Bed().Path("b/secrets.json")});
    return RbdAddons(Daemon("b"), std::move(arguments));
  }
  /// Replicated from a, and on b, where no journal is written.
  static TestVolume Mirror(TestVolume volume, const Parameters& parameters) {
    EXPECT_THAT(Enable("a", volume, parameters), HasCode(Code::OK));
    EXPECT_THAT(Promote("a", volume, false, parameters), HasCode(Code::OK));
    EXPECT_TRUE(Eventually(
        [&] { return MirrorState("b", volume) == "enabled"; }, seconds(180)));
    return volume;
  }
  static std::string UuidOf(const TestVolume& volume) {
    return volume.image.substr(volume.image.size() - 36);
  }
  /// All of an object's omap; none: there is no such object.
  static OmapValues Omap(const std::string& site, const std::string& space,
                         const std::string& object) {
    ConnectionCache connections(ShortTimeouts(), RealClock(),
                                std::make_shared<CallGate>(RealClock()));
    const auto cluster =
        connections.Connect(Bed().Target(site), Bed().User(site));
    EXPECT_OK(cluster.status());
    const auto pool =
        (*cluster)->OpenPool(Bed().PoolId(site), space, Access::kRead);
    EXPECT_OK(pool.status());
    return (*pool)->ReadOmap(object, "").value_or(OmapValues());
  }
  static OmapValues Entry(const std::string& site, const TestVolume& volume) {
    return Omap(site, volume.rados_namespace,
                absl::StrCat("csi.volume.", UuidOf(volume)));
  }
};

TEST_F(AdoptionTest, ADisasterWithoutKubernetesEndsWithAllVolumesPromoted) {
  TestVolume journaled = MakeVolume();
  Rbd("a", {"feature", "enable", ImageSpec(journaled), "journaling"});
  const std::vector<TestVolume> volumes = {
      Mirror(MakeVolume(), ScheduleNotDue()),
      Mirror(MakeVolume({"--namespace", RealBed::kNamespace}),
             ScheduleNotDue()),
      Mirror(journaled, kJournalMode)};
  std::vector<OmapValues> expected;
  for (const TestVolume& volume : volumes) {
    Write("a", volume, absl::StrCat("content of ", volume.image));
    if (volume.image != journaled.image) Synchronize("a", volume);
    EXPECT_NE(Metadata("a", volume, "rbd-addons.volume"), "");
    expected.push_back(Entry("a", volume));
    expected.back()["csi.imageid"] = ImageId("b", volume);
    EXPECT_EQ(expected.back().size(), 4U);
    EXPECT_TRUE(Entry("b", volume).empty());
  }
  // In journal mode both note and content arrive by themselves.
  ASSERT_TRUE(Eventually(
      [&] {
        return Metadata("b", journaled, "rbd-addons.volume") != "" &&
               ReadText("b", journaled) ==
                   absl::StrCat("content of ", journaled.image);
      },
      seconds(90)));
  Stop("a", "all");

  // No call can name the volumes here, and each says what to do.
  CliResult result = OnB({"promote", ImageSpec(volumes[0])});
  EXPECT_EQ(result.code, Code::NOT_FOUND);
  EXPECT_THAT(result.err, HasSubstr(absl::StrCat("rbd-addons adopt ",
                                                 ImageSpec(volumes[0]))));

  // The plan, the entries, and once more.
  result = OnB({"adopt", "--pool", RealBed::kPool, "--cluster", "site-b"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("would write"), HasSubstr(volumes[0].image)));
  EXPECT_TRUE(Entry("b", volumes[0]).empty());
  std::map<std::string, std::string> ids;
  for (const std::string outcome : {"WRITTEN", "KNOWN"}) {
    for (const std::vector<std::string>& place :
         {std::vector<std::string>{"--cluster", "site-b"},
          std::vector<std::string>{"--rados-namespace", RealBed::kNamespace}}) {
      std::vector<std::string> arguments = {"adopt", "--pool", RealBed::kPool,
                                            "--json", "--yes"};
      arguments.insert(arguments.end(), place.begin(), place.end());
      result = OnB(arguments);
      ASSERT_EQ(result.code, 0) << result.out << result.err;
      const json found = ParseJson(result.out);
      for (const json& volume : found["volumes"]) {
        EXPECT_EQ(volume["outcome"], outcome) << volume;
        ids[volume["image"]] = volume["volume_id"];
      }
    }
  }
  ASSERT_EQ(ids.size(), volumes.size());
  for (size_t i = 0; i < volumes.size(); ++i) {
    EXPECT_EQ(Entry("b", volumes[i]), expected[i]);
    const std::string key =
        absl::StrCat("csi.volume.", expected[i].at("csi.volname"));
    const OmapValues directory =
        Omap("b", volumes[i].rados_namespace, "csi.volumes.default");
    ASSERT_TRUE(directory.contains(key));
    EXPECT_EQ(directory.at(key), UuidOf(volumes[i]));
  }

  // Then two are promoted by their ids, and the rest with the whole site.
  for (size_t i = 0; i < 2; ++i) {
    TestVolume volume = volumes[i];
    volume.id_b = ids.at(ImageSpec(volume));
    EXPECT_THAT(PromoteRepeatedly("b", volume, seconds(240)).back(),
                HasCode(Code::FAILED_PRECONDITION));
    result = OnB({"promote", volume.id_b, "--force", "--yes"});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
  }
  result = OnB({"site", "failover", RealBed::kPool, "--cluster", "site-b",
                "--without-groups", "--yes"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  for (const TestVolume& volume : volumes) {
    EXPECT_TRUE(IsPrimary("b", volume));
    EXPECT_EQ(ReadText("b", volume), absl::StrCat("content of ", volume.image));
  }
}

}  // namespace
}  // namespace addons::testing
