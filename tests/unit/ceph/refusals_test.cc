#include "ceph/librados/refusals.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

using std::chrono::seconds;

const SteadyTime kStart{seconds(1000)};
constexpr auto kAge = Refusals::kAge;

TEST(RefusalsTest, WhatWorksOrFailsOtherwiseKeepsTheConnection) {
  Refusals refusals(kStart);
  for (const int result : {0, 7, -ENOENT, -ETIMEDOUT, -EBUSY}) {
    refusals.Note("rbd_open", result);
  }
  EXPECT_FALSE(refusals.AskAnew(kStart + 1000 * kAge));
}

TEST(RefusalsTest, AnOsdThatRefusesTheTicketIsAskedAnewAtOnce) {
  Refusals refusals(kStart);
  refusals.Note("rbd_open", -EACCES);
  EXPECT_TRUE(refusals.AskAnew(kStart));
}

// Or a user without that capability would connect with every call.
TEST(RefusalsTest, WhatAUserMayNotIsAskedAnewInTime) {
  for (const char* const name :
       {"rados_mon_command", "rados_mgr_command", "rados_write_op_omap_set2"}) {
    Refusals refusals(kStart);
    refusals.Note(name, name[6] == 'm' ? -EACCES : -EPERM);
    EXPECT_FALSE(refusals.AskAnew(kStart + kAge - seconds(1))) << name;
    EXPECT_TRUE(refusals.AskAnew(kStart + kAge)) << name;
  }
}

}  // namespace
}  // namespace addons
