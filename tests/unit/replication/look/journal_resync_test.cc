#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "replication/look/journal.h"

namespace addons {
namespace {

std::string Number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  return text;
}

/// abseil has two ways, and no release has both without a warning.
std::string BytesOfHex(absl::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    uint32_t byte = 0;
    EXPECT_TRUE(absl::SimpleHexAtoi(hex.substr(i, 2), &byte));
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::string Struct(const std::string& content) {
  return Number(1, 1) + Number(1, 1) + Number(content.size(), 4) + content;
}

/// As Ceph encodes a client of a journal: name, data, commit position, state.
std::string Client(const std::string& name, uint32_t type, bool resync) {
  const std::string data =
      Struct(Number(type, 4) + Number(7, 8) + Number(resync ? 1 : 0, 1));
  return Struct(Number(name.size(), 4) + name + Number(data.size(), 4) + data +
                Struct(Number(0, 4)) + Number(0, 1));
}

TEST(JournalResyncTest, FlagIsFoundInTheImagesOwnClient) {
  const std::string off = Client("", 0, false);
  const std::string on = Client("", 0, true);
  const auto offset = ResyncFlagOffset(off);
  ASSERT_TRUE(offset.has_value());
  EXPECT_EQ(off[*offset], 0);
  EXPECT_EQ(on[*ResyncFlagOffset(on)], 1);
  std::string cleared = on;
  cleared[*offset] = 0;
  EXPECT_EQ(cleared, off);
}

TEST(JournalResyncTest, WhatCephWroteIsRead) {
  // Of an image that was demoted and then marked by `rbd mirror image resync`,
  // Ceph 16.2.15.
  const std::string client = BytesOfHex(
      "01014400000000000000130000000201"
      "0d000000000000000000000000000000"
      "01010122000000010000000101180000"
      "00000000000000000002000000000000"
      "00000000000000000000");
  const auto offset = ResyncFlagOffset(client);
  ASSERT_TRUE(offset.has_value());
  EXPECT_EQ(*offset, 32U);
  EXPECT_EQ(client[*offset], 1);
}

TEST(JournalResyncTest, OtherClientsHaveNone) {
  constexpr uint32_t kMirrorPeer = 1;
  EXPECT_FALSE(ResyncFlagOffset(Client("", kMirrorPeer, true)).has_value());
}

TEST(JournalResyncTest, AnythingElseHasNone) {
  const std::string client = Client("", 0, true);
  for (size_t size = 0; size < 30; ++size) {
    EXPECT_FALSE(ResyncFlagOffset(client.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(ResyncFlagOffset(std::string(100, '\xff')).has_value());
  EXPECT_FALSE(ResyncFlagOffset(std::string(100, '\0')).has_value());
}

}  // namespace
}  // namespace addons
