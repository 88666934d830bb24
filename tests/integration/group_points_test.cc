// Points of a volume group, all at one instant, while a workload writes to all
// members: each is a consistent cut, and a takeover goes back to it.

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/pool.h"
#include "tests/cluster/test_group.h"
#include "tests/integration/command_line.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

const bool kGroupPointsBed = OnBluestore({"GroupInstantTest"});

class GroupInstantTest : public GroupSitesTest {
 protected:
  static CliResult On(const std::string& site,
                      std::vector<std::string> arguments) {
    return ShownRbdAddons(Daemon(site), std::move(arguments),
                          Bed().Path(absl::StrCat(site, "/secrets.json")));
  }
  /// Whether the librbd of this machine has the lock with which writers wait.
  static bool HasTheLock(const TestVolume& volume) {
    ConnectionCache cache(ShortTimeouts(), RealClock(),
                          std::make_shared<CallGate>(RealClock()));
    const auto cluster = cache.Connect(Bed().Target("a"), Bed().User("a"));
    const auto pool = (*cluster)->OpenPool(
        Bed().PoolId("a"), volume.rados_namespace, Access::kRead);
    return (*pool)
        ->OpenImageReadOnly(ImageName(volume.image))
        .value()
        ->HasTransientLock()
        .value();
  }
  static std::string Snapshots(const TestVolume& volume) {
    return Rbd("a", {"snap", "ls", ImageSpec(volume)});
  }
  static CliResult MakePoint(const TestGroup& group, const std::string& name) {
    return On("a", {"point", "create", group.id, "--group", "--name", name,
                    "--rate", "0", "--timeout", "120"});
  }
  /// The whole names of the points that all members have, the oldest first.
  static std::vector<std::string> PointsOn(const std::string& site,
                                           const std::string& group_id) {
    std::vector<std::string> names;
    const CliResult listed = On(site, {"point", "list", group_id, "--group"});
    for (const auto line : absl::StrSplit(listed.out, '\n')) {
      const std::string name(line.substr(0, line.find(' ')));
      if (absl::StrContains(name, "-of-")) names.push_back(name);
    }
    return names;
  }
  /// What the workload had written to each member at a point, on its primary.
  static std::vector<int> CountersAt(const TestGroup& group,
                                     const std::string& point) {
    std::vector<int> counters;
    for (const TestVolume& member : group.members) {
      const TempDir dir;
      const std::string file = dir.File("export");
      Rbd("a",
          {"export", "--no-progress",
           absl::StrCat(ImageSpec(member), "@rbd-addons.point.", point), file});
      std::ifstream in(file, std::ios::binary);
      std::string text(12, '\0');
      in.read(text.data(), 12);
      counters.push_back(-1);
      EXPECT_TRUE(absl::SimpleAtoi(text, &counters.back())) << file;
    }
    return counters;
  }
  /// A number is written to each member before the next one is to any.
  static void ExpectOneInstant(const std::vector<int>& counters) {
    for (size_t i = 1; i < counters.size(); ++i) {
      EXPECT_THAT(counters[i], AllOf(Le(counters[i - 1]), Ge(counters[0] - 1)))
          << "member " << i << " of " << ::testing::PrintToString(counters);
    }
  }
  static int Points() {
    const char* const count = std::getenv("RBD_ADDONS_LONG_COUNT");
    return count == nullptr ? 3 : std::atoi(count);
  }
};

TEST_F(GroupInstantTest, EachPointIsAConsistentCutOnBothSites) {
  const TestGroup group = MakeReplicatedGroup(4);
  for (const TestVolume& member : group.members) Synchronize("a", member);
  if (!HasTheLock(group.members[0])) {
    // Older ones could only have said what is of several instants.
    const CliResult refused = MakePoint(group, "night");
    EXPECT_EQ(refused.code, static_cast<int>(Code::FAILED_PRECONDITION));
    EXPECT_THAT(refused.err, HasSubstr("Ceph 19.2.4"));
    for (const TestVolume& member : group.members) {
      EXPECT_THAT(Snapshots(member), Not(HasSubstr("rbd-addons.point")));
    }
    return;
  }
  CounterWriters writers(OpenDisks("a", group));
  ASSERT_TRUE(Eventually([&] { return writers.written() >= 20; }));
  for (int i = 0; i < Points(); ++i) {
    const int before = writers.written();
    ASSERT_EQ(MakePoint(group, absl::StrCat("p", i)).code, 0) << i;
    ASSERT_TRUE(Eventually([&] { return writers.written() > before + 20; }));
  }
  // What a point costs its writers; librbd's own waits are of 30 s.
  std::cout << "the slowest of " << writers.written() * 4 << " writes took "
            << writers.slowest().count() << " ms\n";
  EXPECT_LT(writers.slowest(), seconds(20));
  const std::vector<std::string> made = PointsOn("a", group.id);
  ASSERT_THAT(made, SizeIs(Points()));
  std::map<std::string, std::vector<int>> counters;
  int last = 0;
  for (const std::string& point : made) {
    SCOPED_TRACE(point);
    counters[point] = CountersAt(group, point);
    ExpectOneInstant(counters[point]);
    EXPECT_GT(counters[point][0], last);
    last = counters[point][0];
  }
  writers.Stop();
  for (const TestVolume& member : group.members) {
    Synchronize("a", member);
    const CliResult proof =
        On("b", {"verify", member.id("b"), "--rate", "0", "--timeout", "120"});
    EXPECT_EQ(proof.code, 0);
    EXPECT_THAT(proof.out, HasSubstr(made.back()));
  }
  EXPECT_EQ(PointsOn("b", group.id), made);

  // A takeover of all of them at one of these instants.
  const std::string& point = made[made.size() / 2];
  for (const TestVolume& member : group.members) {
    ASSERT_EQ(On("b", {"promote", member.id("b"), "--force", "--yes", "--point",
                       point, "--timeout", "200"})
                  .code,
              0);
  }
  EXPECT_EQ(Counters("b", group), counters[point]);
}

}  // namespace
}  // namespace addons::testing
