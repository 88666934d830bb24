#include "node/rbd_nbd_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace addons {
namespace {

using ::testing::Eq;
using ::testing::Optional;

std::optional<RbdNbdImage> Parse(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    line += argument;
    line.push_back('\0');
  }
  return ParseRbdNbdCommand(line);
}

TEST(RbdNbdCommandTest, ReadsTheImage) {
  EXPECT_THAT(Parse({"rbd-nbd", "map", "pool/image"}),
              Optional(RbdNbdImage{"pool", "", ImageName("image")}));
  EXPECT_THAT(Parse({"/usr/bin/rbd-nbd", "attach", "pool/ns/image"}),
              Optional(RbdNbdImage{"pool", "ns", ImageName("image")}));
  EXPECT_THAT(Parse({"rbd-nbd", "map", "pool/image@snap"}),
              Optional(RbdNbdImage{"pool", "", ImageName("image")}));
}

TEST(RbdNbdCommandTest, TellsWhetherLibrbdEncryptsIt) {
  EXPECT_FALSE(Parse({"rbd-nbd", "map", "pool/image"})->encrypted);
  EXPECT_TRUE(Parse({"rbd-nbd", "map", "--encryption-format", "luks1",
                     "pool/image", "--encryption-passphrase-file", "/a"})
                  ->encrypted);
  EXPECT_TRUE(
      Parse({"rbd-nbd", "map", "pool/image", "--encryption-format=luks2"})
          ->encrypted);
}

TEST(RbdNbdCommandTest, SkipsOptionsAndTheirValues) {
  const std::optional<RbdNbdImage> image{{"pool", "", ImageName("image")}};
  EXPECT_EQ(Parse({"rbd-nbd", "--id", "csi-rbd-node", "-m", "10.0.0.1:6789",
                   "--keyfile=/tmp/csi/keys/keyfile-1", "map", "pool/image",
                   "--device", "/dev/nbd0", "--io-timeout=0", "--try-netlink"}),
            image);
  EXPECT_EQ(Parse({"rbd-nbd", "-c", "/a/b", "map", "--timeout", "5",
                   "pool/image", "--cookie", "pool/other"}),
            image);
}

TEST(RbdNbdCommandTest, GivesNothingWhenItIsNotCertain) {
  EXPECT_THAT(Parse({}), Eq(std::nullopt));
  EXPECT_THAT(Parse({"rbd-nbd"}), Eq(std::nullopt));
  EXPECT_THAT(Parse({"rbd-nbd", "map"}), Eq(std::nullopt));
  EXPECT_THAT(Parse({"rbd-nbd", "unmap", "pool/image"}), Eq(std::nullopt));
  EXPECT_THAT(Parse({"nbd-client", "map", "pool/image"}), Eq(std::nullopt));
  EXPECT_THAT(Parse({"rbd-nbd", "map", "pool/image", "pool/other"}),
              Eq(std::nullopt));
  // An unknown option: its value may or may not follow.
  EXPECT_THAT(Parse({"rbd-nbd", "map", "--new-option", "pool/x", "pool/image"}),
              Eq(std::nullopt));
  // The pool would be what the configuration says.
  EXPECT_THAT(Parse({"rbd-nbd", "map", "image"}), Eq(std::nullopt));
  EXPECT_THAT(Parse({"rbd-nbd", "map", "/image"}), Eq(std::nullopt));
  EXPECT_THAT(Parse({"rbd-nbd", "map", "a/b/c/d"}), Eq(std::nullopt));
}

}  // namespace
}  // namespace addons
