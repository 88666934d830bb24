// What `rbd-addons status` prints, and how it ends.

#include "cli/status_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/inspection.h"
#include "cli/status.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Volume = admin_pb::VolumeStatus;

class StatusTextTest : public ::testing::Test {
 protected:
  admin_pb::PoolStatus* AddPool(const std::string& name) {
    admin_pb::PoolStatus* pool = seen_.add_pools();
    pool->set_cluster_id("site-a");
    pool->set_pool(name);
    pool->add_peers("site-b");
    pool->set_seen_seconds_ago(12);
    return pool;
  }
  Volume* Add(admin_pb::PoolStatus* pool, const std::string& name,
              Volume::State state) {
    Volume* volume = seen_.add_volumes();
    volume->set_name(name);
    volume->set_role(Volume::PRIMARY);
    volume->set_state(state);
    volume->set_copy_age_seconds(70);
    volume->set_interval_seconds(300);
    volume->add_peers("site-b");
    pool->set_volumes(pool->volumes() + 1);
    pool->set_primary(pool->primary() + 1);
    const auto count = [state](Volume::State other, uint32_t before) {
      return before + (state == other ? 1 : 0);
    };
    pool->set_in_step(count(Volume::IN_STEP, pool->in_step()));
    pool->set_copying(count(Volume::COPYING, pool->copying()));
    pool->set_late(count(Volume::LATE, pool->late()));
    pool->set_broken(count(Volume::BROKEN, pool->broken()));
    pool->set_unknown(count(Volume::UNKNOWN, pool->unknown()));
    return volume;
  }

  admin_pb::ListStatusResponse seen_;
};

TEST_F(StatusTextTest, PoolsComeBeforeVolumes) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  Add(pool, "ns1/data", Volume::LATE)->set_copy_age_seconds(12000);
  Add(pool, "pvc-2", Volume::IN_STEP)->set_role(Volume::SECONDARY);
  seen_.mutable_volumes(1)->clear_interval_seconds();
  EXPECT_EQ(
      StatusText(seen_),
      "POOL  CLUSTER  VOLUMES  PROTECTED  LATE  BROKEN  COPYING  UNKNOWN  "
      "PRIMARY HERE  PEER    SEEN\n"
      "pool  site-a   2        1          1     0       0        0        "
      "2             site-b  12s ago\n"
      "\n"
      "VOLUME    ROLE       STATE    COPY AGE  EVERY  PEER\n"
      "ns1/data  primary    late     3h20m     5m     site-b\n"
      "pvc-2     secondary  in step  1m10s     -      site-b\n"
      "2 volumes: 1 in step, 1 late, 0 broken, 0 copying, 0 unknown\n"
      "-o wide says why, with images and ids\n");
}

TEST_F(StatusTextTest, WideHasIdsAndSaysWhy) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  Volume* late = Add(pool, "ns1/data", Volume::LATE);
  late->set_message("older than two\nintervals");
  late->set_image("pool/csi-vol-1");
  late->set_volume_name("pvc-1");
  late->set_volume_id("0001-x");
  late->set_image_id("1234abcd");
  Add(pool, "ns1/more", Volume::IN_STEP)->set_message("site-b is replaying");
  const std::string text = StatusText(seen_, {.wide = true});
  EXPECT_THAT(text,
              AllOf(HasSubstr("  CLUSTER  IMAGE           PV     VOLUME ID  "
                              "IMAGE ID\n"),
                    HasSubstr("  pool/csi-vol-1  pvc-1  0001-x     1234abcd\n"
                              "  older than two intervals\nns1/more"),
                    Not(HasSubstr("is replaying")), Not(HasSubstr("-o wide"))));
}

TEST_F(StatusTextTest, SaysHowFarAFirstCopyIs) {
  Volume* copying = Add(AddPool("pool"), "v", Volume::COPYING);
  copying->clear_copy_age_seconds();
  copying->set_percent(45);
  EXPECT_THAT(StatusText(seen_), HasSubstr("copying  45% copied  5m"));
}

TEST_F(StatusTextTest, AgesHaveTwoUnitsAtMost) {
  Volume* volume = Add(AddPool("pool"), "v", Volume::IN_STEP);
  const std::vector<std::pair<uint32_t, std::string>> ages = {
      {0, " 0s "},
      {59, " 59s "},
      {60, " 1m0s "},
      {3600, " 1h0m "},
      {86399, " 23h59m "},
      {86400, " 1d0h "},
      {4294967295U, " 49710d6h "}};
  for (const auto& [age, shown] : ages) {
    volume->set_copy_age_seconds(age);
    EXPECT_THAT(StatusText(seen_), HasSubstr(shown)) << age;
  }
  const std::vector<std::pair<uint32_t, std::string>> intervals = {
      {90, " 90s "}, {60, " 1m "}, {7200, " 2h "}, {172800, " 2d "}};
  for (const auto& [interval, shown] : intervals) {
    volume->set_interval_seconds(interval);
    EXPECT_THAT(StatusText(seen_), HasSubstr(shown)) << interval;
  }
}

TEST_F(StatusTextTest, ADeadClusterIsNamedWithTheAgeOfWhatIsShown) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  Add(pool, "v", Volume::UNKNOWN);
  pool->set_unseen("no monitor answered");
  pool->set_seen_seconds_ago(600);
  EXPECT_THAT(
      StatusText(seen_),
      HasSubstr("\npool 'pool' of cluster 'site-a': cannot be seen: no "
                "monitor answered; what is shown of it is 10m0s old\n"));
  pool->clear_seen_seconds_ago();
  EXPECT_THAT(StatusText(seen_),
              AllOf(HasSubstr("?        ?          ?  "), HasSubstr("never\n"),
                    Not(HasSubstr("what is shown of it"))));
}

TEST_F(StatusTextTest, SaysSinceWhenTheClientIsOnTheBlocklist) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  pool->set_unseen("on the blocklist");
  pool->set_seen_seconds_ago(600);
  pool->set_blocklisted_seconds(540);
  EXPECT_THAT(StatusText(seen_),
              HasSubstr("cannot be seen: on the blocklist; that was first seen "
                        "9m0s ago; what is shown of it is 10m0s old\n"));
}

TEST_F(StatusTextTest, SaysWhatElseIsWrongWithAPool) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  pool->set_rados_namespace("ns");
  pool->clear_peers();
  pool->set_schedules_unseen("it is down");
  pool->set_local_mirror_reports(false);
  pool->set_peer_mirror_reports(false);
  pool->set_not_kept(3);
  seen_.add_unwatched_clusters("site-c");
  seen_.set_pools_left_out(2);
  const std::string text = StatusText(seen_);
  for (const char* line :
       {"pool 'pool/ns' of cluster 'site-a': rbd-mirror of this site does not "
        "report\n",
        "': rbd-mirror of the peer site does not report\n",
        "': it has no peer, so nothing is copied\n",
        "': the manager does not tell the snapshot schedules: it is down\n",
        "': 3 volumes are counted, and not kept one by one\n",
        "cluster 'site-c': no pool of it is watched, because no call has named "
        "a volume of it; name one: rbd-addons info VOLUME\n",
        "2 more pools are not watched, because there are too many\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(StatusTextTest, SaysWhyThereIsNothing) {
  seen_.set_not_watched("nothing is watched yet");
  EXPECT_EQ(StatusText(seen_), "nothing is watched yet\n");
  seen_.clear_not_watched();
  AddPool("pool");
  EXPECT_THAT(StatusText(seen_),
              HasSubstr("\nno volume under replication is seen\n0 volumes: "));
  EXPECT_THAT(StatusText(seen_, {.trouble_only = true}),
              HasSubstr("\nno volume is late, broken or unknown\n"));
  EXPECT_THAT(StatusText(seen_, {.text = "x"}),
              HasSubstr("\nno volume has 'x' in it\n"));
  EXPECT_THAT(StatusText(seen_, {.text = "x", .trouble_only = true}),
              HasSubstr("\nno volume in trouble has 'x' in it\n"));
}

TEST_F(StatusTextTest, ColoursTakeNoPlace) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  Add(pool, "a", Volume::BROKEN);
  Add(pool, "b", Volume::UNKNOWN);
  Add(pool, "c", Volume::IN_STEP);
  std::istringstream in;
  std::ostringstream out;
  Streams streams{in, out, out};
  streams.color = true;
  const std::string text = StatusText(seen_, {}, Palette(streams));
  EXPECT_THAT(text, AllOf(HasSubstr("\x1b[31mbroken\x1b[0m   1m10s"),
                          HasSubstr("\x1b[33munknown\x1b[0m  1m10s"),
                          HasSubstr("\x1b[32min step\x1b[0m  1m10s")));
}

// A terminal obeys control characters.
TEST_F(StatusTextTest, ShowsNoControlCharacters) {
  admin_pb::PoolStatus* pool = AddPool("p\x1b[2J");
  pool->set_unseen("\x1b[2J");
  Add(pool, "\x1b[2Jv", Volume::BROKEN)->set_message("\x1b[2J");
  seen_.add_unwatched_clusters("\x1b[2J");
  EXPECT_THAT(StatusText(seen_, {.wide = true, .text = "\x1b"}),
              Not(HasSubstr("\x1b")));
  seen_.set_not_watched("\x1b[2J");
  EXPECT_THAT(StatusText(seen_), Not(HasSubstr("\x1b")));
}

TEST_F(StatusTextTest, FiveThousandVolumesAreFast) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  for (int i = 0; i < 5000; ++i) {
    Volume* volume = Add(pool, absl::StrCat("ns/claim-", i), Volume::LATE);
    volume->set_message(std::string(300, 'm'));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = StatusText(seen_, {.wide = true});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines.size(), 2U + 1 + 1 + 2 * 5000 + 1 + 1);
}

class StatusExitCodeTest : public StatusTextTest {
 protected:
  int Code(bool by_volume = false) const {
    return StatusExitCode(seen_, by_volume);
  }
};

TEST_F(StatusExitCodeTest, AllIsWellWhereAllIsInStepOrCopied) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  Add(pool, "a", Volume::IN_STEP);
  Add(pool, "b", Volume::COPYING);
  EXPECT_EQ(Code(), 0);
  EXPECT_EQ(Code(true), 0);
}

TEST_F(StatusExitCodeTest, WhatIsLateBrokenOrUnknownIsNot) {
  for (const Volume::State state :
       {Volume::LATE, Volume::BROKEN, Volume::UNKNOWN}) {
    seen_.Clear();
    Add(AddPool("pool"), "a", state);
    EXPECT_EQ(Code(), kWouldNotWork) << Volume::State_Name(state);
    EXPECT_EQ(Code(true), kWouldNotWork) << Volume::State_Name(state);
  }
  // One that a newer daemon has in a state of its own.
  seen_.Clear();
  Add(AddPool("pool"), "a", Volume::UNSPECIFIED);
  EXPECT_EQ(Code(), kWouldNotWork);
}

TEST_F(StatusExitCodeTest, VolumesThatAreNotListedCountWithTheirPool) {
  admin_pb::PoolStatus* pool = AddPool("pool");
  Add(pool, "a", Volume::IN_STEP);
  pool->set_volumes(2);
  pool->set_late(1);
  EXPECT_EQ(Code(), kWouldNotWork);
  // A search is about what it finds.
  EXPECT_EQ(Code(true), 0);
  seen_.clear_volumes();
  EXPECT_EQ(Code(true), kWouldNotWork);
}

TEST_F(StatusExitCodeTest, WhatIsNotSeenIsNotWell) {
  EXPECT_EQ(Code(), kWouldNotWork) << "no pool at all";
  admin_pb::PoolStatus* pool = AddPool("pool");
  Add(pool, "a", Volume::IN_STEP);
  EXPECT_EQ(Code(), 0);
  pool->set_unseen("no monitor answered");
  EXPECT_EQ(Code(), kWouldNotWork);
  pool->clear_unseen();
  pool->clear_seen_seconds_ago();
  EXPECT_EQ(Code(), kWouldNotWork);
  pool->set_seen_seconds_ago(1);
  seen_.set_pools_left_out(1);
  EXPECT_EQ(Code(), kWouldNotWork);
  seen_.clear_pools_left_out();
  seen_.add_unwatched_clusters("site-c");
  EXPECT_EQ(Code(), kWouldNotWork);
  seen_.clear_unwatched_clusters();
  EXPECT_EQ(Code(), 0);
  seen_.set_not_watched("nothing is watched");
  EXPECT_EQ(Code(), kWouldNotWork);
}

}  // namespace
}  // namespace addons
