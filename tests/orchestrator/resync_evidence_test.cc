// What counts as a resync that has begun, on what Ceph 16.2 prints.

#include "tests/orchestrator/resync_evidence.h"

#include <gtest/gtest.h>

#include <string>

namespace addons::testing {
namespace {

constexpr char kInfo[] = R"({"name":"csi-vol-1","id":"1012"})";
constexpr char kReplaying[] = R"({"state":"up+replaying"})";

std::string Listing(const std::string& mirror) {
  return R"([{"id":3,"name":"user","namespace":{"type":"user"}},)"
         R"({"id":7,"name":".mirror.1","namespace":{"type":"mirror",)" +
         mirror + "}}]";
}

ResyncEvidence Read(const std::string& mirror, bool other_is_primary,
                    const std::string& metadata = "",
                    const std::string& status = kReplaying) {
  return ReadResyncEvidence(kInfo, metadata, Listing(mirror), status,
                            other_is_primary);
}

constexpr char kWholeCopy[] =
    R"("state":"non-primary","primary_mirror_uuid":"u","complete":true)";
constexpr char kHalfCopy[] =
    R"("state":"non-primary","primary_mirror_uuid":"u","complete":false)";
constexpr char kOwnDemotion[] =
    R"("state":"demoted","primary_mirror_uuid":"","complete":true)";

bool Begun(const ResyncEvidence& seen) { return ResyncHasBegun(seen, seen); }

TEST(ResyncEvidenceTest, ARequestOrACopyUnderWayHasBegun) {
  EXPECT_TRUE(Begun(Read(kHalfCopy, true)));
  EXPECT_TRUE(Begun(Read(kOwnDemotion, true, "x.resync_requested: true")));
  EXPECT_TRUE(Begun(Read(kWholeCopy, true, "", R"({"state":"up+syncing"})")));
  EXPECT_TRUE(Begun(ReadResyncEvidence("", "", "", "", true)));
}

TEST(ResyncEvidenceTest, ASplitBrainThatNobodyRepairsHasNotBegun) {
  EXPECT_FALSE(Begun(Read(kOwnDemotion, true, "", R"({"state":"up+error"})")));
  EXPECT_FALSE(Begun(Read(kWholeCopy, true)));
  // After a demotion rbd-mirror only looks what there is.
  EXPECT_FALSE(
      Begun(Read(kOwnDemotion, true, "", R"({"state":"up+starting_replay"})")));
  EXPECT_TRUE(
      Begun(Read(kWholeCopy, true, "", R"({"state":"up+starting_replay"})")));
}

TEST(ResyncEvidenceTest, AnOwnDemotionIsCopiedWhileNobodyIsPrimary) {
  EXPECT_TRUE(Begun(Read(kOwnDemotion, false)));
}

TEST(ResyncEvidenceTest, WhatHasJustEndedHadBegun) {
  const ResyncEvidence before = Read(kOwnDemotion, true);
  ResyncEvidence after = before;
  EXPECT_FALSE(ResyncHasBegun(before, after));
  after.image_id = "1013";
  EXPECT_TRUE(ResyncHasBegun(before, after));
}

}  // namespace
}  // namespace addons::testing
