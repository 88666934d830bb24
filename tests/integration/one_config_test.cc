// One config.json for both sites, as GitOps likes it, and one user that both
// clusters know: a stall of this site's cluster never sends a change to the
// other one.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

class OneConfigTest : public TwoSitesTest {
 protected:
  /// A daemon of site a whose files name both sites' clusters.
  void StartWith(const std::vector<std::string>& more_flags) {
    const std::string folder = Bed().Path("both");
    std::filesystem::create_directories(folder);
    json clusters = json::array();
    for (const std::string site : {"a", "b"}) {
      for (const json& entry : Parse(site + "/csi-config/config.json")) {
        clusters.push_back(entry);
      }
    }
    std::ofstream(folder + "/config.json") << clusters.dump();
    std::ofstream(folder + "/cluster-mapping.json")
        << Parse("a/csi-config/cluster-mapping.json").dump();
    // The user of site a is one of site b, too.
    const CephUserRef user = Bed().User("a");
    Testbed("ceph", {"b", "auth", "del", "client.csi-rbd"});
    std::ofstream(folder + "/keyring")
        << "[client." << user->id << "]\n\tkey = " << user->key.Reveal()
        << "\n\tcaps mon = \"profile rbd\"\n\tcaps osd = \"profile rbd\"\n"
        << "\tcaps mgr = \"profile rbd\"\n";
    Testbed("ceph", {"b", "auth", "import", "-i", folder + "/keyring"});

    std::vector<std::string> flags = {
        "--controllerserver", "--drivername=rbd.csi.ceph.com",
        "--settle-time=60s", "--takeover-time=120s", "--config-dir=" + folder};
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    daemon_ = std::make_unique<DaemonProcess>(
        Bed().Path("both.sock"), Bed().Path("both.log"), std::move(flags));
    ASSERT_TRUE(daemon_->Start()) << daemon_->Log();
  }

  grpc::Status DemoteHere(const TestVolume& volume, seconds deadline) const {
    namespace pb = ::replication;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    pb::DemoteVolumeRequest request;
    request.mutable_replication_source()->mutable_volume()->set_volume_id(
        volume.id_a);
    const CephUserRef user = Bed().User("a");
    (*request.mutable_secrets())["userID"] = user->id;
    (*request.mutable_secrets())["userKey"] = user->key.Reveal();
    pb::DemoteVolumeResponse response;
    return pb::Controller::NewStub(
               grpc::CreateChannel("unix:" + daemon_->socket(),
                                   grpc::InsecureChannelCredentials()))
        ->DemoteVolume(&context, request, &response);
  }

  /// The monitor is silent for a few seconds of a demote, and comes back.
  void MeetsAStall() {
    const TestVolume volume = MakeReplicatedVolume();
    Synchronize("a", volume);
    const std::string peer = Picture(volume);
    Stop("a", "mon");
    const grpc::Status stalled = DemoteHere(volume, seconds(8));
    EXPECT_THAT(stalled, HasCode(Code::UNAVAILABLE));
    EXPECT_THAT(stalled.error_message(), HasSubstr("site-a"));
    Continue("a", "mon");
    EXPECT_TRUE(IsPrimary("a", volume));
    EXPECT_EQ(Picture(volume), peer);
    EXPECT_TRUE(Eventually([&] { return DemoteHere(volume, seconds(30)).ok(); },
                           seconds(90)));
    EXPECT_FALSE(IsPrimary("a", volume));
  }

 private:
  static json Parse(const std::string& name) {
    std::ifstream file(Bed().Path(name));
    return ParseJson(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  /// What a verb could have changed on the other site.
  static std::string Picture(const TestVolume& volume) {
    const SeenSnapshot newest = NewestSnapshot("b", volume);
    return absl::StrCat(ImageId("b", volume), " ", MirrorState("b", volume),
                        " ", IsPrimary("b", volume), " ", newest.id, " ",
                        newest.demoted, "\n",
                        Rbd("b", {"image-meta", "list", ImageSpec(volume)}));
  }

  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(OneConfigTest, AStallIsUnavailableWithSiteClusters) {
  StartWith({"--site-clusters=site-a,site-a-ns"});
  MeetsAStall();
}

TEST_F(OneConfigTest, AStallIsUnavailableWithoutThem) {
  StartWith({});
  MeetsAStall();
}

}  // namespace
}  // namespace addons::testing
