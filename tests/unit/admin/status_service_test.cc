// What Overview/ListStatus makes of what the watch has seen.

#include "admin/status_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/manual_clock.h"

namespace addons::testing {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

WatchedImage Image(const std::string& name, CopyState state) {
  WatchedImage image;
  image.image = name;
  image.image_id = absl::StrCat("id-", name);
  image.role = WatchedRole::kPrimary;
  image.copy = state;
  image.last_sync = 1000;
  image.lag_seconds = 60;
  image.interval_seconds = 300;
  image.message = "site 'site-b' is replaying";
  return image;
}

class StatusServiceTest : public ::testing::Test {
 protected:
  StatusServiceTest() {
    sources_.replicates = true;
    sources_.watched = [this] { return seen_; };
    sources_.clusters = [this] { return clusters_; };
    Publish();
  }

  /// What `snapshot_` is now.
  void Publish() {
    ++snapshot_.number;
    seen_ = std::make_shared<WatchSnapshot>(snapshot_);
  }
  WatchedPool& AddPool(const std::string& name,
                       const std::string& cluster = "site-a") {
    WatchedPool& pool = snapshot_.pools.emplace_back();
    pool.cluster_id = cluster;
    pool.pool = name;
    pool.peers = {"site-b"};
    pool.seen_at = clock_.Now();
    return pool;
  }
  static void Add(WatchedPool& pool, const WatchedImage& image) {
    pool.images.push_back(image);
    ++pool.total;
    ++pool.by_copy.at(static_cast<size_t>(image.copy));
    ++pool.by_role.at(static_cast<size_t>(image.role));
  }
  grpc::Status Ask(const admin_pb::ListStatusRequest& request,
                   admin_pb::ListStatusResponse* response) {
    StatusService service(rpc_, sources_);
    InProcessServer server(service);
    grpc::ClientContext context;
    return admin_pb::Overview::NewStub(server.Channel())
        ->ListStatus(&context, request, response);
  }
  admin_pb::ListStatusResponse List(
      const admin_pb::ListStatusRequest& request = {}) {
    admin_pb::ListStatusResponse response;
    const grpc::Status status = Ask(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  static std::vector<std::string> Names(
      const admin_pb::ListStatusResponse& response) {
    std::vector<std::string> names;
    for (const auto& volume : response.volumes()) {
      names.push_back(volume.name());
    }
    return names;
  }

  ManualClock clock_;
  Rpc rpc_{clock_};
  WatchSnapshot snapshot_;
  std::shared_ptr<const WatchSnapshot> seen_;
  absl::StatusOr<std::vector<std::string>> clusters_ =
      std::vector<std::string>{"site-a"};
  StatusSources sources_;
};

TEST_F(StatusServiceTest, WhatCallsHaveNamedAndNobodyHasLookedAtIsSaid) {
  sources_.replicates = true;
  size_t named = 0;
  sources_.named = [&named] { return named; };
  EXPECT_THAT(List().not_watched(), HasSubstr("no call has named a volume"));
  named = 1;
  EXPECT_THAT(List().not_watched(),
              AllOf(HasSubstr("within half a minute"),
                    Not(HasSubstr("no call has named a volume"))));
}

TEST_F(StatusServiceTest, SaysEverythingAboutAPool) {
  WatchedPool& pool = AddPool("pool");
  pool.rados_namespace = "ns";
  pool.local_mirror_up = false;
  Add(pool, Image("i1", CopyState::kInStep));
  Add(pool, Image("i2", CopyState::kLate));
  pool.total = 3;
  Publish();
  clock_.Advance(seconds(12));
  const admin_pb::ListStatusResponse list = List();
  ASSERT_EQ(list.pools_size(), 1);
  const admin_pb::PoolStatus& shown = list.pools(0);
  EXPECT_EQ(shown.cluster_id(), "site-a");
  EXPECT_EQ(shown.pool(), "pool");
  EXPECT_EQ(shown.rados_namespace(), "ns");
  EXPECT_THAT(shown.peers(), ElementsAre("site-b"));
  EXPECT_EQ(shown.seen_seconds_ago(), 12U);
  EXPECT_EQ(shown.volumes(), 3U);
  EXPECT_EQ(shown.in_step(), 1U);
  EXPECT_EQ(shown.late(), 1U);
  EXPECT_EQ(shown.primary(), 2U);
  EXPECT_EQ(shown.not_kept(), 1U);
  EXPECT_TRUE(shown.has_local_mirror_reports());
  EXPECT_FALSE(shown.local_mirror_reports());
  EXPECT_FALSE(shown.has_peer_mirror_reports());
  EXPECT_EQ(list.not_watched(), "");
  EXPECT_EQ(list.volumes(0).image(), "pool/ns/i2");
}

TEST_F(StatusServiceTest, SaysEverythingAboutAVolume) {
  WatchedImage image = Image("csi-vol-1", CopyState::kCopying);
  image.claim = "ns1/data";
  image.volume_name = "pvc-1";
  image.volume_id = "0001-x";
  image.percent = 40;
  image.bytes_remaining = 4096;
  Add(AddPool("pool"), image);
  Publish();
  clock_.Advance(seconds(30));
  const admin_pb::ListStatusResponse list = List();
  ASSERT_EQ(list.volumes_size(), 1);
  const admin_pb::VolumeStatus& shown = list.volumes(0);
  EXPECT_EQ(shown.name(), "ns1/data");
  EXPECT_EQ(shown.claim(), "ns1/data");
  EXPECT_EQ(shown.volume_name(), "pvc-1");
  EXPECT_EQ(shown.volume_id(), "0001-x");
  EXPECT_EQ(shown.cluster_id(), "site-a");
  EXPECT_EQ(shown.image(), "pool/csi-vol-1");
  EXPECT_EQ(shown.image_id(), "id-csi-vol-1");
  EXPECT_EQ(shown.role(), admin_pb::VolumeStatus::PRIMARY);
  EXPECT_EQ(shown.state(), admin_pb::VolumeStatus::COPYING);
  EXPECT_EQ(shown.last_copy().seconds(), 1000);
  // It runs on between two looks.
  EXPECT_EQ(shown.copy_age_seconds(), 90U);
  EXPECT_EQ(shown.interval_seconds(), 300U);
  EXPECT_THAT(shown.peers(), ElementsAre("site-b"));
  EXPECT_EQ(shown.percent(), 40U);
  EXPECT_EQ(shown.bytes_remaining(), 4096U);
  EXPECT_EQ(shown.message(), "site 'site-b' is replaying");
}

TEST_F(StatusServiceTest, WhatIsNotKnownIsAbsent) {
  WatchedImage image;
  image.image = "i";
  Add(AddPool("pool"), image);
  Publish();
  const admin_pb::VolumeStatus shown = List().volumes(0);
  EXPECT_EQ(shown.state(), admin_pb::VolumeStatus::UNKNOWN);
  EXPECT_EQ(shown.role(), admin_pb::VolumeStatus::UNCLEAR);
  EXPECT_FALSE(shown.has_last_copy());
  EXPECT_FALSE(shown.has_copy_age_seconds());
  EXPECT_FALSE(shown.has_interval_seconds());
  EXPECT_FALSE(shown.has_percent());
  EXPECT_FALSE(shown.has_bytes_remaining());
}

TEST_F(StatusServiceTest, TheBestNameIsShown) {
  WatchedPool& pool = AddPool("pool");
  WatchedImage image = Image("i", CopyState::kInStep);
  Add(pool, image);
  image.volume_name = "pvc-1";
  Add(pool, image);
  image.claim = "ns/claim";
  Add(pool, image);
  Publish();
  EXPECT_THAT(Names(List()), ElementsAre("ns/claim", "pool/i", "pvc-1"));
}

TEST_F(StatusServiceTest, TroubleComesFirstOverAllPools) {
  WatchedPool& first = AddPool("a");
  Add(first, Image("in-step", CopyState::kInStep));
  Add(first, Image("late", CopyState::kLate));
  WatchedPool& second = AddPool("b");
  Add(second, Image("copying", CopyState::kCopying));
  Add(second, Image("broken", CopyState::kBroken));
  Add(second, Image("unknown", CopyState::kUnknown));
  Publish();
  EXPECT_THAT(Names(List()), ElementsAre("b/broken", "a/late", "b/unknown",
                                         "b/copying", "a/in-step"));
}

TEST_F(StatusServiceTest, ADeadClusterHasNothingInStep) {
  WatchedPool& pool = AddPool("pool");
  Add(pool, Image("i1", CopyState::kInStep));
  Add(pool, Image("i2", CopyState::kBroken));
  pool.unseen = "no monitor of site-a answers";
  Publish();
  clock_.Advance(minutes(5));
  admin_pb::ListStatusResponse list = List();
  EXPECT_EQ(list.pools(0).unseen(), "no monitor of site-a answers");
  EXPECT_EQ(list.pools(0).seen_seconds_ago(), 300U);
  EXPECT_EQ(list.pools(0).in_step(), 0U);
  EXPECT_EQ(list.pools(0).unknown(), 1U);
  EXPECT_EQ(list.pools(0).broken(), 1U);
  EXPECT_EQ(list.volumes(1).state(), admin_pb::VolumeStatus::UNKNOWN);
  clock_.Advance(minutes(5));
  list = List();
  EXPECT_EQ(list.pools(0).late(), 1U);
  EXPECT_EQ(list.volumes(1).state(), admin_pb::VolumeStatus::LATE);
  EXPECT_EQ(list.volumes(1).copy_age_seconds(), 660U);
}

TEST_F(StatusServiceTest, APoolThatWasNeverSeenHasNoAge) {
  WatchedPool& pool = AddPool("pool");
  pool.seen_at.reset();
  pool.unseen = "it has not been looked at yet";
  Publish();
  const admin_pb::ListStatusResponse list = List();
  EXPECT_FALSE(list.pools(0).has_seen_seconds_ago());
  EXPECT_EQ(list.pools(0).unseen(), "it has not been looked at yet");
}

TEST_F(StatusServiceTest, SaysWhyNothingIsWatchedAndWhatToDo) {
  EXPECT_THAT(List().not_watched(),
              AllOf(HasSubstr("no call"), HasSubstr("rbd-addons info VOLUME")));
  clusters_ = std::vector<std::string>();
  EXPECT_THAT(List().not_watched(),
              AllOf(HasSubstr("no cluster"), HasSubstr("--site-clusters")));
  clusters_ = absl::UnavailableError("config.json is not JSON");
  EXPECT_THAT(List().not_watched(), HasSubstr("config.json is not JSON"));
  seen_ = nullptr;
  EXPECT_THAT(List().not_watched(), HasSubstr("--watch-interval"));
  sources_.replicates = false;
  EXPECT_THAT(List().not_watched(), HasSubstr("--controllerserver"));
  EXPECT_EQ(List().pools_size(), 0);
}

TEST_F(StatusServiceTest, NamesClustersOfWhichNothingIsWatched) {
  clusters_ = std::vector<std::string>{"site-a", "site-c", "site-d"};
  Add(AddPool("pool"), Image("i", CopyState::kInStep));
  snapshot_.pools_left_out = 2;
  Publish();
  EXPECT_THAT(List().unwatched_clusters(), ElementsAre("site-c", "site-d"));
  EXPECT_EQ(List().pools_left_out(), 2U);
  admin_pb::ListStatusRequest request;
  request.set_cluster_id("site-a");
  EXPECT_THAT(List(request).unwatched_clusters(), IsEmpty());
}

TEST_F(StatusServiceTest, ShowsOnlyWhatIsAskedFor) {
  WatchedPool& first = AddPool("a");
  WatchedImage image = Image("i1", CopyState::kLate);
  image.volume_id = "0001-SOME-id";
  Add(first, image);
  Add(first, Image("i2", CopyState::kInStep));
  Add(AddPool("a", "site-c"), Image("i3", CopyState::kInStep));
  Add(AddPool("b"), Image("i4", CopyState::kCopying));
  Publish();
  admin_pb::ListStatusRequest request;
  request.set_pool("a");
  EXPECT_THAT(Names(List(request)), ElementsAre("a/i1", "a/i2", "a/i3"));
  EXPECT_EQ(List(request).pools_size(), 2);
  request.set_cluster_id("site-c");
  EXPECT_THAT(Names(List(request)), ElementsAre("a/i3"));
  request.Clear();
  request.set_text("some-ID");
  EXPECT_THAT(Names(List(request)), ElementsAre("a/i1"));
  EXPECT_EQ(List(request).fitting(), 1U);
  EXPECT_EQ(List(request).pools_size(), 3);
  request.Clear();
  request.set_trouble_only(true);
  EXPECT_THAT(Names(List(request)), ElementsAre("a/i1"));
}

TEST_F(StatusServiceTest, APoolThatIsNotWatchedIsNoHealthyOne) {
  Add(AddPool("a"), Image("i", CopyState::kInStep));
  Publish();
  admin_pb::ListStatusRequest request;
  request.set_pool("other");
  request.set_cluster_id("site-a");
  EXPECT_THAT(List(request).not_watched(),
              AllOf(HasSubstr("no pool 'other' of cluster 'site-a'"),
                    HasSubstr("these are: site-a/a"),
                    HasSubstr("rbd-addons info VOLUME")));
  EXPECT_EQ(List(request).volumes_size(), 0);
}

TEST_F(StatusServiceTest, PagesHaveEachVolumeOnce) {
  WatchedPool& pool = AddPool("p");
  for (int i = 0; i < 5; ++i) {
    Add(pool, Image(absl::StrCat("i", i), CopyState::kInStep));
  }
  Publish();
  admin_pb::ListStatusRequest request;
  request.set_limit(2);
  std::vector<std::string> names;
  do {
    const admin_pb::ListStatusResponse page = List(request);
    EXPECT_LE(page.volumes_size(), 2);
    EXPECT_EQ(page.pools_size(), 1);
    EXPECT_EQ(page.fitting(), 5U);
    for (const std::string& name : Names(page)) names.push_back(name);
    request.set_token(page.next_token());
  } while (!request.token().empty());
  EXPECT_THAT(names, ElementsAre("p/i0", "p/i1", "p/i2", "p/i3", "p/i4"));
}

TEST_F(StatusServiceTest, APageOfAnOlderLookIsAborted) {
  WatchedPool& pool = AddPool("p");
  Add(pool, Image("i1", CopyState::kInStep));
  Add(pool, Image("i2", CopyState::kInStep));
  Publish();
  admin_pb::ListStatusRequest request;
  request.set_limit(1);
  request.set_token(List(request).next_token());
  Publish();
  admin_pb::ListStatusResponse response;
  EXPECT_EQ(Ask(request, &response).error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(StatusServiceTest, ATokenThatIsNoneIsInvalid) {
  Add(AddPool("p"), Image("i", CopyState::kInStep));
  Publish();
  for (const char* token :
       {"x", "1", "1-x", "1-2-3", "-1-2", "99999999999999999999-1"}) {
    admin_pb::ListStatusRequest request;
    request.set_token(token);
    admin_pb::ListStatusResponse response;
    const grpc::Status status = Ask(request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << token;
    EXPECT_THAT(status.error_message(), HasSubstr("token")) << token;
  }
  admin_pb::ListStatusRequest beyond;
  beyond.set_token(absl::StrCat(snapshot_.number, "-1000"));
  EXPECT_EQ(List(beyond).volumes_size(), 0);
}

TEST_F(StatusServiceTest, WhatOthersHaveWrittenIsOneLineOfUtf8) {
  WatchedImage image = Image("i\xff\n", CopyState::kInStep);
  image.claim = "ns/\x1b[2Jclaim";
  image.message = std::string(10000, 'm');
  Add(AddPool("p\t"), image);
  Publish();
  const admin_pb::ListStatusResponse list = List();
  EXPECT_EQ(list.pools(0).pool(), "p ");
  EXPECT_THAT(list.volumes(0).name(), Not(HasSubstr("\x1b")));
  EXPECT_LT(list.volumes(0).message().size(), 1300U);
}

TEST_F(StatusServiceTest, FiveThousandVolumesAreFast) {
  WatchedPool& pool = AddPool("pool");
  for (int i = 0; i < 5000; ++i) {
    WatchedImage image = Image(absl::StrCat("csi-vol-", i), CopyState::kInStep);
    image.claim = absl::StrCat("namespace/claim-", i);
    image.volume_name = absl::StrCat("pvc-", i);
    image.volume_id = absl::StrCat("0001-0006-site-a-0000000000000002-", i);
    image.message = std::string(300, 'm');
    Add(pool, image);
  }
  Publish();
  admin_pb::ListStatusRequest request;
  request.set_limit(1000000);
  const auto begin = std::chrono::steady_clock::now();
  int volumes = 0;
  int pages = 0;
  do {
    const admin_pb::ListStatusResponse page = List(request);
    // What a client takes that has not raised its limit.
    EXPECT_LT(page.ByteSizeLong(), size_t{4} << 20);
    volumes += page.volumes_size();
    ++pages;
    request.set_token(page.next_token());
  } while (!request.token().empty());
  EXPECT_EQ(volumes, 5000);
  EXPECT_EQ(pages, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
}

}  // namespace
}  // namespace addons::testing
