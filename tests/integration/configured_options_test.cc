// The cluster's configuration says to its clients what people really have
// there, for virtual machines or for other clients: the daemon works all the
// same.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fence/fence.grpc.pb.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "tests/integration/command_line.h"
#include "tests/integration/mid_copy.h"

namespace addons::testing {
namespace {

const bool kConfiguredBed = OnBluestore();

using std::chrono::seconds;
using ::testing::HasSubstr;

/// Of all clients, rbd-mirror and this test included.
const std::vector<std::pair<std::string, std::string>> kOfAllClients = {
    {"rbd_blocklist_expire_seconds", "3600"},
    {"rbd_cache", "true"},
    {"rbd_concurrent_management_ops", "20"},
    {"rbd_discard_granularity_bytes", "4096"},
    {"rbd_mirroring_max_mirroring_snapshots", "3"},
    {"rbd_read_from_replica_policy", "balance"},
    {"rbd_skip_partial_discard", "false"},
};

/// Of the user of the CSI driver, because some of them would keep rbd-mirror
/// and the tools of this test from working.
const std::vector<std::pair<std::string, std::string>> kOfTheDaemon = {
    {"client_mount_timeout", "30"},
    {"rados_mon_op_timeout", "30"},
    {"rados_osd_op_timeout", "30"},
    {"rbd_auto_exclusive_lock_until_manual_request", "false"},
    {"rbd_blocklist_on_break_lock", "false"},
    {"rbd_clone_copy_on_read", "true"},
    {"rbd_default_data_pool", "nobodys"},
    {"rbd_default_features", "1"},
    {"rbd_move_to_trash_on_remove", "true"},
    {"rbd_plugins", "pwl_cache_of_hypervisors"},
    {"rbd_qos_bps_limit", "1048576"},
    {"rbd_qos_iops_limit", "50"},
    {"rbd_request_timed_out_seconds", "5"},
};

void Configure(
    const std::string& site,
    const std::function<void(const std::vector<std::string>&)>& ceph) {
  for (const auto& [option, value] : kOfAllClients) {
    ceph({site, "config", "set", "client", option, value});
  }
  for (const auto& [option, value] : kOfTheDaemon) {
    ceph({site, "config", "set", "client.csi-rbd", option, value});
  }
}

/// A program that is killed when this object ends.
class Killed {
 public:
  explicit Killed(std::vector<std::string> command) {
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    EXPECT_EQ(
        posix_spawnp(&pid_, words[0], nullptr, nullptr, words.data(), environ),
        0);
  }
  ~Killed() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Killed(const Killed&) = delete;
  Killed& operator=(const Killed&) = delete;

 private:
  pid_t pid_ = -1;
};

class ConfiguredOptionsTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() {
    TwoSitesTest::SetUpTestSuite();
    for (const std::string site : {"a", "b"}) {
      Configure(site, [](const std::vector<std::string>& arguments) {
        Testbed("ceph", arguments);
      });
    }
  }

 protected:
  template <typename Request>
  static Request WithSecrets() {
    Request request;
    const auto user = Bed().User("a");
    (*request.mutable_secrets())["userID"] = user->id;
    (*request.mutable_secrets())["userKey"] = user->key.Reveal();
    return request;
  }
  static std::shared_ptr<grpc::Channel> Channel() {
    return grpc::CreateChannel("unix:" + Daemon("a").socket(),
                               grpc::InsecureChannelCredentials());
  }
};

TEST_F(ConfiguredOptionsTest, APlannedMoveAndTheWayBack) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "moved");
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  ASSERT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "moved");
  Write("b", volume, "and back");
  ASSERT_THAT(Demote("b", volume), HasCode(Code::OK));
  ASSERT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK));
  EXPECT_EQ(ReadText("a", volume), "and back");
}

TEST_F(ConfiguredOptionsTest, AFence) {
  const auto stub = ::fence::FenceController::NewStub(Channel());
  auto fence = WithSecrets<::fence::FenceClusterNetworkRequest>();
  (*fence.mutable_parameters())["clusterID"] = "site-a";
  fence.add_cidrs()->set_cidr("10.99.0.0/24");
  grpc::ClientContext first;
  ::fence::FenceClusterNetworkResponse fenced;
  EXPECT_THAT(stub->FenceClusterNetwork(&first, fence, &fenced),
              HasCode(Code::OK));
  auto unfence = WithSecrets<::fence::UnfenceClusterNetworkRequest>();
  (*unfence.mutable_parameters())["clusterID"] = "site-a";
  unfence.add_cidrs()->set_cidr("10.99.0.0/24");
  grpc::ClientContext second;
  ::fence::UnfenceClusterNetworkResponse unfenced;
  EXPECT_THAT(stub->UnfenceClusterNetwork(&second, unfence, &unfenced),
              HasCode(Code::OK));
}

TEST_F(ConfiguredOptionsTest, AReclaim) {
  const TestVolume volume = MakeVolume();
  Write("a", volume, std::string(4096, '\0'));
  auto request = WithSecrets<::reclaimspace::ControllerReclaimSpaceRequest>();
  request.set_volume_id(volume.id_a);
  grpc::ClientContext context;
  ::reclaimspace::ControllerReclaimSpaceResponse response;
  EXPECT_THAT(::reclaimspace::ReclaimSpaceController::NewStub(Channel())
                  ->ControllerReclaimSpace(&context, request, &response),
              HasCode(Code::OK));
  EXPECT_LT(response.post_usage().usage_bytes(),
            response.pre_usage().usage_bytes());
}

// The lock of a client that was killed has to be broken.
TEST_F(ConfiguredOptionsTest, ADemotionAfterAClientThatWasKilled) {
  const TestVolume volume = MakeReplicatedVolume();
  const std::string conf = Bed().Path("a/ceph.conf");
  {
    const Killed client({"rbd", "-c", conf, "bench", "--io-type", "write",
                         "--io-size", "4K", "--io-threads", "1", "--io-total",
                         "1G", ImageSpec(volume)});
    ASSERT_TRUE(Eventually(
        [&] {
          return Rbd("a", {"lock", "ls", ImageSpec(volume)}).find("auto") !=
                 std::string::npos;
        },
        seconds(30)));
  }
  grpc::Status demoted;
  EXPECT_TRUE(Eventually(
      [&] {
        demoted = Demote("a", volume);
        return demoted.ok();
      },
      seconds(90)))
      << demoted.error_message();
}

// What others have to do with it is said.
TEST_F(ConfiguredOptionsTest, DoctorNamesWhatCannotBeMendedFromHere) {
  const CliResult result = RbdAddons(
      Daemon("a"),
      {"doctor", "--json", "--secrets-file", Bed().Path("a/secrets.json")});
  EXPECT_THAT(result.out, HasSubstr("rbd_blocklist_expire_seconds is 3600"));
  EXPECT_THAT(result.out, HasSubstr("rbd_blocklist_on_break_lock is false"));
}

TEST_F(ConfiguredOptionsTest, WhoTookALockByHandIsNamed) {
  const TestVolume volume = MakeVolume();
  Rbd("a", {"lock", "add", ImageSpec(volume), "backup"});
  const grpc::Status refused = Enable("a", volume);
  EXPECT_THAT(refused, HasCode(Code::UNAVAILABLE));
  EXPECT_THAT(refused.error_message(), HasSubstr("has its lock 'backup'"));
}

// The last test of the suite.
TEST_F(ConfiguredOptionsTest, ADisaster) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "copied");
  Synchronize("a", volume);
  Stop("a", "all");
  EXPECT_THAT(PromoteRepeatedly("b", volume, seconds(150)).back(),
              HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(ReadText("b", volume), "copied");
}

class ConfiguredOptionsRescueTest : public MidCopyTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy({{"copy", {}}});
    Configure("b", [](const std::vector<std::string>& arguments) {
      Testbed("ceph", arguments);
    });
    // As on any day: it has not been connected since before.
    Restart("b");
    SiteDies();
  }
};

TEST_F(ConfiguredOptionsRescueTest, TheLastWholeStateIsBroughtBack) {
  const Volume& made = volumes_->at("copy");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
  EXPECT_EQ(Rbd("b", {"trash", "ls", "replicapool"}), "");
}

}  // namespace
}  // namespace addons::testing
