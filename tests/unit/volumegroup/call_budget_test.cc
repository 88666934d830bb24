// What volume groups cost: the Ceph calls are those of the table in
// docs/performance.md, no more and no fewer, and no member's image is opened.

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
    for (const CallRecord& record : world_.Calls()) {
      ++made[record.call];
      EXPECT_FALSE(absl::StartsWith(record.call, "rbd_open")) << title;
    }
    world_.ClearCalls();
    EXPECT_EQ(made, DocumentedCalls(ADDONS_PERFORMANCE_DOC, title)) << title;
  }

  std::vector<std::string> ids_;
};

TEST_F(GroupBudgetTest, OfTenVolumes) {
  const auto group = Create(on_a_, "group-1", ids_);
  ASSERT_OK(group);
  ExpectAsDocumented("create");
  ASSERT_OK(Create(on_a_, "group-1", ids_));
  ExpectAsDocumented("create again");

  const auto got = Get(on_a_, group->group_id);
  ASSERT_OK(got);
  ASSERT_EQ(got->volumes.size(), size_t{kMembers});
  EXPECT_EQ(got->volumes.front().capacity_bytes, uint64_t{64} << 20);
  ExpectAsDocumented("get");

  ASSERT_OK(Modify(on_a_, group->group_id, ids_));
  ExpectAsDocumented("modify, no change");
  ASSERT_OK(Modify(on_a_, group->group_id,
                   {ids_.begin(), ids_.begin() + kMembers / 2}));
  ExpectAsDocumented("modify to half");
  ASSERT_OK(Modify(on_a_, group->group_id, {}));
  ExpectAsDocumented("modify to none");

  ASSERT_OK(Delete(on_a_, group->group_id));
  ExpectAsDocumented("delete");
}

}  // namespace
}  // namespace addons::testing
