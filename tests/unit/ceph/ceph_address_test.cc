#include "ceph/ceph_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace addons {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Hosts(const std::string& text) {
  std::vector<std::string> hosts;
  for (const CephAddress& address : ParseCephAddresses(text)) {
    hosts.push_back(address.ip.Text());
  }
  return hosts;
}

TEST(CephAddressTest, ReadsAddressPortAndNonce) {
  const auto address = CephAddress::Parse("v2:10.0.0.1:6800/4294967295");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->ip.Text(), "10.0.0.1");
  EXPECT_EQ(address->port, 6800U);
  EXPECT_EQ(address->nonce, 4294967295U);
}

TEST(CephAddressTest, ReadsEverySpelling) {
  EXPECT_THAT(Hosts("10.0.0.1:0/5"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(Hosts("10.0.0.1:6800"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(Hosts("any:10.0.0.1:0/5"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(Hosts("[fd00::1]:0/5"), ElementsAre("fd00::1"));
  EXPECT_THAT(Hosts("v1:[fd00::1]:0/5"), ElementsAre("fd00::1"));
  EXPECT_THAT(Hosts("[v2:10.0.0.1:0/5,v1:10.0.0.1:0/5]"),
              ElementsAre("10.0.0.1", "10.0.0.1"));
  EXPECT_THAT(Hosts("[v2:10.0.0.1:0/5,v2:[fd00::1]:0/5]"),
              ElementsAre("10.0.0.1", "fd00::1"));
}

TEST(CephAddressTest, LeavesOutWhatItCannotRead) {
  EXPECT_THAT(Hosts("[v2:10.0.0.1:0/5,-,v9:1.2.3.4:0/1]"),
              ElementsAre("10.0.0.1"));
  for (const std::string text :
       {"", "-", ":/0", "[]", "10.0.0.1", "fd00::1:0/5", "[fd00::1:0/5",
        "[10.0.0.1]:0/5", "10.0.0.1:0/", "10.0.0.1:/5", "10.0.0.1:0/+5",
        "10.0.0.1:0/99999999999", "host:0/5"}) {
    EXPECT_THAT(Hosts(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace addons
