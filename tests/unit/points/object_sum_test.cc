#include "points/object_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace addons::testing {
namespace {

constexpr uint64_t kLength = 4 * kBlockBytes;

std::string Zeros(size_t count = kLength) { return std::string(count, '\0'); }

TEST(ObjectSumTest, ZerosHaveNoSum) {
  EXPECT_TRUE(SumObject("", kLength).zeros.empty());
  EXPECT_TRUE(SumObject(Zeros(), kLength).zeros.empty());
  EXPECT_TRUE(SumObject(Zeros(100), kLength).zeros.empty());
}

TEST(ObjectSumTest, TheMapTellsSectorsAndTheEndIsZeros) {
  std::string bytes = Zeros(kBlockBytes + kSectorBytes + 1);
  bytes[kBlockBytes + kSectorBytes] = 'x';  // the second sector of a block
  const ObjectSum sum = SumObject(bytes, kLength);
  EXPECT_EQ(sum.zeros, std::string("\xff\xfd\xff\xff", 4));
  EXPECT_EQ(WholeBlocks(sum.zeros), std::string("\xff\x00\xff\xff", 4));
  std::string padded = bytes;
  padded.resize(kLength);
  EXPECT_EQ(sum.digest, SumObject(padded, kLength).digest);
}

TEST(ObjectSumTest, WhatLiesBeyondTheImageDoesNotCount) {
  std::string bytes = Zeros();
  bytes[10] = 'x';
  const ObjectSum sum = SumObject(bytes, kBlockBytes);
  bytes[kBlockBytes] = 'y';
  const ObjectSum more = SumObject(bytes, kBlockBytes);
  EXPECT_EQ(more.digest, sum.digest);
  EXPECT_EQ(more.zeros, sum.zeros);
  EXPECT_EQ(ClearZeros(sum.zeros, kBlockBytes, &bytes), 0U);
  EXPECT_EQ(DigestObject(bytes, kBlockBytes), sum.digest);
}

TEST(ObjectSumTest, OldDataWhereZerosAreAreClearedAndCounted) {
  std::string there = Zeros();
  there[0] = 'x';
  const ObjectSum sum = SumObject(there, kLength);
  std::string here = there;
  here[kSectorBytes] = 'o';     // a sector of the same block
  here[2 * kBlockBytes] = 'l';  // and two of another one
  here[2 * kBlockBytes + kSectorBytes] = 'd';
  EXPECT_NE(DigestObject(here, kLength), sum.digest);
  EXPECT_EQ(ClearZeros(sum.zeros, kLength, &here), 3 * kSectorBytes);
  EXPECT_EQ(DigestObject(here, kLength), sum.digest);
  EXPECT_EQ(ClearZeros(sum.zeros, kLength, &here), 0U);
  // What differs is not made equal by that.
  here[1] = 'y';
  EXPECT_EQ(ClearZeros(sum.zeros, kLength, &here), 0U);
  EXPECT_NE(DigestObject(here, kLength), sum.digest);
}

TEST(ObjectSumTest, AnObjectThatIsAllZerosThereIsClearedWhole) {
  std::string here(kLength, 'x');
  EXPECT_EQ(ClearZeros("", kLength, &here), kLength);
  EXPECT_EQ(here, Zeros());
}

TEST(ObjectSumTest, ADigestOfSeveralDependsOnEachAndTheirOrder) {
  const uint64_t one[] = {1, 2};
  const uint64_t other[] = {2, 1};
  EXPECT_NE(DigestTogether(one, 2), DigestTogether(other, 2));
  EXPECT_NE(DigestTogether(one, 2), DigestTogether(one, 1));
}

}  // namespace
}  // namespace addons::testing
