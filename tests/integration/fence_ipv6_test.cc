// The same with a cluster and hosts that have IPv6 addresses only.

#include <chrono>
#include <string>

#include "tests/cluster/fence_bed.h"

namespace addons::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FenceIpv6Test : public FenceBedTest {
 protected:
  static void SetUpTestSuite() {
    MakeBed(HostNetwork::Family::kIPv6);
    if (!HasBed()) return;
    first_ = &bed().AddHost(1, 10);
    other_ = &bed().AddHost(2, 10);
  }
  void SetUp() override {
    FenceBedTest::SetUp();
    if (!HasBed()) return;
    ASSERT_TRUE(first_->WritesNow() && other_->WritesNow());
    begun_ = steady_clock::now();
  }
  static Host* first_;
  static Host* other_;
};
Host* FenceIpv6Test::first_ = nullptr;
Host* FenceIpv6Test::other_ = nullptr;

TEST_F(FenceIpv6Test, OneHost) {
  ASSERT_TRUE(Fence({first_->address()}).ok());
  const auto fenced = steady_clock::now();
  ExpectShutOut(*first_, fenced);
  EXPECT_THAT(List(), SizeIs(1));
  ASSERT_TRUE(Unfence({first_->address() + "/128"}).ok());
  EXPECT_TRUE(first_->WritesNow());
  ExpectUnharmed(*other_);
}

TEST_F(FenceIpv6Test, WhatEndsEarlyIsExtended) {
  for (const std::string& range :
       {first_->address() + "/128", bed().network().Range(1)}) {
    AddEntry(range, 600);
    ASSERT_TRUE(first_->FailsNow());
    const auto blocked = steady_clock::now();
    ASSERT_TRUE(Fence({range}).ok());
    EXPECT_TRUE(first_->FailsNow());
    EXPECT_EQ(first_->WritesSince(blocked), 0);
    ASSERT_THAT(Keys(), SizeIs(1));
    EXPECT_GT(Left(Keys().at(0)), 157784000);
    ASSERT_TRUE(Unfence({range}).ok());
    EXPECT_THAT(Keys(), IsEmpty());
    EXPECT_TRUE(first_->WritesNow());
  }
  ExpectUnharmed(*other_);
}

TEST_F(FenceIpv6Test, ClientsAreTheAddressesThatCephSees) {
  EXPECT_THAT(Clients(), SizeIs(1));
  ASSERT_EQ(Fence(Clients()).error_code(), Code::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace addons::testing
