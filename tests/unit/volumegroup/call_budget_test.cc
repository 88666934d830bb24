// What volume groups cost: the Ceph calls are those of the table in
// docs/performance.md, no more and no fewer, and each member's image is opened
// once for each change and never to read.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/documented_calls.h"
#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

class GroupBudgetTest : public GroupTest {
 protected:
  static constexpr int kMembers = 10;

  /// With the real replication behind it, which finds out itself that nothing
  /// is mirrored.
  void SetUp() override {
    on_a_.replication().next = MirroringOf(on_a_.mirroring());
    ids_ = AddVolumes(kMembers);
    // Its connections.
    const auto other = Create(on_a_, "group-0", {});
    ASSERT_OK(other);
    ASSERT_OK(Delete(on_a_, other->group_id));
    world_.ClearCalls();
  }

  void ExpectAsDocumented(const std::string& title) {
    CallCounts made;
    opens_.clear();
    for (const CallRecord& record : world_.Calls()) {
      ++made[record.call];
      if (absl::StartsWith(record.call, "rbd_open")) ++opens_[record.object];
    }
    world_.ClearCalls();
    EXPECT_EQ(made, DocumentedCalls(ADDONS_PERFORMANCE_DOC, title)) << title;
  }
  void ExpectEachOpenedOnce() {
    EXPECT_EQ(opens_.size(), size_t{kMembers});
    for (const auto& [image, times] : opens_) EXPECT_EQ(times, 1) << image;
  }

  std::vector<std::string> ids_;
  std::map<std::string, int> opens_;  // of the last call, by image
};

TEST_F(GroupBudgetTest, OfTenVolumes) {
  const auto group = Create(on_a_, "group-1", ids_);
  ASSERT_OK(group);
  ExpectAsDocumented("create");
  ExpectEachOpenedOnce();
  ASSERT_OK(Create(on_a_, "group-1", ids_));
  ExpectAsDocumented("create again");
  EXPECT_TRUE(opens_.empty());

  const auto got = Get(on_a_, group->group_id);
  ASSERT_OK(got);
  ASSERT_EQ(got->volumes.size(), size_t{kMembers});
  EXPECT_EQ(got->volumes.front().capacity_bytes, uint64_t{64} << 20);
  ExpectAsDocumented("get");
  EXPECT_TRUE(opens_.empty());

  ASSERT_OK(Modify(on_a_, group->group_id, ids_));
  ExpectAsDocumented("modify, no change");
  EXPECT_TRUE(opens_.empty());
  ASSERT_OK(Modify(on_a_, group->group_id,
                   {ids_.begin(), ids_.begin() + kMembers / 2}));
  ExpectAsDocumented("modify to half");
  ExpectEachOpenedOnce();
  ASSERT_OK(Modify(on_a_, group->group_id, {}));
  ExpectAsDocumented("modify to none");
  EXPECT_EQ(opens_.size(), size_t{kMembers} / 2);
  for (const auto& [image, times] : opens_) EXPECT_EQ(times, 1) << image;

  ASSERT_OK(Delete(on_a_, group->group_id));
  ExpectAsDocumented("delete");
}

}  // namespace
}  // namespace addons::testing
