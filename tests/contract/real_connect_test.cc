// How connections to a real cluster are made, and how they fail.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "ceph/cephx_key.h"
#include "ceph/errors.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/client_environment.h"
#include "ceph/librados/key_support.h"
#include "ceph/librados/rados_connection.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::StatusIs;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A well-formed key that no cluster knows.
constexpr char kForeignKey[] = "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w==";

class RealConnectTest : public RealTest {
 protected:
  /// Fails to connect and returns why; no matter what librados does, neither
  /// the message nor standard error may have the key.
  absl::Status Refusal(const ClusterTarget& target, const CephUserRef& user) {
    ::testing::internal::CaptureStderr();
    const absl::Status status = cache_.Connect(target, user).status();
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(printed, IsEmpty());
    EXPECT_THAT(std::string(status.message()),
                Not(HasSubstr(user->key.Reveal())));
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
  const CephUserRef user = Bed().User("a");
  EXPECT_OK(cache_.Connect(
      Bed().Target("a"),
      MakeCephUser(user->id, Secret(user->key.Reveal() + "\n"))));
}

TEST_F(RealConnectTest, NamesUserAndClusterWhenTheKeyIsWrong) {
  EXPECT_THAT(
      Refusal(Bed().Target("a"), MakeCephUser("csi-rbd", Secret(kForeignKey))),
      StatusIs(absl::StatusCode::kUnauthenticated,
               AllOf(HasSubstr("'csi-rbd'"), HasSubstr("'site-a'"))));
}

TEST_F(RealConnectTest, NamesAnUnknownUser) {
  EXPECT_THAT(
      Refusal(Bed().Target("a"), MakeCephUser("nobody", Secret(kForeignKey))),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("'nobody'")));
}

TEST_F(RealConnectTest, RefusesAnEmptyUser) {
  EXPECT_THAT(Refusal(Bed().Target("a"), MakeCephUser("", Secret(kForeignKey))),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(RealConnectTest, NeverShowsAMalformedKey) {
  for (const std::string key :
       {"ThisIsNotAKeyButSecret", "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5",
        "AQAAAAAAAAAAABAAQqx5/c/ziOZWPQA5TvJz6w==AAAA"}) {
    EXPECT_THAT(
        Refusal(Bed().Target("a"), MakeCephUser("csi-rbd", Secret(key))),
        StatusIs(absl::StatusCode::kUnauthenticated,
                 HasSubstr("not a valid cephx key")));
  }
}

TEST_F(RealConnectTest, SaysWhichLibradosCannotUseAKeyOfType2) {
  // A foreign one: where librados can use the type, the cluster refuses it.
  constexpr char kAes256k[] =
      "AgAAAABlAAAAACAAQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2A=";
  const absl::Status status =
      Refusal(Bed().Target("a"), MakeCephUser("csi-rbd", Secret(kAes256k)));
  const std::string unusable =
      UnusableKeyType(-EINVAL, kCephxAes256k, LibradosVersion());
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnauthenticated,
                               HasSubstr(unusable.empty()
                                             ? "the cluster refuses this user"
                                             : unusable)));
}

TEST_F(RealConnectTest, NamesTheMonitorsWhenNoneListens) {
  // Port 1 (tcpmux) of loopback: nothing listens.
  const absl::Status refused =
      Refusal({ClusterId("site-a"), {"v2:127.0.0.1:1"}}, Bed().User("a"));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kUnavailable,
                                HasSubstr("v2:127.0.0.1:1")));
  // By this the watch knows that nobody has answered.
  EXPECT_EQ(CephErrno(refused), ETIMEDOUT);
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
  EXPECT_THAT(Refusal({ClusterId("site-a"), {monitor}}, Bed().User("a")),
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

// What the cluster's configuration says for its clients holds for others.
TEST_F(RealConnectTest, AGentleChangeIsOfOneObjectAtATime) {
  constexpr char kOption[] = "rbd_concurrent_management_ops";
  ASSERT_OK(Bed().Run("ceph", {"a", "config", "set", "client", kOption, "20"}));
  const ClientEnvironment environment{
      gate_, std::make_shared<HostResolver>(),
      std::make_shared<AbandonableCalls>(),
      ::addons::testing::ShortTimeouts().timeouts};
  for (const auto& [use, value] :
       {std::pair(ConnectionUse::kMutate, "20"),
        std::pair(ConnectionUse::kMutateGently, "1")}) {
    const auto connection = RadosConnection::Connect(
        environment, Bed().Target("a"), *Bed().User("a"), use);
    ASSERT_OK(connection);
    const auto option = (*connection)->Option(kOption);
    ASSERT_OK(option);
    EXPECT_EQ(*option, value);
  }
  EXPECT_OK(Bed().Run("ceph", {"a", "config", "rm", "client", kOption}));

  const auto cluster = Connect("a").value();
  const auto pool =
      cluster->OpenPool(Bed().PoolId("a"), "", Access::kMutateGently);
  ASSERT_OK(pool);
  EXPECT_OK((*pool)->OpenImage(ImageName(MakeImage())));
  EXPECT_EQ(cluster->OwnClientIds().size(), 2U);  // for reading, and this one
}

}  // namespace
}  // namespace addons
