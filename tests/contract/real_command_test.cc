// Commands to a real monitor and manager.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "ceph/errors.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::StatusIs;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RealCommandTest : public RealTest {
 protected:
  std::shared_ptr<Cluster> cluster_ = Connect("a").value();
};

TEST_F(RealCommandTest, ReturnsWhatTheMonitorSays) {
  const auto output = cluster_->MonCommand(
      R"({"prefix": "osd blocklist ls", "format": "json"})");
  ASSERT_OK(output);
  EXPECT_THAT(*output, HasSubstr("[]"));
}

TEST_F(RealCommandTest, TellsWhyTheMonitorRefuses) {
  const absl::Status status =
      cluster_
          ->MonCommand(
              R"({"prefix": "osd blocklist", "blocklistop": "add", "addr": "nonsense"})")
          .status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("monitor command 'osd blocklist'"),
                             HasSubstr("nonsense"))));
  EXPECT_EQ(CephErrno(status), EINVAL);
}

TEST_F(RealCommandTest, KeepsTheConnectionWhenACommandIsNotAllowed) {
  EXPECT_THAT(cluster_->MonCommand(R"({"prefix": "mgr dump"})"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(Connect("a").value(), cluster_);
}

TEST_F(RealCommandTest, ReturnsWhatTheManagerSays) {
  const auto output = cluster_->MgrCommand(R"({"prefix": "rbd task list"})");
  ASSERT_OK(output);
  EXPECT_EQ(*output, "[]");  // without the line end that it sends
}

TEST_F(RealCommandTest, TellsWhyTheManagerRefuses) {
  EXPECT_THAT(cluster_->MgrCommand(R"({"prefix": "no such thing"})"),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("manager command 'no such thing'"),
                             HasSubstr("No handler found"))));
}

// The late answers of several commands must not harm anybody either: librados
// by itself writes them to a stack that is gone.
TEST_F(RealCommandTest, GivesUpOnAManagerThatHangs) {
  const std::string list = R"({"prefix": "rbd task list"})";
  ASSERT_OK(cluster_->MgrCommand(list));
  ASSERT_OK(Bed().Run("stop", {"a", "mgr"}));
  const SteadyTime begin = RealClock().Now();
  const auto output = cluster_->MgrCommand(list);
  const SteadyDuration took = RealClock().Now() - begin;
  const auto again = cluster_->MgrCommand(list);
  ASSERT_OK(Bed().Run("cont", {"a", "mgr"}));
  for (const auto& each : {output, again}) {
    EXPECT_THAT(each, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               HasSubstr("manager command 'rbd task list'")));
    EXPECT_EQ(CephErrno(each.status()), ETIMEDOUT);
  }
  EXPECT_GE(took, seconds(2));
  EXPECT_LT(took, seconds(6));
  EXPECT_OK(cluster_->MgrCommand(list));
}

}  // namespace
}  // namespace addons
