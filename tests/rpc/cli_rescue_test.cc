// What becomes of an image that was written to before it had its last complete
// state back, as an administrator sees and decides it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/rescue.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "replication/look/rescue_record.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CliRescueTest : public CliVerbTest {
 protected:
  CliRescueTest() {
    server_.AddMirrored();
    rescue_ = RescueImageName(ImageName(server_.image)).text();
  }
  /// As a promotion leaves it that died, after which somebody wrote.
  void LeaveRescueImage() {
    server_.a.AddImage(MirroredPair::kPool, "", rescue_);
    server_.a.SetImageMetadata(
        rescue_, "rbd-addons.rescue",
        absl::StrCat(R"({"step": "written since", "image_id": ")",
                     server_.a.ImageId(server_.image),
                     R"(", "snapshot_id": 1, "bytes": 4096, )",
                     R"("ranges_generation": 0, "ranges_values": 0})"));
  }
  /// The exit code; `typed` is what the person says.
  int Rescue(const std::vector<std::string>& more,
             const std::string& typed = "") {
    std::vector<std::string> arguments = {"rescue", server_.id};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments), typed);
  }
  std::string Decision() {
    return server_.a.ImageMetadata(rescue_)[kRescueDecision];
  }

  std::string rescue_;
};

TEST_F(CliRescueTest, ShowsThatThereIsNone) {
  server_.Start();
  ASSERT_EQ(Rescue({}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("has no rescue image"));
  EXPECT_EQ(Rescue({"--keep", "--yes"}), 9);
}

// Two that only look at the same time, each for a volume of its own.
TEST_F(CliRescueTest, ShowsThatOfItsOwnVolumeBesideAnother) {
  namespace admin_pb = ::rbdaddons::admin::v1;
  server_.Start();
  const auto show = [this](const std::string& id) {
    admin_pb::DecideRescueRequest request;
    request.set_volume_id(id);
    (*request.mutable_secrets())["userID"] = server_.a.user()->id;
    (*request.mutable_secrets())["userKey"] = server_.a.user()->key.Reveal();
    grpc::ClientContext context;
    admin_pb::DecideRescueResponse shown;
    return admin_pb::Rescues::NewStub(server_.AdminChannel())
        ->DecideRescue(&context, request, &shown);
  };
  server_.Hold("rbd_open_read_only");
  auto one = std::async(std::launch::async, [&] { return show(server_.id); });
  server_.AwaitHeld();
  auto other = std::async(std::launch::async, [&] {
    return show(
        server_.pair.VolumeId(server_.a, ReplicationServer::kGroupUuid));
  });
  server_.AwaitCalls("DecideRescue", 2, "rbdaddons.admin.v1.Rescues");
  server_.Release();
  EXPECT_TRUE(one.get().ok());
  EXPECT_EQ(other.get().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CliRescueTest, ShowsWhatIsToBeDecided) {
  LeaveRescueImage();
  server_.Start();
  ASSERT_EQ(Rescue({}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("step          written since"),
                                HasSubstr("saved state   4096 bytes"),
                                HasSubstr("waits for one"),
                                HasSubstr("rbd-addons rescue replicapool/")));
  EXPECT_EQ(Decision(), "");
}

TEST_F(CliRescueTest, DecidesWhatAPersonConfirms) {
  LeaveRescueImage();
  server_.Start();
  EXPECT_EQ(Rescue({"--restore"}, "no\n"), 64);
  EXPECT_THAT(err_.str(), HasSubstr("is lost"));
  EXPECT_EQ(Decision(), "");
  ASSERT_EQ(Rescue({"--restore"}, "yes\n"), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("decision      restore"));
  EXPECT_EQ(Decision(), kOverwriteWhatWasWritten);
  ASSERT_EQ(Rescue({"--keep", "--yes"}), 0) << err_.str();
  EXPECT_EQ(Decision(), kKeepWhatWasWritten);
  EXPECT_EQ(Rescue({"--keep", "--restore", "--yes"}), 64);
}

}  // namespace
}  // namespace addons::testing
