// Volume groups on a real cluster, through the daemon.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/pool.h"
#include "tests/cluster/two_sites.h"
#include "tests/cluster/volume_group_client.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Ids = std::vector<std::string>;

class GroupTest : public TwoSitesTest {
 protected:
  using Group = GroupReply;

  void TearDown() override {
    TwoSitesTest::TearDown();
    for (const std::string site : {"a", "b"}) Daemon(site).Stop(SIGKILL);
  }

  static Ids MakeVolumes(size_t count) {
    static int made = 0;
    const int first = made;
    made += static_cast<int>(count);
    Ids ids(count);
    RunParallel(count, 3, [&](size_t i) {
      ids[i] = Testbed("volume", {"a", absl::StrCat("pvc-group-", first + i),
                                  "--size", "8M"});
    });
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  static std::string UuidOf(const std::string& id) {
    return id.substr(id.size() - 36);
  }
  static std::string RbdName(const Group& group) {
    return "csi-vol-group-" + UuidOf(group.id);
  }
  static std::string ImageOf(const std::string& volume_id) {
    return "csi-vol-" + UuidOf(volume_id);
  }

  // --- calls; `socket` is that of another daemon of the site
  static Group Create(const std::string& site, const std::string& name,
                      const Ids& volumes, const std::string& socket = "") {
    return Client(site, socket).Create(name, volumes);
  }
  static Group Modify(const std::string& site, const std::string& id,
                      const Ids& volumes, const std::string& socket = "") {
    return Client(site, socket).Modify(id, volumes);
  }
  static Group Get(const std::string& site, const std::string& id) {
    return Client(site, "").Get(id);
  }
  static Group Delete(const std::string& site, const std::string& id) {
    return Client(site, "").Delete(id);
  }
  static GroupListReply List(int32_t max_entries, const std::string& token) {
    GroupListReply reply = Client("a", "").List(max_entries, token);
    EXPECT_THAT(reply.status, HasCode(Code::OK));
    return reply;
  }

  // --- what is in the cluster, from the administrator's commands

  static Ids Lines(const std::string& text) {
    Ids lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
    for (std::string& line : lines) {
      line = std::string(absl::StripAsciiWhitespace(line));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  static Ids JournalKeys(const std::string& site, const Group& group) {
    return Lines(Testbed(
        "rados", {site, "-p", RealBed::kPool, "listomapkeys",
                  absl::StrCat("csi.volume.group.", UuidOf(group.id))}));
  }
  static Ids JournalMembers(const Group& group) {
    Ids members;
    for (const std::string& key : JournalKeys("a", group)) {
      if (absl::StartsWith(key, "0001-")) members.push_back(key);
    }
    return members;
  }
  static Ids Directory() {
    return Lines(Testbed("rados", {"a", "-p", RealBed::kPool, "listomapkeys",
                                   "csi.groups.default"}));
  }
  static Ids RbdGroups(const std::string& site) {
    return Lines(Rbd(site, {"group", "list", RealBed::kPool}));
  }
  static Ids RbdImages(const std::string& site, const Group& group) {
    return Lines(
        Rbd(site, {"group", "image", "list",
                   absl::StrCat(RealBed::kPool, "/", RbdName(group))}));
  }
  static Ids Specs(const Ids& volumes) {
    Ids specs;
    for (const std::string& id : volumes) {
      specs.push_back(absl::StrCat(RealBed::kPool, "/", ImageOf(id)));
    }
    std::sort(specs.begin(), specs.end());
    return specs;
  }
  static void ExpectMembers(const Group& group, const Ids& volumes) {
    EXPECT_THAT(JournalMembers(group), ElementsAreArray(volumes));
    EXPECT_THAT(RbdImages("a", group), ElementsAreArray(Specs(volumes)));
  }
  static void ExpectGone(const Group& group, const std::string& name) {
    EXPECT_THAT(Directory(), Not(Contains("csi.volume.group." + name)));
    EXPECT_THAT(RbdGroups("a"), Not(Contains(RbdName(group))));
    EXPECT_FALSE(Bed()
                     .Run("rados", {"a", "-p", RealBed::kPool, "stat",
                                    "csi.volume.group." + UuidOf(group.id)})
                     .ok());
  }

 private:
  static VolumeGroupClient Client(const std::string& site,
                                  const std::string& socket) {
    return {site, socket.empty() ? Daemon(site).socket() : socket};
  }
};

TEST_F(GroupTest, LivesFromCreateToDelete) {
  const Ids volumes = MakeVolumes(3);
  const Group group = Create("a", "vg-life", {volumes[0], volumes[1]});
  ASSERT_THAT(group.status, HasCode(Code::OK));
  EXPECT_THAT(JournalKeys("a", group),
              ElementsAreArray(
                  {volumes[0], volumes[1], std::string("csi.creationtime"),
                   std::string("csi.groupname"), std::string("csi.volname")}));
  EXPECT_THAT(Directory(), Contains("csi.volume.group.vg-life"));
  ExpectMembers(group, {volumes[0], volumes[1]});

  const Group again = Create("a", "vg-life", {volumes[0]});
  EXPECT_EQ(again.id, group.id);
  EXPECT_THAT(Modify("a", group.id, {volumes[1], volumes[2]}).status,
              HasCode(Code::OK));
  ExpectMembers(group, {volumes[1], volumes[2]});
  EXPECT_THAT(Get("a", group.id).volumes,
              ElementsAreArray({volumes[1], volumes[2]}));
  EXPECT_THAT(Create("a", "vg-other", {volumes[1]}).status,
              HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::FAILED_PRECONDITION));

  EXPECT_THAT(Modify("a", group.id, {}).status, HasCode(Code::OK));
  EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::OK));
  EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::OK));
  EXPECT_THAT(Get("a", group.id).status, HasCode(Code::NOT_FOUND));
  ExpectGone(group, "vg-life");
}

TEST_F(GroupTest, AHundredMembersTakeAboutAsLongAsTheSlowest) {
  const Ids volumes = MakeVolumes(100);
  const Group one = Create("a", "vg-one", {volumes[0]});
  ASSERT_THAT(one.status, HasCode(Code::OK));
  ASSERT_THAT(Modify("a", one.id, {}).status, HasCode(Code::OK));
  ASSERT_THAT(Delete("a", one.id).status, HasCode(Code::OK));

  const Group group = Create("a", "vg-hundred", volumes);
  ASSERT_THAT(group.status, HasCode(Code::OK));
  EXPECT_EQ(group.volumes, volumes);
  ExpectMembers(group, volumes);
  const Group unchanged = Modify("a", group.id, volumes);
  EXPECT_THAT(unchanged.status, HasCode(Code::OK));
  const Group got = Get("a", group.id);
  EXPECT_EQ(got.volumes, volumes);
  const Group repeated = Create("a", "vg-hundred", volumes);
  const Ids more = MakeVolumes(1);
  EXPECT_THAT(Create("a", "vg-hundred", more).status,
              HasCode(Code::RESOURCE_EXHAUSTED));
  Ids too_many = volumes;
  too_many.push_back(more[0]);
  EXPECT_THAT(Modify("a", group.id, too_many).status,
              HasCode(Code::RESOURCE_EXHAUSTED));
  const Group emptied = Modify("a", group.id, {});
  EXPECT_THAT(emptied.status, HasCode(Code::OK));
  ExpectMembers(group, {});
  EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::OK));

  for (const auto& [name, measured] :
       std::map<std::string, milliseconds>{{"create_one_ms", one.took},
                                           {"create_hundred_ms", group.took},
                                           {"unchanged_ms", unchanged.took},
                                           {"repeat_ms", repeated.took},
                                           {"get_ms", got.took},
                                           {"empty_ms", emptied.took}}) {
    RecordProperty(name, static_cast<int>(measured.count()));
    std::printf("%s: %lld\n", name.c_str(),
                static_cast<long long>(measured.count()));
  }
  // One after the other they would take a hundred times as long.
  EXPECT_LT(group.took, 50 * one.took);
}

TEST_F(GroupTest, ACrashAtAnyStepIsFinishedByTheSameCall) {
  const Ids volumes = MakeVolumes(3);
  const Ids first = {volumes[0], volumes[1]};
  const Ids second = {volumes[1], volumes[2]};
  int number = 0;
  const auto die = [&](const std::string& fault,
                       const std::function<grpc::Status()>& call) {
    SCOPED_TRACE(fault);
    Restart("a", {{"RBD_ADDONS_FAULTS", fault}});
    EXPECT_THAT(call(), HasCode(Code::UNAVAILABLE));
    EXPECT_TRUE(Daemon("a").WaitForEnd(20)) << "survived";
    Restart("a");
    EXPECT_THAT(call(), HasCode(Code::OK));
  };
  for (const std::string when : {":kill", ":kill-after"}) {
    // The directory is there, so the writes are: name, object, names, members.
    for (const std::string fault :
         {"rados_write_op_operate2#1", "rados_write_op_operate2#2",
          "rados_write_op_operate2#3", "rados_write_op_operate2#4",
          "rbd_group_create", "rbd_group_image_add#1",
          "rbd_group_image_add#2"}) {
      const std::string name = absl::StrCat("vg-crash-", ++number);
      // Makes the directory in the first round.
      ASSERT_THAT(Delete("a", Create("a", "vg-any", {}).id).status,
                  HasCode(Code::OK));
      Group group;
      die(fault + when, [&] {
        group = Create("a", name, first);
        return group.status;
      });
      ExpectMembers(group, first);
      EXPECT_THAT(Directory(), SizeIs(1));
      EXPECT_THAT(RbdGroups("a"), SizeIs(1));
      EXPECT_THAT(Modify("a", group.id, {}).status, HasCode(Code::OK));
      EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::OK));
    }
    for (const std::string fault :
         {"rbd_group_image_add", "rados_write_op_operate2#1",
          "rbd_group_image_remove_by_id", "rados_write_op_operate2#2"}) {
      const Group group =
          Create("a", absl::StrCat("vg-crash-", ++number), first);
      die(fault + when, [&] { return Modify("a", group.id, second).status; });
      ExpectMembers(group, second);
      EXPECT_THAT(Modify("a", group.id, {}).status, HasCode(Code::OK));
      EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::OK));
    }
    for (const std::string fault :
         {"rbd_group_remove", "rados_write_op_operate2#1",
          "rados_write_op_operate2#2"}) {
      const std::string name = absl::StrCat("vg-crash-", ++number);
      const Group group = Create("a", name, {});
      die(fault + when, [&] { return Delete("a", group.id).status; });
      ExpectGone(group, name);
    }
  }
}

// A group that no journal has, as after a failover.
TEST_F(GroupTest, AnAdoptionThatDiesIsFinishedByTheSameCall) {
  const Ids volumes = MakeVolumes(2);
  const std::string place = volumes[0].substr(0, volumes[0].size() - 36);
  Group group;
  group.id = place + "1603eb04-e188-4ec4-a750-bec38d49ac0a";
  EXPECT_THAT(Modify("a", group.id, {}).status, HasCode(Code::NOT_FOUND));
  const std::string missing = place + "00000000-e188-4ec4-a750-bec38d49ac0a";
  const Group refused = Modify("a", group.id, {volumes[0], missing});
  EXPECT_THAT(refused.status, HasCode(Code::NOT_FOUND));
  EXPECT_THAT(refused.status.error_message(), HasSubstr(missing));
  EXPECT_THAT(RbdGroups("a"), Not(Contains(RbdName(group))));
  // Makes the directory.
  ASSERT_THAT(Delete("a", Create("a", "vg-any", {}).id).status,
              HasCode(Code::OK));
  for (const std::string when : {":kill", ":kill-after"}) {
    // The writes are: name, object, its name, and everything else.
    for (const std::string fault :
         {"rados_write_op_operate2#1", "rados_write_op_operate2#2",
          "rados_write_op_operate2#3", "rbd_group_create",
          "rbd_group_image_add#1", "rbd_group_image_add#2",
          "rados_write_op_operate2#4"}) {
      SCOPED_TRACE(fault + when);
      Restart("a", {{"RBD_ADDONS_FAULTS", fault + when}});
      EXPECT_THAT(Modify("a", group.id, volumes).status,
                  HasCode(Code::UNAVAILABLE));
      EXPECT_TRUE(Daemon("a").WaitForEnd(20)) << "survived";
      Restart("a");
      EXPECT_THAT(Get("a", group.id).status,
                  HasCode(fault + when == "rados_write_op_operate2#4:kill-after"
                              ? Code::OK
                              : Code::NOT_FOUND));
      EXPECT_THAT(Modify("a", group.id, volumes).status, HasCode(Code::OK));
      ExpectMembers(group, volumes);
      EXPECT_THAT(
          JournalKeys("a", group),
          ElementsAreArray(
              {volumes[0], volumes[1], std::string("csi.creationtime"),
               std::string("csi.groupname"), std::string("csi.volname")}));
      EXPECT_THAT(Directory(), Contains("csi.volume.group." + RbdName(group)));
      EXPECT_THAT(Modify("a", group.id, {}).status, HasCode(Code::OK));
      EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::OK));
      ExpectGone(group, RbdName(group));
    }
  }
}

TEST_F(GroupTest, TwoDaemonsWorkOnOneGroup) {
  const Ids volumes = MakeVolumes(6);
  DaemonProcess second(Bed().Path("a2.sock"), Bed().Path("a2.log"),
                       {"--controllerserver", "--drivername=rbd.csi.ceph.com",
                        "--config-dir=" + Bed().Path("a/csi-config")});
  ASSERT_TRUE(second.Start()) << second.Log();
  const std::string other = second.socket();
  for (int round = 0; round < 5; ++round) {
    const std::string name = absl::StrCat("vg-two-", round);
    Group one;
    Group two;
    {
      std::jthread thread([&] { two = Create("a", name, volumes, other); });
      one = Create("a", name, volumes);
    }
    // One of them may be told to come again.
    EXPECT_THAT(one.status, AnyOf(HasCode(Code::OK), HasCode(Code::ABORTED)));
    EXPECT_THAT(two.status, AnyOf(HasCode(Code::OK), HasCode(Code::ABORTED)));
    one = Create("a", name, volumes);
    two = Create("a", name, volumes, other);
    ASSERT_THAT(one.status, HasCode(Code::OK));
    EXPECT_EQ(one.id, two.id);
    EXPECT_THAT(RbdGroups("a"), SizeIs(1));
    ExpectMembers(one, volumes);

    const Ids half(volumes.begin(), volumes.begin() + 3);
    {
      std::jthread thread([&] { two = Modify("a", one.id, {}, other); });
      Modify("a", one.id, half);
    }
    EXPECT_THAT(Modify("a", one.id, half).status, HasCode(Code::OK));
    EXPECT_THAT(Modify("a", one.id, half, other).status, HasCode(Code::OK));
    EXPECT_THAT(JournalMembers(one), ElementsAreArray(half));
    EXPECT_THAT(Modify("a", one.id, {}, other).status, HasCode(Code::OK));
    EXPECT_THAT(Delete("a", one.id).status, HasCode(Code::OK));
    ExpectGone(one, name);
  }
  second.Stop(SIGKILL);
}

// Their names all stand in one object.
TEST_F(GroupTest, ManyGroupsAreCreatedAtTheSameTime) {
  constexpr size_t kCallers = 16;
  constexpr size_t kGroups = kCallers * 30;
  std::vector<Group> groups(kGroups);
  RunParallel(kGroups, kCallers, [&](size_t i) {
    groups[i] = Create("a", absl::StrCat("vg-crowd-", i), {});
  });
  for (const Group& group : groups) {
    ASSERT_THAT(group.status, HasCode(Code::OK));
  }
  EXPECT_THAT(Directory(), SizeIs(kGroups));
  RunParallel(kGroups, kCallers, [&](size_t i) {
    EXPECT_THAT(Delete("a", groups[i].id).status, HasCode(Code::OK));
  });
}

TEST_F(GroupTest, BrokenMembersBlockNothing) {
  const Ids volumes = MakeVolumes(4);
  const Group group = Create("a", "vg-broken", volumes);
  ASSERT_THAT(group.status, HasCode(Code::OK));
  // An image in the trash, and a journal entry that is gone.
  const std::string image =
      absl::StrCat(RealBed::kPool, "/", ImageOf(volumes[0]));
  if (!Bed().Run("rbd", {"a", "trash", "mv", image}).ok()) {
    // librbd 20.2 keeps members of a group out of the trash.
    Rbd("a", {"group", "image", "rm",
              absl::StrCat(RealBed::kPool, "/", RbdName(group)), image});
    Rbd("a", {"trash", "mv", image});
  }
  Testbed("rados", {"a", "-p", RealBed::kPool, "rm",
                    "csi.volume." + UuidOf(volumes[1])});
  const Group got = Get("a", group.id);
  EXPECT_THAT(got.status, HasCode(Code::OK));
  EXPECT_EQ(got.volumes, volumes);
  EXPECT_THAT(got.context.at("brokenMembers"),
              ::testing::AllOf(HasSubstr(volumes[0]), HasSubstr(volumes[1])));
  EXPECT_THAT(
      Modify("a", group.id, {volumes[0], volumes[1], volumes[2]}).status,
      HasCode(Code::OK));
  EXPECT_THAT(Modify("a", group.id, {volumes[1], volumes[2]}).status,
              HasCode(Code::OK));
  EXPECT_THAT(JournalMembers(group),
              ElementsAreArray({volumes[1], volumes[2]}));
  // What was left of the first is out of the group, so the trash can be
  // emptied.
  Rbd("a", {"trash", "purge", RealBed::kPool});
  EXPECT_EQ(Rbd("a", {"trash", "list", RealBed::kPool}), "");
  EXPECT_THAT(Modify("a", group.id, {volumes[1]}).status, HasCode(Code::OK));
  EXPECT_THAT(Delete("a", group.id).status, HasCode(Code::OK));
  ExpectGone(group, "vg-broken");
}

TEST_F(GroupTest, AThousandGroupsAreListedPageByPage) {
  ConnectionCache clusters(ConnectionCacheOptions(), RealClock(),
                           std::make_shared<CallGate>(RealClock()));
  const auto cluster = clusters.Connect(Bed().Target("a"), Bed().User("a"));
  ASSERT_OK(cluster);
  const auto put = [&](size_t first, size_t count) {
    RunParallel(count, 8, [&](size_t i) {
      const auto pool =
          (*cluster)->OpenPool(Bed().PoolId("a"), "", Access::kMutate).value();
      const std::string name = absl::StrFormat("vg-%04d", first + i);
      const std::string uuid =
          absl::StrFormat("00000000-0000-4000-8000-%012d", first + i);
      const std::string object = "csi.volume.group." + uuid;
      EXPECT_OK(pool->CreateObject(object));
      EXPECT_OK(pool->SetOmapValues(
          object,
          {{"csi.volname", name}, {"csi.groupname", "csi-vol-group-" + uuid}}));
      EXPECT_OK(pool->SetOmapValues("csi.groups.default",
                                    {{"csi.volume.group." + name, uuid}}));
    });
  };
  ASSERT_THAT(Delete("a", Create("a", "vg-any", {}).id).status,
              HasCode(Code::OK));
  const auto median = [&](const std::string& token) {
    std::vector<milliseconds> times(9);
    for (milliseconds& took : times) took = List(20, token).took;
    std::sort(times.begin(), times.end());
    return times[4];
  };
  put(0, 50);
  const milliseconds few = median("");
  put(50, 950);
  const milliseconds many = median("");

  Ids seen;
  std::string token;
  std::string middle;
  do {
    const GroupListReply page = List(100, token);
    seen.insert(seen.end(), page.ids.begin(), page.ids.end());
    token = page.next_token;
    if (seen.size() == 500) middle = token;
  } while (!token.empty());
  EXPECT_THAT(seen, SizeIs(1000));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  const milliseconds late = median(middle);
  // A page costs what is on it, however many groups there are.
  EXPECT_LT(many, 10 * few + milliseconds(100));
  EXPECT_LT(late, 10 * few + milliseconds(100));
  std::printf(
      "page of 20: of 50 groups %lld ms, of 1000 %lld ms, in the "
      "middle %lld ms\n",
      static_cast<long long>(few.count()), static_cast<long long>(many.count()),
      static_cast<long long>(late.count()));
}

TEST_F(GroupTest, OnThePeerSecondariesStayOutOfTheRbdGroup) {
  const TestVolume volume = MakeReplicatedVolume();
  const Group group = Create("b", "vg-peer", {volume.id_b});
  ASSERT_THAT(group.status, HasCode(Code::OK));
  EXPECT_THAT(JournalKeys("b", group), Contains(volume.id_b));
  EXPECT_THAT(RbdImages("b", group), IsEmpty());
  EXPECT_THAT(Modify("b", group.id, {volume.id_a}).status, HasCode(Code::OK));
  EXPECT_THAT(JournalKeys("b", group), Contains(volume.id_b));
  EXPECT_THAT(Modify("b", group.id, {}).status, HasCode(Code::OK));
  EXPECT_THAT(Delete("b", group.id).status, HasCode(Code::OK));
}

}  // namespace
}  // namespace addons::testing
