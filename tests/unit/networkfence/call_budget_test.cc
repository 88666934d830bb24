// What a fence costs: the Ceph calls are those of the table in
// docs/performance.md, no more and no fewer.

#include <map>
#include <string>

#include "tests/testing/documented_calls.h"
#include "tests/unit/networkfence/fence_fixture.h"

namespace addons::testing {
namespace {

class FenceBudgetTest : public FenceFixture {
 protected:
  void ExpectAsDocumented(const std::string& title) {
    CallCounts made;
    for (const CallRecord& record : world_.Calls()) ++made[record.call];
    world_.ClearCalls();
    EXPECT_EQ(made, DocumentedCalls(ADDONS_PERFORMANCE_DOC, title)) << title;
  }
};

TEST_F(FenceBudgetTest, OfOneRange) {
  // Its connections.
  EXPECT_EQ(List(), "");
  world_.ClearCalls();
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  ExpectAsDocumented("fence");
  EXPECT_OK(Fence({"192.168.1.0/24"}));
  ExpectAsDocumented("fence again");
  EXPECT_OK(Fence({"192.168.2.0/24"}));
  ExpectAsDocumented("fence of another range");
  EXPECT_OK(Unfence({"192.168.2.0/24"}));
  world_.ClearCalls();
  EXPECT_EQ(List(), "192.168.1.0/24");
  ExpectAsDocumented("list fences");
  EXPECT_OK(Unfence({"192.168.1.0/24"}));
  ExpectAsDocumented("unfence");
  EXPECT_OK(Unfence({"192.168.1.0/24"}));
  ExpectAsDocumented("unfence again");
}

}  // namespace
}  // namespace addons::testing
