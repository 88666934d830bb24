// What only a real cluster can show of the backend: how connections fail, what
// a hung daemon does, the blocklist, and the raw shape of omaps and watchers.
// What the interfaces promise in general is in the contract suite.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "ceph/errors.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/librados/rados_connection.h"
#include "tests/contract/real_bed.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::Eventually;
using ::addons::testing::IsOk;
using ::addons::testing::RealBed;
using ::addons::testing::ShortTimeouts;
using ::addons::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

// A well-formed key that no cluster knows.
constexpr char kForeignKey[] = "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w==";

class RealTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<Cluster>> Connect(const std::string& site) {
    return cache_.Connect(Bed().Target(site), Bed().User(site));
  }
  /// The pool of `site`. Ends the program when there is none.
  std::unique_ptr<Pool> OpenPool(Access access, const std::string& site = "a") {
    auto cluster = Connect(site).value();
    return cluster->OpenPool(Bed().PoolId(site), "", access).value();
  }
  /// A name that no other test uses.
  static std::string Name(const std::string& what) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    static std::atomic<int> uses = 0;
    return absl::StrCat(what, "-", test->name(), "-", ++uses);
  }
  /// Makes an empty object.
  std::string MakeObject() {
    std::string object = Name("object");
    EXPECT_OK(
        Bed().Run("rados", {"a", "-p", RealBed::kPool, "create", object}));
    return object;
  }
  std::string MakeImage(const std::string& suffix = "") {
    std::string image = Name("image") + suffix;
    EXPECT_OK(Bed().Run("rbd", {"a", "create", "--size", "16M",
                                absl::StrCat(RealBed::kPool, "/", image)}));
    return image;
  }
  std::unique_ptr<Image> OpenReadOnly(const std::string& name,
                                      const std::string& site = "a") {
    return OpenPool(Access::kRead, site)->OpenImageReadOnly(name).value();
  }
  std::unique_ptr<Image> OpenWritable(const std::string& name,
                                      const std::string& site = "a") {
    return OpenPool(Access::kMutate, site)->OpenImage(name).value();
  }

  std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>(RealClock());
  ConnectionCache cache_{ShortTimeouts(), RealClock(), gate_};
};

// --- connecting
// ----------------------------------------------------------------

class RealConnectTest : public RealTest {
 protected:
  /// Fails to connect and returns why; no matter what librados does, neither
  /// the message nor standard error may have the key.
  absl::Status Refusal(const ClusterTarget& target, const CephUser& user) {
    ::testing::internal::CaptureStderr();
    const absl::Status status = cache_.Connect(target, user).status();
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(printed, IsEmpty());
    EXPECT_THAT(std::string(status.message()),
                Not(HasSubstr(user.key.Reveal())));
    return status;
  }
};

TEST_F(RealConnectTest, TellsTheFsid) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  const auto fsid = Bed().Run("ceph", {"a", "fsid"});
  ASSERT_OK(fsid);
  EXPECT_EQ((*cluster)->fsid(), *fsid);
}

TEST_F(RealConnectTest, TakesAKeyWithALineEnd) {
  CephUser user = Bed().User("a");
  user.key = Secret(user.key.Reveal() + "\n");
  EXPECT_OK(cache_.Connect(Bed().Target("a"), user));
}

TEST_F(RealConnectTest, NamesUserAndClusterWhenTheKeyIsWrong) {
  EXPECT_THAT(Refusal(Bed().Target("a"), {"csi-rbd", Secret(kForeignKey)}),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("'csi-rbd'"), HasSubstr("'site-a'"))));
}

TEST_F(RealConnectTest, NamesAnUnknownUser) {
  EXPECT_THAT(
      Refusal(Bed().Target("a"), {"nobody", Secret(kForeignKey)}),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("'nobody'")));
}

TEST_F(RealConnectTest, RefusesAnEmptyUser) {
  EXPECT_THAT(Refusal(Bed().Target("a"), {"", Secret(kForeignKey)}),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(RealConnectTest, NeverShowsAMalformedKey) {
  for (const std::string key :
       {"ThisIsNotAKeyButSecret", "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5",
        "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w==AAAA"}) {
    EXPECT_THAT(Refusal(Bed().Target("a"), {"csi-rbd", Secret(key)}),
                StatusIs(absl::StatusCode::kUnauthenticated,
                         HasSubstr("shape of a cephx key")));
  }
}

TEST_F(RealConnectTest, NamesTheMonitorsWhenNoneListens) {
  // Port 1 (tcpmux) of loopback: nothing listens.
  EXPECT_THAT(
      Refusal({"site-a", {"v2:127.0.0.1:1"}}, Bed().User("a")),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("v2:127.0.0.1:1")));
}

TEST_F(RealConnectTest, FindsTheMonitorThatAnswersAmongOthers) {
  ClusterTarget target = Bed().Target("a");
  target.monitors.insert(target.monitors.begin(), "v2:127.0.0.1:1");
  target.monitors.push_back("no-such-monitor.invalid:6789");
  EXPECT_OK(cache_.Connect(target, Bed().User("a")));
}

TEST_F(RealConnectTest, GivesUpOnAMonitorThatAcceptsAndSaysNothing) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(listener, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, generic, size), 0);
  ASSERT_EQ(listen(listener, 16), 0);
  ASSERT_EQ(getsockname(listener, generic, &size), 0);
  const std::string monitor =
      absl::StrCat("v2:127.0.0.1:", ntohs(address.sin_port));

  const SteadyTime begin = RealClock().Now();
  EXPECT_THAT(Refusal({"site-a", {monitor}}, Bed().User("a")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(monitor)));
  EXPECT_LT(RealClock().Now() - begin, seconds(10));
  close(listener);
}

TEST_F(RealConnectTest, TimesItsCallsByName) {
  ASSERT_OK(Connect("a"));
  std::vector<std::string> calls;
  for (const CallHistogram& histogram : gate_->Snapshot()) {
    calls.push_back(histogram.call);
  }
  EXPECT_THAT(calls, ElementsAre("rados_cluster_fsid", "rados_connect"));
}

// --- pools
// -------------------------------------------------------------------------

class RealPoolTest : public RealTest {};

TEST_F(RealPoolTest, KnowsIdNameAndNamespace) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  const auto pool = (*cluster)->OpenPool(Bed().PoolId("a"), RealBed::kNamespace,
                                         Access::kRead);
  ASSERT_OK(pool);
  EXPECT_EQ((*pool)->id(), Bed().PoolId("a"));
  EXPECT_EQ((*pool)->name(), RealBed::kPool);
  EXPECT_EQ((*pool)->rados_namespace(), RealBed::kNamespace);
}

TEST_F(RealPoolTest, DoesNotFindAnUnknownId) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  for (const int64_t id : {int64_t{4711}, int64_t{-1}}) {
    EXPECT_THAT((*cluster)->OpenPool(id, "", Access::kRead),
                StatusIs(absl::StatusCode::kNotFound,
                         HasSubstr(absl::StrCat("pool with id ", id))));
  }
}

TEST_F(RealPoolTest, FindsAPoolThatWasMadeAfterConnecting) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  ASSERT_OK(Bed().Run("ceph", {"a", "osd", "pool", "create", "late", "1"}));
  const auto dump = Bed().Run("rados", {"a", "lspools"});
  ASSERT_OK(dump);
  for (int64_t id = Bed().PoolId("a") + 1; id < 10; ++id) {
    const auto pool = (*cluster)->OpenPool(id, "", Access::kRead);
    if (pool.ok() && (*pool)->name() == "late") return;
  }
  FAIL() << "not found in " << *dump;
}

// librados alone waits for a new map without a bound.
TEST_F(RealPoolTest, GivesUpOnAnUnknownIdWhenTheMonitorHangs) {
  const auto cluster = Connect("a");
  ASSERT_OK(cluster);
  ASSERT_OK((*cluster)->OpenPool(Bed().PoolId("a"), "", Access::kRead));
  ASSERT_OK(Bed().Run("stop", {"a", "mon"}));
  const SteadyTime begin = RealClock().Now();
  const auto unknown = (*cluster)->OpenPool(4711, "", Access::kRead);
  const auto known = (*cluster)->OpenPool(Bed().PoolId("a"), "", Access::kRead);
  const SteadyDuration took = RealClock().Now() - begin;
  ASSERT_OK(Bed().Run("cont", {"a", "mon"}));
  EXPECT_THAT(unknown, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_OK(known);
  EXPECT_LT(took, seconds(8));
}

// --- omap
// --------------------------------------------------------------------------

class RealOmapTest : public RealTest {
 protected:
  absl::StatusOr<bool> Replace(const std::optional<std::string>& expected,
                               const std::string& desired) {
    return pool_->ReplaceOmapValue(object_, "key", expected, desired);
  }
  std::optional<std::string> Value() {
    const OmapValues values = pool_->ReadOmap(object_, "").value();
    const auto it = values.find("key");
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }

  const std::string object_ = MakeObject();
  std::unique_ptr<Pool> pool_ = OpenPool(Access::kMutate);
};

TEST_F(RealOmapTest, ReadsMoreKeysThanOnePageAndBytesOfAnyKind) {
  constexpr int kKeys = 1300;
  OmapValues written;
  for (int i = 0; i < kKeys; ++i) {
    std::string value = absl::StrCat("value ", i);
    value.push_back('\0');
    value.append("\xff\n\x01", 3);
    const std::string key = absl::StrCat("csi.volume.", i);
    ASSERT_OK(pool_->ReplaceOmapValue(object_, key, std::nullopt, value));
    written[key] = value;
  }
  ASSERT_OK(pool_->ReplaceOmapValue(object_, "other", std::nullopt, "x"));
  const auto read = OpenPool(Access::kRead)->ReadOmap(object_, "csi.volume.");
  ASSERT_OK(read);
  EXPECT_EQ(read->size(), static_cast<size_t>(kKeys));
  EXPECT_EQ(*read, written);
}

TEST_F(RealOmapTest, ReadsAnEmptyOmap) {
  const auto read = pool_->ReadOmap(object_, "");
  ASSERT_OK(read);
  EXPECT_THAT(*read, IsEmpty());
}

TEST_F(RealOmapTest, DoesNotFindAnAbsentObject) {
  EXPECT_THAT(pool_->ReadOmap("absent", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
}

TEST_F(RealOmapTest, SeparatesNamespaces) {
  const auto other = Connect("a").value()->OpenPool(
      Bed().PoolId("a"), RealBed::kNamespace, Access::kRead);
  ASSERT_OK(other);
  EXPECT_THAT((*other)->ReadOmap(object_, ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealOmapTest, SetsAKeyThatIsAbsentAsExpected) {
  EXPECT_THAT(Replace(std::nullopt, "new").value(), true);
  EXPECT_EQ(Value(), "new");
}

TEST_F(RealOmapTest, LeavesAKeyThatShouldBeAbsent) {
  ASSERT_OK(Replace(std::nullopt, "old"));
  EXPECT_THAT(Replace(std::nullopt, "new").value(), false);
  EXPECT_EQ(Value(), "old");
}

TEST_F(RealOmapTest, ReplacesTheExpectedValue) {
  ASSERT_OK(Replace(std::nullopt, "old"));
  EXPECT_THAT(Replace("old", "new").value(), true);
  EXPECT_EQ(Value(), "new");
}

TEST_F(RealOmapTest, LeavesAnotherValue) {
  ASSERT_OK(Replace(std::nullopt, "old"));
  EXPECT_THAT(Replace("other", "new").value(), false);
  EXPECT_EQ(Value(), "old");
}

TEST_F(RealOmapTest, LeavesAnAbsentKeyThatShouldHaveAValue) {
  EXPECT_THAT(Replace("old", "new").value(), false);
  EXPECT_EQ(Value(), std::nullopt);
}

// For the comparison of the OSD these two are the same.
TEST_F(RealOmapTest, TellsAnEmptyValueFromAnAbsentKey) {
  EXPECT_THAT(Replace("", "new").value(), false);
  EXPECT_EQ(Value(), std::nullopt);
  EXPECT_THAT(Replace(std::nullopt, "").value(), true);
  EXPECT_THAT(Replace(std::nullopt, "new").value(), false);
  EXPECT_EQ(Value(), "");
  EXPECT_THAT(Replace("", "new").value(), true);
  EXPECT_EQ(Value(), "new");
}

TEST_F(RealOmapTest, ComparesBinaryValuesInFull) {
  const std::string value("a\0b", 3);
  ASSERT_OK(Replace(std::nullopt, value));
  EXPECT_THAT(Replace("a", "new").value(), false);
  EXPECT_THAT(Replace(value, "new").value(), true);
}

TEST_F(RealOmapTest, NeverCreatesAnObject) {
  for (const std::optional<std::string>& expected :
       {std::optional<std::string>(), std::optional<std::string>(""),
        std::optional<std::string>("old")}) {
    EXPECT_THAT(pool_->ReplaceOmapValue("absent", "key", expected, "new"),
                StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_THAT(pool_->ReadOmap("absent", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealOmapTest, LetsOneOfManyWin) {
  constexpr int kWriters = 8;
  std::atomic<int> won = 0;
  std::vector<std::jthread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      const auto pool = OpenPool(Access::kMutate);
      const auto replaced = pool->ReplaceOmapValue(object_, "key", std::nullopt,
                                                   absl::StrCat("writer ", i));
      EXPECT_OK(replaced);
      if (replaced.ok() && *replaced) ++won;
    });
  }
  writers.clear();
  EXPECT_EQ(won, 1);
}

TEST_F(RealOmapTest, WritesOnlyThroughTheMutationConnection) {
  EXPECT_THAT(OpenPool(Access::kRead)
                  ->ReplaceOmapValue(object_, "key", std::nullopt, "new"),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(Value(), std::nullopt);
}

// --- images
// --------------------------------------------------------------------------

class RealImageTest : public RealTest {};

TEST_F(RealImageTest, DoesNotFindAnUnknownImage) {
  const auto pool = OpenPool(Access::kMutate);
  EXPECT_THAT(pool->OpenImageReadOnly("absent"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("image 'replicapool/absent'")));
  EXPECT_THAT(pool->OpenImage("absent"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->OpenImageByIdReadOnly("deadbeef"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealImageTest, KnowsNameIdAndSize) {
  const std::string name = MakeImage();
  const auto image = OpenReadOnly(name);
  EXPECT_EQ(image->name(), name);
  const auto size = image->Size();
  ASSERT_OK(size);
  EXPECT_EQ(size->bytes, 16U << 20U);
  EXPECT_EQ(size->object_bytes, 4U << 20U);
  EXPECT_EQ(size->objects, 4U);
  const auto id = image->Id();
  ASSERT_OK(id);
  EXPECT_THAT(Bed()
                  .Run("rbd", {"a", "info", "--format", "json",
                               absl::StrCat(RealBed::kPool, "/", name)})
                  .value(),
              HasSubstr(absl::StrCat("\"id\":\"", *id, "\"")));
}

TEST_F(RealImageTest, OpensByIdAndKnowsTheName) {
  const std::string name = MakeImage();
  const std::string id = OpenReadOnly(name)->Id().value();
  const auto image = OpenPool(Access::kRead)->OpenImageByIdReadOnly(id);
  ASSERT_OK(image);
  EXPECT_EQ((*image)->name(), name);
}

TEST_F(RealImageTest, TellsWhenItWasMade) {
  const auto now = std::chrono::system_clock::now();
  const auto created = OpenReadOnly(MakeImage())->CreateTimestamp();
  ASSERT_OK(created);
  const auto age =
      now - std::chrono::system_clock::time_point(seconds(created->seconds));
  EXPECT_LT(std::chrono::abs(age), std::chrono::minutes(5));
  EXPECT_LT(created->nanoseconds, 1'000'000'000);
}

TEST_F(RealImageTest, KeepsMetadata) {
  const auto image = OpenWritable(MakeImage());
  EXPECT_EQ(image->Metadata("csi.key").value(), std::nullopt);
  ASSERT_OK(image->SetMetadata("csi.key", "first"));
  const std::string big(5000, 'x');
  ASSERT_OK(image->SetMetadata("csi.key", big));
  EXPECT_EQ(image->Metadata("csi.key").value(), big);
  ASSERT_OK(image->SetMetadata("csi.key", ""));
  EXPECT_EQ(image->Metadata("csi.key").value(), "");
  ASSERT_OK(image->RemoveMetadata("csi.key"));
  EXPECT_EQ(image->Metadata("csi.key").value(), std::nullopt);
}

TEST_F(RealImageTest, RemovesAbsentMetadata) {
  EXPECT_OK(OpenWritable(MakeImage())->RemoveMetadata("absent"));
}

TEST_F(RealImageTest, ListsMetadataByPrefixOverManyPages) {
  const std::string name = MakeImage();
  const auto image = OpenWritable(name);
  std::map<std::string, std::string> written;
  for (int i = 0; i < 200; ++i) {
    const std::string key = absl::StrCat("csi.", i);
    written[key] = i % 3 == 0 ? "" : std::string(100, 'v');
    ASSERT_OK(image->SetMetadata(key, written[key]));
  }
  ASSERT_OK(image->SetMetadata(".rbd.image.creation_time", "now"));
  EXPECT_EQ(OpenReadOnly(name)->ListMetadata("csi.").value(), written);
  EXPECT_THAT(OpenReadOnly(name)->ListMetadata(".rbd").value(),
              ElementsAre(Pair(".rbd.image.creation_time", "now")));
  EXPECT_THAT(OpenReadOnly(name)->ListMetadata("none").value(), IsEmpty());
  EXPECT_THAT(OpenReadOnly(name)->ListMetadata("").value(), SizeIs(201));
}

TEST_F(RealImageTest, NamesTheOwnerOfTheLock) {
  const std::string name = MakeImage();
  EXPECT_THAT(OpenReadOnly(name)->Lockers().value(), IsEmpty());
  const auto image = OpenWritable(name);
  ASSERT_OK(image->SetMetadata("key", "value"));  // takes the lock
  const auto lockers = OpenReadOnly(name)->Lockers();
  ASSERT_OK(lockers);
  ASSERT_THAT(*lockers, SizeIs(1));
  const std::vector<uint64_t> own = Connect("a").value()->OwnClientIds();
  EXPECT_THAT(own, Contains(::testing::ResultOf(
                       [](uint64_t id) { return absl::StrCat("client.", id); },
                       lockers->front().client)));
  EXPECT_THAT(lockers->front().cookie, HasSubstr("auto"));
  EXPECT_THAT(lockers->front().address, HasSubstr("127.0.0.1:0/"));
}

TEST_F(RealImageTest, IsWatchedByItsWriterOnly) {
  const std::string name = MakeImage();
  const auto reader = OpenReadOnly(name);
  EXPECT_THAT(reader->Watchers().value(), IsEmpty());
  const auto writer = OpenWritable(name);
  const auto watchers = reader->Watchers();
  ASSERT_OK(watchers);
  ASSERT_THAT(*watchers, SizeIs(1));
  EXPECT_THAT(Connect("a").value()->OwnClientIds(),
              Contains(watchers->front().client_id));
}

TEST_F(RealImageTest, HasNoParent) {
  EXPECT_EQ(OpenReadOnly(MakeImage())->Parent().value().has_value(), false);
}

class RealCloneTest : public RealTest {
 protected:
  RealCloneTest() {
    parent_ = MakeImage();
    clone_ = parent_ + "-clone";
    const std::string spec = absl::StrCat(RealBed::kPool, "/", parent_);
    EXPECT_OK(Bed().Run(
        "rbd", {"a", "bench", "--io-type", "write", "--io-size", "4096",
                "--io-total", "16M", "--io-pattern", "seq", spec}));
    EXPECT_OK(Bed().Run("rbd", {"a", "snap", "create", spec + "@s"}));
    EXPECT_OK(Bed().Run(
        "rbd", {"a", "clone", "--rbd-default-clone-format", "2", spec + "@s",
                absl::StrCat(RealBed::kPool, "/", clone_)}));
  }
  std::string parent_;
  std::string clone_;
};

TEST_F(RealCloneTest, NamesItsParent) {
  const auto parent = OpenReadOnly(clone_)->Parent();
  ASSERT_OK(parent);
  ASSERT_TRUE(parent->has_value());
  EXPECT_EQ((*parent)->pool_id, Bed().PoolId("a"));
  EXPECT_EQ((*parent)->pool_name, RealBed::kPool);
  EXPECT_EQ((*parent)->rados_namespace, "");
  EXPECT_EQ((*parent)->image_name, parent_);
  EXPECT_EQ((*parent)->image_id, OpenReadOnly(parent_)->Id().value());
  EXPECT_FALSE((*parent)->in_trash);
}

TEST_F(RealCloneTest, SeesAParentInTheTrash) {
  ASSERT_OK(Bed().Run(
      "rbd", {"a", "trash", "mv", absl::StrCat(RealBed::kPool, "/", parent_)}));
  const auto parent = OpenReadOnly(clone_)->Parent();
  ASSERT_OK(parent);
  ASSERT_TRUE(parent->has_value());
  EXPECT_TRUE((*parent)->in_trash);
}

TEST_F(RealCloneTest, LosesItsParentWhenFlattened) {
  uint64_t total_seen = 0;
  ASSERT_OK(OpenWritable(clone_)->Flatten([&](uint64_t, uint64_t total) {
    total_seen = total;
    return true;
  }));
  EXPECT_EQ(total_seen, 4U);
  EXPECT_FALSE(OpenReadOnly(clone_)->Parent().value().has_value());
}

TEST_F(RealCloneTest, StopsFlatteningWhenTold) {
  EXPECT_EQ(CephErrno(OpenWritable(clone_)->Flatten(
                [](uint64_t, uint64_t) { return false; })),
            ECANCELED);
  EXPECT_TRUE(OpenReadOnly(clone_)->Parent().value().has_value());
}

TEST_F(RealImageTest, IsNotMirroredByItself) {
  const std::string name = MakeImage();
  const auto image = OpenReadOnly(name);
  const auto info = image->MirrorInfo();
  ASSERT_OK(info);
  EXPECT_EQ(info->state, MirrorImageState::kDisabled);
  EXPECT_FALSE(info->primary);
  EXPECT_THAT(image->MirrorStatus().value(), IsEmpty());
  EXPECT_THAT(image->MirrorSnapshots().value(), IsEmpty());
  const auto by_id =
      OpenPool(Access::kRead)->MirrorInfoById(image->Id().value());
  ASSERT_OK(by_id);
  EXPECT_FALSE(by_id->has_value());
}

TEST_F(RealImageTest, RefusesChangesThroughAReadOnlyHandle) {
  const std::string name = MakeImage();
  const auto image = OpenPool(Access::kMutate)->OpenImageReadOnly(name).value();
  for (const absl::Status& status :
       {image->SetMetadata("k", "v"), image->RemoveMetadata("k"),
        image->MirrorEnable(MirrorMode::kSnapshot),
        image->MirrorDisable(Force::kYes), image->MirrorPromote(Force::kYes),
        image->MirrorDemote(), image->CreateMirrorSnapshot().status(),
        image->Flatten(nullptr)}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                 HasSubstr("open read-only")));
  }
}

TEST_F(RealImageTest, OpensForWritingOnlyOnTheMutationConnection) {
  EXPECT_THAT(OpenPool(Access::kRead)->OpenImage(MakeImage()),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(RealImageTest, ClosesOnceAndForAll) {
  const std::string name = MakeImage();
  const auto image = OpenWritable(name);
  EXPECT_OK(image->Close());
  EXPECT_OK(image->Close());
  EXPECT_THAT(OpenReadOnly(name)->Watchers().value(), IsEmpty());
}

// --- mirroring
// --------------------------------------------------------------------

class RealMirrorTest : public RealTest {
 protected:
  std::vector<MirrorSnapshot> Snapshots(const std::string& site) {
    const auto image = OpenPool(Access::kRead, site)->OpenImageReadOnly(name_);
    if (!image.ok()) return {};
    return (*image)->MirrorSnapshots().value_or(std::vector<MirrorSnapshot>());
  }
  /// Waits until the newest mirror snapshot of `site` is complete and of
  /// `kind`.
  bool Reaches(const std::string& site, MirrorSnapshotKind kind) {
    return Eventually([&] {
      const auto snapshots = Snapshots(site);
      return !snapshots.empty() && snapshots.back().kind == kind &&
             snapshots.back().complete;
    });
  }
  void EnableAndSync() {
    ASSERT_OK(OpenWritable(name_)->MirrorEnable(MirrorMode::kSnapshot));
    ASSERT_TRUE(Reaches("b", MirrorSnapshotKind::kNonPrimary));
  }

  const std::string name_ = MakeImage();
};

TEST_F(RealMirrorTest, KnowsPoolModePeerAndUuids) {
  for (const std::string site : {"a", "b"}) {
    const std::string other = site == "a" ? "b" : "a";
    const auto pool = OpenPool(Access::kRead, site);
    EXPECT_EQ(pool->MirrorMode().value(), PoolMirrorMode::kImage);
    const auto in_namespace = Connect(site).value()->OpenPool(
        Bed().PoolId(site), RealBed::kNamespace, Access::kRead);
    ASSERT_OK(in_namespace);
    for (Pool* const each : {pool.get(), in_namespace->get()}) {
      const auto peers = each->MirrorPeers();
      ASSERT_OK(peers);
      ASSERT_THAT(*peers, SizeIs(1));
      EXPECT_EQ(peers->front().site_name, "site-" + other);
      EXPECT_TRUE(peers->front().receives);
      EXPECT_THAT(peers->front().uuid, Not(IsEmpty()));
      EXPECT_EQ(peers->front().mirror_uuid,
                OpenPool(Access::kRead, other)->MirrorUuid().value());
    }
  }
}

TEST_F(RealMirrorTest, IsDisabledInAPoolWithoutMirroring) {
  ASSERT_OK(Bed().Run("ceph", {"a", "osd", "pool", "create", "plain", "1"}));
  const auto cluster = Connect("a").value();
  std::unique_ptr<Pool> plain;
  for (int64_t id = Bed().PoolId("a") + 1; id < 10 && !plain; ++id) {
    auto pool = cluster->OpenPool(id, "", Access::kRead);
    if (pool.ok() && (*pool)->name() == "plain") plain = *std::move(pool);
  }
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->MirrorMode().value(), PoolMirrorMode::kDisabled);
  EXPECT_THAT(plain->MirrorPeers().value(), IsEmpty());
  EXPECT_THAT(plain->MirrorUuid(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(plain->MirrorInfoById("123").value().has_value());
  EXPECT_THAT(plain->ListWatchers("rbd_mirroring"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RealMirrorTest, ShowsBothSitesOfAnImage) {
  EnableAndSync();
  const std::string uuid_a = OpenPool(Access::kRead)->MirrorUuid().value();

  const auto info_a = OpenReadOnly(name_, "a")->MirrorInfo().value();
  const auto info_b = OpenReadOnly(name_, "b")->MirrorInfo().value();
  EXPECT_EQ(info_a.state, MirrorImageState::kEnabled);
  EXPECT_EQ(info_b.state, MirrorImageState::kEnabled);
  EXPECT_EQ(info_a.mode, MirrorMode::kSnapshot);
  EXPECT_TRUE(info_a.primary);
  EXPECT_FALSE(info_b.primary);
  EXPECT_THAT(info_a.global_id, Not(IsEmpty()));
  EXPECT_EQ(info_a.global_id, info_b.global_id);

  const std::vector<MirrorSnapshot> on_a = Snapshots("a");
  ASSERT_THAT(on_a, Not(IsEmpty()));
  EXPECT_EQ(on_a.back().kind, MirrorSnapshotKind::kPrimary);
  const std::vector<MirrorSnapshot> on_b = Snapshots("b");
  ASSERT_THAT(on_b, Not(IsEmpty()));
  EXPECT_EQ(on_b.back().primary_mirror_uuid, uuid_a);
  EXPECT_THAT(on_a, Contains(Field(&MirrorSnapshot::id,
                                   on_b.back().primary_snapshot_id)));
  EXPECT_LT(
      std::chrono::abs(std::chrono::system_clock::now() - on_b.back().created),
      std::chrono::minutes(5));

  // Without opening: neighbours in id order, and an id that is not mirrored.
  for (const std::string site : {"a", "b"}) {
    const std::string id = OpenReadOnly(name_, site)->Id().value();
    const auto pool = OpenPool(Access::kRead, site);
    const auto by_id = pool->MirrorInfoById(id).value();
    ASSERT_TRUE(by_id.has_value());
    EXPECT_EQ(by_id->global_id, info_a.global_id);
    EXPECT_EQ(by_id->primary, site == "a");
    EXPECT_EQ(by_id->mode, MirrorMode::kSnapshot);
    EXPECT_FALSE(pool->MirrorInfoById(id + "0").value().has_value());
    EXPECT_FALSE(
        pool->MirrorInfoById(id.substr(0, id.size() - 1)).value().has_value());
  }

  // Each daemon writes its status within its interval; the local one is first.
  std::vector<SiteStatus> status;
  EXPECT_TRUE(Eventually([&] {
    status = OpenReadOnly(name_, "b")->MirrorStatus().value();
    return status.size() == 2 &&
           status[0].state == MirrorStatusState::kReplaying &&
           status[1].state == MirrorStatusState::kStopped;
  }));
  ASSERT_THAT(status, SizeIs(2));
  EXPECT_TRUE(status[0].local());
  EXPECT_TRUE(status[0].up);
  EXPECT_THAT(status[0].description, HasSubstr("replaying, {"));
  EXPECT_GT(status[0].last_update, 0);
  EXPECT_EQ(status[1].mirror_uuid, uuid_a);
  EXPECT_EQ(status[1].description, "local image is primary");
}

TEST_F(RealMirrorTest, ListsTheMirrorDaemonsOfBothSites) {
  for (const std::string site : {"a", "b"}) {
    const auto watchers =
        OpenPool(Access::kRead, site)->ListWatchers("rbd_mirroring");
    ASSERT_OK(watchers);
    ASSERT_GE(watchers->size(), 2U);
    for (const Watcher& watcher : *watchers) {
      EXPECT_THAT(watcher.address, HasSubstr("127.0.0.1:0/"));
      EXPECT_GT(watcher.client_id, 0U);
    }
  }
}

TEST_F(RealMirrorTest, MovesToTheOtherSite) {
  EnableAndSync();
  // The peer is primary: busy, whatever the reason, is not a precondition.
  const absl::Status early =
      OpenWritable(name_, "b")->MirrorPromote(Force::kNo);
  EXPECT_THAT(early, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(CephErrno(early), EBUSY);

  ASSERT_OK(OpenWritable(name_)->MirrorDemote());
  EXPECT_TRUE(Reaches("a", MirrorSnapshotKind::kPrimaryDemoted));
  ASSERT_TRUE(Reaches("b", MirrorSnapshotKind::kNonPrimaryDemoted));
  // rbd-mirror holds its lock for a moment longer.
  absl::Status promoted;
  EXPECT_TRUE(Eventually([&] {
    promoted = OpenWritable(name_, "b")->MirrorPromote(Force::kNo);
    return promoted.ok();
  })) << promoted;
  EXPECT_TRUE(OpenReadOnly(name_, "b")->MirrorInfo().value().primary);
  EXPECT_TRUE(Reaches("a", MirrorSnapshotKind::kNonPrimary));
}

TEST_F(RealMirrorTest, TakesSnapshotsOnThePrimaryOnly) {
  EnableAndSync();
  const auto id = OpenWritable(name_)->CreateMirrorSnapshot();
  ASSERT_OK(id);
  EXPECT_THAT(Snapshots("a"), Contains(Field(&MirrorSnapshot::id, *id)));
  EXPECT_EQ(CephErrno(OpenWritable(name_)->MirrorResync()), EINVAL);
  EXPECT_TRUE(Eventually([&] {
    const auto on_b = Snapshots("b");
    return !on_b.empty() && on_b.back().primary_snapshot_id == *id &&
           on_b.back().complete;
  }));
}

TEST_F(RealMirrorTest, RequestsAResyncThroughAReadOnlyHandle) {
  EnableAndSync();
  EXPECT_THAT(OpenReadOnly(name_, "b")->MirrorResync(),
              StatusIs(absl::StatusCode::kInternal));  // of a read pool
  const std::string old_id = OpenReadOnly(name_, "b")->Id().value();
  ASSERT_OK(OpenPool(Access::kMutate, "b")
                ->OpenImageReadOnly(name_)
                .value()
                ->MirrorResync());
  EXPECT_TRUE(Eventually([&] {
    const auto image = OpenPool(Access::kRead, "b")->OpenImageReadOnly(name_);
    return image.ok() && (*image)->Id().value_or(old_id) != old_id;
  }));
  EXPECT_TRUE(Reaches("b", MirrorSnapshotKind::kNonPrimary));
}

TEST_F(RealMirrorTest, EndsWithDisable) {
  EnableAndSync();
  ASSERT_OK(OpenWritable(name_)->MirrorDisable(Force::kNo));
  EXPECT_EQ(OpenReadOnly(name_)->MirrorInfo().value().state,
            MirrorImageState::kDisabled);
  EXPECT_TRUE(Eventually([&] {
    return OpenPool(Access::kRead, "b")
               ->OpenImageReadOnly(name_)
               .status()
               .code() == absl::StatusCode::kNotFound;
  }));
}

// --- commands
// ----------------------------------------------------------------------

class RealCommandTest : public RealTest {
 protected:
  std::shared_ptr<Cluster> cluster_ = Connect("a").value();
};

TEST_F(RealCommandTest, ReturnsWhatTheMonitorSays) {
  const auto output = cluster_->MonCommand(
      R"({"prefix": "osd blocklist ls", "format": "json"})");
  ASSERT_OK(output);
  EXPECT_THAT(*output, HasSubstr("[]"));
}

TEST_F(RealCommandTest, TellsWhyTheMonitorRefuses) {
  const absl::Status status =
      cluster_
          ->MonCommand(
              R"({"prefix": "osd blocklist", "blocklistop": "add", "addr": "nonsense"})")
          .status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("monitor command 'osd blocklist'"),
                             HasSubstr("nonsense"))));
  EXPECT_EQ(CephErrno(status), EINVAL);
}

TEST_F(RealCommandTest, KeepsTheConnectionWhenACommandIsNotAllowed) {
  EXPECT_THAT(cluster_->MonCommand(R"({"prefix": "mgr dump"})"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(Connect("a").value(), cluster_);
}

TEST_F(RealCommandTest, ReturnsWhatTheManagerSays) {
  const auto output = cluster_->MgrCommand(R"({"prefix": "rbd task list"})");
  ASSERT_OK(output);
  EXPECT_EQ(*output, "[]");  // without the line end that it sends
}

TEST_F(RealCommandTest, TellsWhyTheManagerRefuses) {
  EXPECT_THAT(cluster_->MgrCommand(R"({"prefix": "no such thing"})"),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("manager command 'no such thing'"),
                             HasSubstr("No handler found"))));
}

// The late answers of several commands must not harm anybody either: librados
// by itself writes them to a stack that is gone.
TEST_F(RealCommandTest, GivesUpOnAManagerThatHangs) {
  const std::string list = R"({"prefix": "rbd task list"})";
  ASSERT_OK(cluster_->MgrCommand(list));
  ASSERT_OK(Bed().Run("stop", {"a", "mgr"}));
  const SteadyTime begin = RealClock().Now();
  const auto output = cluster_->MgrCommand(list);
  const SteadyDuration took = RealClock().Now() - begin;
  const auto again = cluster_->MgrCommand(list);
  ASSERT_OK(Bed().Run("cont", {"a", "mgr"}));
  for (const auto& each : {output, again}) {
    EXPECT_THAT(each, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               HasSubstr("manager command 'rbd task list'")));
    EXPECT_EQ(CephErrno(each.status()), ETIMEDOUT);
  }
  EXPECT_GE(took, seconds(2));
  EXPECT_LT(took, seconds(6));
  EXPECT_OK(cluster_->MgrCommand(list));
}

// --- a cluster that hangs, and one that throws us out
// ------------------------------

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
  const absl::Status opened = pool->OpenImageReadOnly(name).status();
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
  EXPECT_OK(pool->OpenImageReadOnly(name));
}

TEST_F(RealTroubleTest, ReplacesAConnectionThatWasBlocklisted) {
  const std::string name = MakeImage();
  const auto cluster = Connect("a").value();
  auto pool = cluster->OpenPool(Bed().PoolId("a"), "", Access::kMutate).value();
  auto image = pool->OpenImage(name).value();
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
  EXPECT_EQ(CephErrno(pool->OpenImageReadOnly(name).status()),
            kBlocklistedErrno);

  const auto fresh = cluster->OpenPool(Bed().PoolId("a"), "", Access::kMutate);
  ASSERT_OK(fresh);
  const auto reopened = (*fresh)->OpenImage(name);
  ASSERT_OK(reopened);
  EXPECT_OK((*reopened)->SetMetadata("key", "value"));
  EXPECT_THAT(cluster->OwnClientIds(),
              Not(Contains(watchers.front().client_id)));
  // The other connection was not concerned.
  EXPECT_OK(OpenReadOnly(name)->Size());
}

// --- the exclusive lock between two clients
// ----------------------------------------------------------------

/// An image that `ours_` and `theirs_`, two clients, have open.
class RealLockTest : public RealTest {
 protected:
  void Open(const std::string& name) {
    ours_ = OpenWritable(name);
    const auto other = other_cache_.Connect(Bed().Target("a"), Bed().User("a"));
    ASSERT_OK(other);
    pool_ = (*other)->OpenPool(Bed().PoolId("a"), "", Access::kMutate).value();
    theirs_ = pool_->OpenImage(name).value();
  }

  ConnectionCache other_cache_{ShortTimeouts(), RealClock(), gate_};
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Image> ours_;
  std::unique_ptr<Image> theirs_;
};

TEST_F(RealLockTest, MetadataDoesNotTakeTheLockFromAnotherClient) {
  const std::string name = MakeImage();
  Open(name);
  ASSERT_OK(theirs_->SetMetadata("first", "1"));
  ASSERT_OK(ours_->SetMetadata("second", "2"));
  EXPECT_TRUE(theirs_->HoldsLock().value_or(false));
  EXPECT_FALSE(ours_->HoldsLock().value_or(true));
  EXPECT_EQ(OpenReadOnly(name)->Metadata("second")->value_or(""), "2");
}

/// Without help librbd waits in some of such moments until the other client has
/// gone.
TEST_F(RealLockTest, MetadataIsWrittenWhileAnotherClientTakesTheLock) {
  const std::string name = MakeImage();
  SteadyDuration slowest{};
  for (int round = 0; round < 60; ++round) {
    Open(name);
    ASSERT_OK(ours_->SetMetadata("key", "before"));
    std::jthread writer([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        EXPECT_OK(theirs_->Write({{{0, 1}, "y"}}));
      }
    });
    const SteadyTime begin = RealClock().Now();
    ASSERT_OK(round % 2 == 0 ? ours_->RemoveMetadata("key")
                             : ours_->SetMetadata("key", "after"));
    slowest = std::max(slowest, RealClock().Now() - begin);
  }
  EXPECT_LT(slowest, seconds(5));
  EXPECT_EQ(OpenReadOnly(name)->Metadata("key")->value_or(""), "after");
}

TEST_F(RealLockTest, SparsifyEndsSoonAfterAnotherClientTookTheLock) {
  constexpr uint64_t kObjects = 4096;  // about a second of work
  constexpr uint64_t kObjectBytes = 64 << 10;
  const std::string name = Name("image");
  ASSERT_OK(Bed().Run("rbd", {"a", "create", "--size", "256M", "--object-size",
                              "64K", absl::StrCat(RealBed::kPool, "/", name)}));
  Open(name);
  std::vector<ImageData> content;
  for (uint64_t object = 0; object < kObjects; ++object) {
    content.push_back({{object * kObjectBytes, 1}, "x"});
  }
  ASSERT_OK(ours_->Write(content));
  for (int round = 0; round < 12; ++round) {
    ASSERT_OK(ours_->Flush());
    std::atomic<uint64_t> calls = 0;
    auto work = std::async(std::launch::async, [&] {
      return ours_->Sparsify(4096, [&](uint64_t, uint64_t) {
        ++calls;
        return true;  // nobody saw the other one come
      });
    });
    ASSERT_TRUE(Eventually([&] { return calls > 50; }));
    const SteadyTime begin = RealClock().Now();
    ASSERT_OK(theirs_->Write({{{0, 1}, "y"}}));
    ASSERT_EQ(work.wait_for(seconds(30)), std::future_status::ready);
    EXPECT_LT(RealClock().Now() - begin, seconds(5));
    const auto end = work.get();
    ASSERT_OK(end);
    EXPECT_EQ(*end, SparsifyEnd::kLockLost);
    EXPECT_LT(calls, kObjects / 2);
    EXPECT_OK(theirs_->Write({{{0, 1}, "z"}}));
  }
}

TEST_F(RealLockTest, AFlushLeavesALockThatWasTakenExplicitly) {
  Open(MakeImage());
  ASSERT_OK(theirs_->AcquireLock());
  EXPECT_EQ(CephErrno(ours_->Flush()), EROFS);
  EXPECT_TRUE(theirs_->HoldsLock().value_or(false));
  EXPECT_OK(theirs_->Write({{{0, 1}, "z"}}));
}

TEST_F(RealTest, WithoutFastDiffObjectsAreAskedUntilTheTimeIsOver) {
  const std::string name = Name("image");
  ASSERT_OK(
      Bed().Run("rbd", {"a", "create", "--size", "1G", "--image-feature",
                        "layering", absl::StrCat(RealBed::kPool, "/", name)}));
  ASSERT_OK(Bed().Run("rbd", {"a", "bench", "--io-type", "write", "--io-size",
                              "4096", "--io-total", "4096", "--io-threads", "1",
                              absl::StrCat(RealBed::kPool, "/", name)}));
  const auto image = OpenReadOnly(name);
  EXPECT_FALSE(image->Features()->fast_diff);
  EXPECT_EQ(image->UsedBytes(seconds(30)).value(), 4096U);
  EXPECT_EQ(image->UsedBytes(seconds(0)).value(), std::nullopt);
}

}  // namespace
}  // namespace addons
