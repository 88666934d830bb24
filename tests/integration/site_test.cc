// A whole site is moved with `rbd-addons site`, on real clusters: planned,
// after a disaster, and back.

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cluster/test_group.h"
#include "tests/integration/command_line.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SiteTest : public GroupSitesTest {
 protected:
  static std::string Secrets(const std::string& site) {
    return Bed().Path(absl::StrCat(site, "/secrets.json"));
  }
  /// `site VERB replicapool MORE...` of the daemon of `site`; printed, as docs
  /// quote it.
  static CliResult Site(const std::string& site, const std::string& verb,
                        std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"site", verb, RealBed::kPool});
    // config.json names the pool's namespace as a cluster of its own, too.
    more.insert(more.end(), {"--secrets-file", Secrets(site), "--cluster",
                             absl::StrCat("site-", site)});
    CliResult result = RbdAddons(Daemon(site), std::move(more));
    std::cout << "--- site " << verb << " on " << site << ": " << result.code
              << "\n"
              << result.err << result.out;
    return result;
  }
  static std::vector<std::string> From(const std::string& site) {
    return {"--from",
            "unix://" + Daemon(site).socket(),
            "--from-admin",
            "unix://" + Daemon(site).admin_socket(),
            "--from-secrets-file",
            Secrets(site),
            "--from-cluster",
            absl::StrCat("site-", site)};
  }
};

TEST_F(SiteTest, ThereAfterADisasterAndBack) {
  std::vector<TestVolume> volumes;
  for (int i = 0; i < 3; ++i) {
    volumes.push_back(MakeReplicatedVolume(ScheduleNotDue()));
  }
  const TestGroup group = MakeReplicatedGroup(2);
  std::vector<TestVolume> all = volumes;
  all.insert(all.end(), group.members.begin(), group.members.end());
  const auto primaries = [&](const std::string& site) {
    int count = 0;
    for (const TestVolume& volume : all) count += IsPrimary(site, volume);
    return count;
  };

  // Planned. A workload keeps its volume where it is, and only that.
  Write("a", volumes[0], "planned");
  {
    const auto disk = OpenDisk("a", volumes[2]);
    ASSERT_EQ(disk->Write(0, "busy"), 0);
    const CliResult busy = Site("b", "relocate", From("a"));
    ASSERT_EQ(busy.code, 9);
    EXPECT_THAT(busy.out, AllOf(HasSubstr("not demoted on the other site"),
                                HasSubstr("3 of 4 done")));
    EXPECT_TRUE(IsPrimary("a", volumes[2]));
    EXPECT_EQ(primaries("b"), 4);
  }
  EXPECT_EQ(Site("b", "relocate", From("a")).code, 0);
  EXPECT_EQ(primaries("b"), 5);
  EXPECT_EQ(ReadText("b", volumes[0]), "planned");

  // b dies, and a takes over what it has.
  Write("b", volumes[0], "seen");
  // Not one of them is dead before the other site has heard that it is primary.
  for (const TestVolume& volume : all) Synchronize("b", volume);
  Stop("b", "all");
  EXPECT_EQ(Site("a", "failover", {"--dry-run"}).code, 0);
  EXPECT_EQ(primaries("a"), 0);
  const CliResult forced = Site("a", "failover", {"--yes"});
  EXPECT_EQ(forced.code, 0);
  EXPECT_THAT(forced.out, HasSubstr("promoted by force"));
  EXPECT_EQ(primaries("a"), 5);
  EXPECT_EQ(ReadText("a", volumes[0]), "seen");
  Write("a", volumes[0], "after");

  // b is back: both are primary until it follows.
  Continue("b", "all");
  ASSERT_TRUE(Eventually(
      [&] {
        return Site("b", "failback", {"--dry-run"}).out.find("about 4 of 4") !=
               std::string::npos;
      },
      seconds(180)));
  ASSERT_TRUE(Eventually(
      [&] {
        return Site("b", "failback", {"--yes", "--timeout", "120"}).code == 0;
      },
      seconds(400)));
  EXPECT_EQ(primaries("b"), 0);
  EXPECT_EQ(primaries("a"), 5);

  // And moved back, as it says.
  EXPECT_EQ(Site("b", "relocate", From("a")).code, 0);
  EXPECT_EQ(primaries("b"), 5);
  EXPECT_EQ(ReadText("b", volumes[0]), "after");
}

}  // namespace
}  // namespace addons::testing
