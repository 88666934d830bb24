// What `rbd-addons operations` and `cancel` print.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/operations.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

admin_pb::Operation* Add(admin_pb::ListOperationsResponse& list,
                         admin_pb::Operation::State state) {
  admin_pb::Operation* operation = list.add_operations();
  operation->set_operation_id(static_cast<uint64_t>(list.operations_size()) *
                              9);
  operation->set_state(state);
  operation->set_verb("sparsify");
  operation->set_object("volume 'v'");
  operation->set_lane("bulk");
  operation->set_cluster("c");
  operation->set_request_id("r-1");
  return operation;
}

TEST(OperationsTextTest, AlignsItsColumns) {
  admin_pb::ListOperationsResponse list;
  admin_pb::Operation* first = Add(list, admin_pb::Operation::RUNNING);
  first->set_mutating(true);
  first->set_step("sparsifying");
  first->set_done(1);
  first->set_total(3);
  first->set_callers(2);
  first->set_age_milliseconds(3723999);
  Add(list, admin_pb::Operation::QUEUED)->set_age_milliseconds(10);
  admin_pb::Lane* lane = list.add_lanes();
  lane->set_name("bulk");
  lane->set_running(1);
  lane->set_workers(4);
  lane->set_waiting(7);
  lane->set_queued(1);
  lane->set_queue_limit(64);
  EXPECT_EQ(
      OperationsText(list),
      "ID  STATE     VERB      OBJECT      AGE     STEP         PROGRESS  "
      "CALLERS  LANE  CLUSTER  REQUEST\n"
      "9   changing  sparsify  volume 'v'  1h2m3s  sparsifying  33% of 3  "
      "2        bulk  c        r-1\n"
      "18  queued    sparsify  volume 'v'  0s      -            -         "
      "0        bulk  c        r-1\n"
      "lane bulk: 1 of 4 running, 7 waiting, 1 of 64 queued\n");
}

TEST(OperationsTextTest, CallsThingsByTheirNames) {
  admin_pb::ListOperationsResponse list;
  Add(list, admin_pb::Operation::RUNNING)->set_name("shop/data-0");
  Add(list, admin_pb::Operation::RUNNING)->set_object("volume group 'g'");
  list.mutable_operations(1)->set_name("vgrcontent-1");
  Add(list, admin_pb::Operation::RUNNING)->set_object("the mirrored pools");
  const std::string text = OperationsText(list);
  EXPECT_THAT(text, AllOf(HasSubstr("  volume 'shop/data-0'  "),
                          HasSubstr("  volume group 'vgrcontent-1'  "),
                          HasSubstr("  the mirrored pools  ")));
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("'v'"), HasSubstr("'g'"),
                              HasSubstr("OBJECT ID"))));
  const std::string wide = OperationsText(list, /*wide=*/true);
  EXPECT_THAT(wide,
              AllOf(HasSubstr("  REQUEST  OBJECT ID\n"),
                    HasSubstr("  volume 'shop/data-0'  "),
                    HasSubstr("  r-1      v\n"), HasSubstr("  r-1      g\n")));
  EXPECT_EQ(OperationText(list.operations(0)),
            "sparsify of volume 'shop/data-0'");
}

TEST(OperationsTextTest, TellsStatesApart) {
  admin_pb::ListOperationsResponse list;
  Add(list, admin_pb::Operation::STOPPING)->set_mutating(true);
  Add(list, admin_pb::Operation::RUNNING);
  Add(list, admin_pb::Operation::WAITING);
  const std::string text = OperationsText(list);
  EXPECT_THAT(text, HasSubstr("9   stopping  "));
  EXPECT_THAT(text, HasSubstr("18  running   "));
  EXPECT_THAT(text, HasSubstr("27  waiting   "));
}

TEST(OperationsTextTest, SaysWhatIsStuckAndForHowLong) {
  admin_pb::ListOperationsResponse list;
  admin_pb::Operation* operation = Add(list, admin_pb::Operation::RUNNING);
  operation->set_mutating(true);
  operation->set_step("demoting");
  operation->set_age_milliseconds(600000);
  operation->set_idle_milliseconds(421000);
  operation->set_stuck(true);
  EXPECT_THAT(
      OperationsText(list),
      HasSubstr(
          "\n9   stuck  sparsify  volume 'v'  10m  demoting (the same for "
          "7m1s)  "));
}

// A terminal obeys control characters.
TEST(OperationsTextTest, ShowsNoControlCharacters) {
  admin_pb::ListOperationsResponse list;
  Add(list, admin_pb::Operation::RUNNING)->set_object("\x1b[2Jvolume\n");
  EXPECT_THAT(OperationsText(list), HasSubstr("  [2Jvolume  "));
}

TEST(CancelTextTest, SaysWhatHappens) {
  admin_pb::CancelOperationResponse cancelled;
  cancelled.mutable_operation()->set_verb("trim");
  cancelled.mutable_operation()->set_object("volume 'v'");
  cancelled.set_effect(admin_pb::CancelOperationResponse::NEVER_STARTS);
  EXPECT_EQ(CancelText(cancelled),
            "trim of volume 'v' was queued and will not start\n");
  cancelled.set_effect(admin_pb::CancelOperationResponse::STOPS_NOW);
  EXPECT_THAT(CancelText(cancelled), HasSubstr("has changed nothing"));
  cancelled.set_effect(admin_pb::CancelOperationResponse::STOPS_AFTER_CHANGE);
  EXPECT_THAT(CancelText(cancelled), HasSubstr("ends after that"));
}

}  // namespace
}  // namespace addons
