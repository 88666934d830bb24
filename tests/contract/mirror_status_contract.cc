// What the rbd-mirror daemons say about an image.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "nlohmann/json.hpp"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::SizeIs;

TEST_P(ContractTest, PrimarysStatusOfItselfIsStopped) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  ASSERT_TRUE(bed().WaitFor(
      [] {
        return StatusIsUp(kA, kStanding, true, MirrorStatusState::kStopped);
      },
      kStatusLimit));
  EXPECT_EQ(StatusOf(kA, kStanding, true)->description,
            "local image is primary");
}

TEST_P(ContractTest, ReplayingStatusEndsInOneJsonObject) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  // Seen from the primary, and the first one written may still be "starting
  // replay".
  const auto idle = [] {
    const auto status = StatusOf(kA, kStanding, false);
    return status && status->up &&
           status->state == MirrorStatusState::kReplaying &&
           status->description.find("\"local_snapshot_timestamp\"") !=
               std::string::npos;
  };
  ASSERT_TRUE(bed().WaitFor(idle, kStatusLimit));
  const auto status = StatusOf(kA, kStanding, false);
  EXPECT_EQ(status->mirror_uuid, MirrorUuid(kB));
  const size_t comma = status->description.find(", ");
  ASSERT_NE(comma, std::string::npos);
  EXPECT_EQ(status->description.substr(0, comma), "replaying");
  const auto json = ParseJson(status->description.substr(comma + 2));
  ASSERT_TRUE(json.is_object()) << status->description;
  EXPECT_EQ(json.value("replay_state", ""), "idle");
  EXPECT_GT(json.value("local_snapshot_timestamp", int64_t{0}), 0);
  EXPECT_EQ(json.value("local_snapshot_timestamp", int64_t{0}),
            json.value("remote_snapshot_timestamp", int64_t{-1}));
}

TEST_P(ContractTest, SecondarySeesBothStatusesItsOwnFirst) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  ASSERT_TRUE(bed().WaitFor(
      [] {
        return StatusIsUp(kB, kStanding, true, MirrorStatusState::kReplaying) &&
               StatusIsUp(kB, kStanding, false, MirrorStatusState::kStopped);
      },
      kStatusLimit));
  const auto statuses = Look(kB, kStanding)->MirrorStatus();
  ASSERT_OK(statuses);
  ASSERT_THAT(*statuses, SizeIs(2));
  EXPECT_TRUE((*statuses)[0].local());
  EXPECT_EQ((*statuses)[1].mirror_uuid, MirrorUuid(kA));
  EXPECT_GT((*statuses)[1].last_update, 0);
}

TEST_P(ContractTest, TheListingOfAPoolTellsWhatEachImageTells) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto listed = [](Site site) -> std::vector<SiteStatus> {
    const auto all = OpenPool(site, Access::kRead)->MirrorStatuses();
    if (!all.ok()) return {};
    for (const ImageStatuses& image : *all) {
      if (image.image_id == IdOf(site, kStanding)) return image.sites;
    }
    return {};
  };
  const auto told = [](const std::vector<SiteStatus>& sites) {
    std::string text;
    for (const SiteStatus& site : sites) {
      absl::StrAppend(&text, site.mirror_uuid, " ", site.up, " ",
                      Name(site.state), " ", site.description, " ",
                      site.last_update, "\n");
    }
    return text;
  };
  // The entries may be rewritten between the two looks.
  EXPECT_TRUE(bed().WaitFor(
      [&] {
        const auto own = Look(kB, kStanding)->MirrorStatus();
        return own.ok() && own->size() == 2 && told(*own) == told(listed(kB));
      },
      kStatusLimit));
}

}  // namespace
}  // namespace addons
