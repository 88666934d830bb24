// A real cluster that hangs, and one that throws us out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::Eventually;
using ::addons::testing::StatusIs;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Not;
using ::testing::SizeIs;

class RealTroubleTest : public RealTest {};

TEST_F(RealTroubleTest, ReadsEndAndMutationsGoOnWhenTheOsdHangs) {
  const std::string name = MakeImage();
  const auto writer = OpenWritable(name);
  const auto reader = OpenReadOnly(name);
  const auto pool = OpenPool(Access::kRead);

  ASSERT_OK(Bed().Run("stop", {"a", "osd"}));
  const SteadyTime begin = RealClock().Now();
  absl::Status written;
  std::atomic<bool> done = false;
  std::jthread mutation([&] {
    written = writer->SetMetadata("key", "value");
    done = true;
  });
  const absl::Status read = reader->Metadata("key").status();
  const SteadyDuration took = RealClock().Now() - begin;
  const absl::Status opened = pool->OpenImageReadOnly(ImageName(name)).status();
  EXPECT_FALSE(done);
  ASSERT_OK(Bed().Run("cont", {"a", "osd"}));
  mutation.join();

  EXPECT_THAT(read, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_GE(took, seconds(2));
  EXPECT_LT(took, seconds(6));
  EXPECT_THAT(opened, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_OK(written);
  // The same handles serve again.
  EXPECT_EQ(reader->Metadata("key").value(), "value");
  EXPECT_OK(pool->OpenImageReadOnly(ImageName(name)));
}

TEST_F(RealTroubleTest, ReplacesAConnectionThatWasBlocklisted) {
  const std::string name = MakeImage();
  const auto cluster = Connect("a").value();
  auto pool = cluster->OpenPool(Bed().PoolId("a"), "", Access::kMutate).value();
  auto image = pool->OpenImage(ImageName(name)).value();
  const std::vector<Watcher> watchers = image->Watchers().value();
  ASSERT_THAT(watchers, SizeIs(1));
  ASSERT_OK(Bed().Run("ceph", {"a", "osd", "blocklist", "add",
                               watchers.front().address, "60"}));

  absl::Status thrown_out;
  EXPECT_TRUE(Eventually([&] {
    thrown_out = image->Metadata("key").status();
    return !thrown_out.ok();
  }));
  EXPECT_THAT(thrown_out, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(CephErrno(thrown_out), kBlocklistedErrno);
  // What was opened before stays dead, also new images of the old pool.
  EXPECT_EQ(CephErrno(pool->OpenImageReadOnly(ImageName(name)).status()),
            kBlocklistedErrno);

  const auto fresh = cluster->OpenPool(Bed().PoolId("a"), "", Access::kMutate);
  ASSERT_OK(fresh);
  const auto reopened = (*fresh)->OpenImage(ImageName(name));
  ASSERT_OK(reopened);
  EXPECT_OK((*reopened)->SetMetadata("key", "value"));
  EXPECT_THAT(cluster->OwnClientIds(),
              Not(Contains(watchers.front().client_id)));
  // The other connection was not concerned.
  EXPECT_OK(OpenReadOnly(name)->Size());
}

}  // namespace
}  // namespace addons
