// NodeReclaimSpace on real filesystems on a real image:
// filesystem -> loop device -> FUSE -> librbd -> Ceph.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/unique_fd.h"
#include "node/filesystem.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "tests/cluster/daemon_process.h"
#include "tests/cluster/node_volume.h"
#include "tests/cluster/real_bed.h"
#include "tests/integration/command_line.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

const bool kTrimBed = OnBluestore();

namespace fs = std::filesystem;
using grpc::StatusCode;
using std::chrono::seconds;
using ::testing::HasSubstr;
using Request = ::reclaimspace::NodeReclaimSpaceRequest;
using AccessModes = csi::v1::VolumeCapability::AccessMode;

constexpr uint64_t kMiB = uint64_t{1} << 20;
/// What metadata and rounding to objects may keep of the garbage.
constexpr uint64_t kSlack = 24 * kMiB;

struct Answer {
  grpc::Status status;
  ::reclaimspace::NodeReclaimSpaceResponse response;
};

class NodeTrimTest : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    if (!CanMountImages()) return;
    ASSERT_TRUE(EnterOwnMountNamespace());
    daemon_ = std::make_unique<DaemonProcess>(
        Bed().Path("node.sock"), Bed().Path("node.log"),
        std::vector<std::string>{"--nodeserver", "--log-level=trace",
                                 "--image-exports=" + Exports(),
                                 "--config-dir=" + Bed().Path("a/csi-config")});
    ASSERT_TRUE(daemon_->Start()) << daemon_->Log();
  }
  static void TearDownTestSuite() { daemon_.reset(); }

 protected:
  void SetUp() override {
    if (!CanMountImages()) {
      GTEST_SKIP() << "needs root, mounts, /dev/fuse and /dev/loop-control";
    }
    staging_ = Bed().Path(absl::StrCat("staging-", ++counter_, "/globalmount"));
    fs::create_directories(staging_);
  }
  void TearDown() override {
    if (stopped_) Continue();
    if (HasFailure()) std::cerr << daemon_->Log() << std::endl;
  }

  static std::string Exports() { return Bed().Path("exports"); }
  /// Where ceph-csi mounts a volume.
  std::string PlaceOf(const std::string& id) const {
    return staging_ + "/" + id;
  }
  std::unique_ptr<NodeVolume> Staged(const std::string& filesystem) {
    auto volume = std::make_unique<NodeVolume>(Exports(), filesystem);
    EXPECT_TRUE(volume->ok() && volume->Mount(PlaceOf(volume->id())));
    return volume;
  }

  Request Ask(const std::string& id) const {
    Request request;
    request.set_volume_id(id);
    request.set_staging_target_path(staging_);
    request.mutable_volume_capability()->mutable_mount();
    request.mutable_volume_capability()->mutable_access_mode()->set_mode(
        AccessModes::SINGLE_NODE_MULTI_WRITER);
    return request;
  }
  Request AskWithSecret(const std::string& id) const {
    Request request = Ask(id);
    const CephUserRef user = Bed().User("a");
    (*request.mutable_secrets())["userID"] = user->id;
    (*request.mutable_secrets())["userKey"] = user->key.Reveal();
    return request;
  }
  static Answer Call(const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(90));
    Answer answer;
    answer.status = ::reclaimspace::ReclaimSpaceNode::NewStub(
                        grpc::CreateChannel("unix:" + daemon_->socket(),
                                            grpc::InsecureChannelCredentials()))
                        ->NodeReclaimSpace(&context, request, &answer.response);
    return answer;
  }
  static std::future<Answer> CallLater(const Request& request) {
    return std::async(std::launch::async, [request] { return Call(request); });
  }
  static void ExpectRefused(const Request& request, StatusCode code,
                            const std::string& message) {
    const Answer answer = Call(request);
    EXPECT_EQ(answer.status.error_code(), code)
        << answer.status.error_message();
    EXPECT_THAT(answer.status.error_message(), HasSubstr(message));
  }

  /// Ceph stands still, and with it every trim that has something to free.
  void Stop() {
    stopped_ = true;
    ASSERT_TRUE(Bed().Run("stop", {"a", "osd"}).ok());
  }
  void Continue() {
    stopped_ = false;
    EXPECT_TRUE(Bed().Run("cont", {"a", "osd"}).ok());
  }
  /// How many threads of a process are inside the trimming call.
  static int TrimsInside(pid_t pid) {
    const std::string mark =
        absl::StrCat("0x", absl::Hex(static_cast<uint32_t>(FITRIM)));
    int inside = 0;
    std::error_code gone;
    for (const auto& task :
         fs::directory_iterator(absl::StrCat("/proc/", pid, "/task"), gone)) {
      std::string line;
      std::getline(std::ifstream(task.path() / "syscall"), line);
      if (absl::StartsWith(line, absl::StrCat(SYS_ioctl, " ")) &&
          absl::StrContains(line, mark)) {
        ++inside;
      }
    }
    return inside;
  }
  /// How many requests have come in since the daemon's first start.
  static size_t RequestsLogged() {
    const std::vector<std::string> parts = absl::StrSplit(
        daemon_->Log(), "request method=reclaimspace.ReclaimSpaceNode/");
    return parts.size() - 1;
  }
  /// The log's line of the last trim of this volume.
  static std::string LoggedTrim(const std::string& id) {
    const std::string log = daemon_->Log();
    const size_t at = log.rfind(absl::StrCat("trimmed volume=", id));
    return at == std::string::npos ? ""
                                   : log.substr(at, log.find('\n', at) - at);
  }
  static bool AwaitTrimsInside(pid_t pid, int count) {
    return Eventually([=] { return TrimsInside(pid) == count; }, seconds(30));
  }

  static std::unique_ptr<DaemonProcess> daemon_;
  static int counter_;
  std::string staging_;
  bool stopped_ = false;
};

std::unique_ptr<DaemonProcess> NodeTrimTest::daemon_;
int NodeTrimTest::counter_ = 0;

class FilesystemTrimTest : public NodeTrimTest,
                           public ::testing::WithParamInterface<const char*> {};

TEST_P(FilesystemTrimTest, GivesDeletedSpaceBackToThePool) {
  const auto volume = Staged(GetParam());
  volume->LeaveGarbage(96);
  const uint64_t before = volume->UsedBytes();
  ASSERT_GE(before, 96 * kMiB);

  const Answer answer = Call(AskWithSecret(volume->id()));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  const uint64_t after = volume->UsedBytes();
  EXPECT_LE(after, before - 96 * kMiB + kSlack);
  // The answer has what the pool has. (The filesystem may write between its
  // look and ours.)
  EXPECT_NEAR(static_cast<double>(answer.response.pre_usage().usage_bytes()),
              static_cast<double>(before), 16.0 * kMiB);
  EXPECT_NEAR(static_cast<double>(answer.response.post_usage().usage_bytes()),
              static_cast<double>(after), 16.0 * kMiB);

  // A second one frees nothing, whatever the filesystem asks for.
  const Answer again = Call(AskWithSecret(volume->id()));
  ASSERT_TRUE(again.status.ok()) << again.status.error_message();
  EXPECT_NEAR(static_cast<double>(again.response.pre_usage().usage_bytes()),
              static_cast<double>(again.response.post_usage().usage_bytes()),
              4.0 * kMiB);
  std::cout << GetParam() << ": used by the image " << before / kMiB
            << " MiB before, " << after / kMiB << " MiB after; reported "
            << answer.response.pre_usage().usage_bytes() / kMiB << " and "
            << answer.response.post_usage().usage_bytes() / kMiB << " MiB\n";
}

TEST_P(FilesystemTrimTest, KeepsTheData) {
  const auto volume = Staged(GetParam());
  const std::string file = PlaceOf(volume->id()) + "/kept";
  const std::string text(8 * kMiB, 'k');
  std::ofstream(file) << text;
  volume->LeaveGarbage(32);
  ASSERT_TRUE(Call(Ask(volume->id())).status.ok());
  // Read from the image, not from the page cache.
  std::ofstream("/proc/sys/vm/drop_caches") << 1;
  std::ifstream in(file);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(in), {}) == text);
}

INSTANTIATE_TEST_SUITE_P(Filesystems, FilesystemTrimTest,
                         ::testing::Values("ext4", "xfs"));

TEST_F(NodeTrimTest, RefusesADirectoryThatNothingIsMountedOn) {
  const NodeVolume volume(Exports(), "ext4");
  fs::create_directories(PlaceOf(volume.id()));
  ExpectRefused(Ask(volume.id()), StatusCode::FAILED_PRECONDITION,
                "no filesystem is mounted exactly there");
  ExpectRefused(AskWithSecret(volume.id()), StatusCode::FAILED_PRECONDITION,
                "no filesystem is mounted exactly there");
}

TEST_F(NodeTrimTest, RefusesADirectoryThatIsMissing) {
  const NodeVolume volume(Exports(), "ext4");
  ExpectRefused(Ask(volume.id()), StatusCode::FAILED_PRECONDITION,
                "No such file");
}

TEST_F(NodeTrimTest, RefusesAnotherVolumeInItsPlace) {
  const NodeVolume wanted(Exports(), "ext4");
  NodeVolume other(Exports(), "ext4");
  ASSERT_TRUE(other.Mount(PlaceOf(wanted.id())));
  other.LeaveGarbage(32);
  const uint64_t before = other.UsedBytes();
  ExpectRefused(Ask(wanted.id()), StatusCode::FAILED_PRECONDITION,
                other.image());
  ExpectRefused(AskWithSecret(wanted.id()), StatusCode::FAILED_PRECONDITION,
                other.image());
  EXPECT_EQ(other.UsedBytes(), before);
}

TEST_F(NodeTrimTest, RefusesADiskOfTheNodeInItsPlace) {
  const NodeVolume volume(Exports(), "ext4");
  const std::string place = PlaceOf(volume.id());
  fs::create_directories(place);
  ASSERT_EQ(
      mount(Bed().Path("a").c_str(), place.c_str(), nullptr, MS_BIND, nullptr),
      0);
  ExpectRefused(Ask(volume.id()), StatusCode::FAILED_PRECONDITION,
                "is not the volume");
  umount2(place.c_str(), MNT_DETACH);
}

TEST_F(NodeTrimTest, RefusesALoopDeviceOverAnOrdinaryFile) {
  const NodeVolume volume(Exports(), "ext4");
  const std::string file =
      absl::StrCat(Exports(), "/", RealBed::kPool, "/ordinary");
  std::ofstream(file).close();
  fs::resize_file(file, 64 * kMiB);
  ASSERT_TRUE(RunCommand({"mkfs.ext4", "-q", "-F", file}).ok);
  const std::string place = PlaceOf(volume.id());
  fs::create_directories(place);
  ASSERT_TRUE(RunCommand({"mount", "-o", "loop", file, place}).ok);
  ExpectRefused(Ask(volume.id()), StatusCode::FAILED_PRECONDITION,
                "ordinary file");
  umount2(place.c_str(), MNT_DETACH);
}

TEST_F(NodeTrimTest, RefusesATmpfsInItsPlace) {
  const NodeVolume volume(Exports(), "ext4");
  const std::string place = PlaceOf(volume.id());
  fs::create_directories(place);
  ASSERT_EQ(mount("none", place.c_str(), "tmpfs", 0, nullptr), 0);
  ExpectRefused(Ask(volume.id()), StatusCode::FAILED_PRECONDITION, "tmpfs");
  umount2(place.c_str(), MNT_DETACH);
}

TEST_F(NodeTrimTest, LeavesAReadOnlyFilesystem) {
  const auto volume = Staged("ext4");
  volume->LeaveGarbage(32);
  const uint64_t before = volume->UsedBytes();
  ASSERT_TRUE(
      RunCommand({"mount", "-o", "remount,ro", PlaceOf(volume->id())}).ok);
  ExpectRefused(Ask(volume->id()), StatusCode::FAILED_PRECONDITION,
                "read-only");
  Request reader = Ask(volume->id());
  reader.mutable_volume_capability()->mutable_access_mode()->set_mode(
      AccessModes::MULTI_NODE_READER_ONLY);
  ExpectRefused(reader, StatusCode::UNIMPLEMENTED, "read-only");
  EXPECT_EQ(volume->UsedBytes(), before);
}

TEST_F(NodeTrimTest, TakesAPathOfFourThousandBytes) {
  NodeVolume volume(Exports(), "ext4");
  std::string deep = staging_;
  const size_t wanted = 4000 - volume.id().size() - 1;
  while (wanted - deep.size() > 202) deep += "/" + std::string(100, 'd');
  deep += "/" + std::string(wanted - deep.size() - 1, 'e');
  staging_ = deep;
  ASSERT_EQ(PlaceOf(volume.id()).size(), 4000U);
  ASSERT_TRUE(volume.Mount(PlaceOf(volume.id())));
  volume.LeaveGarbage(32);
  const uint64_t before = volume.UsedBytes();
  const Answer answer = Call(Ask(volume.id()));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_LE(volume.UsedBytes(), before - 32 * kMiB + kSlack);
}

TEST_F(NodeTrimTest, FollowsLinksToTheStagingPathOnly) {
  const auto volume = Staged("ext4");
  const std::string parent = fs::path(staging_).parent_path();
  fs::create_directory_symlink(parent, parent + "-link");
  Request request = Ask(volume->id());
  request.set_staging_target_path(parent + "-link/globalmount");
  EXPECT_TRUE(Call(request).status.ok());

  // A link in the place of the volume is not followed, even to the volume.
  fs::create_directories(parent + "/other");
  fs::create_directory_symlink(PlaceOf(volume->id()),
                               parent + "/other/" + volume->id());
  request.set_staging_target_path(parent + "/other");
  ExpectRefused(request, StatusCode::FAILED_PRECONDITION, "symbolic link");
  request.set_staging_target_path(staging_ + "/../globalmount");
  ExpectRefused(request, StatusCode::INVALID_ARGUMENT, "'..'");
}

TEST_F(NodeTrimTest, ProvesAStaticVolumeByTheRecord) {
  NodeVolume volume(Exports(), "ext4");
  ASSERT_TRUE(volume.Mount(PlaceOf("my-static-disk")));
  ExpectRefused(Ask("my-static-disk"), StatusCode::FAILED_PRECONDITION,
                "image-meta.json");
  std::ofstream(staging_ + "/image-meta.json")
      << R"({"Version":3,"pool":")" << RealBed::kPool
      << R"(","radosNamespace":"","image":")" << volume.image() << R"("})";
  const Answer answer = Call(Ask("my-static-disk"));
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
}

TEST_F(NodeTrimTest, EndsWhenTheVolumeIsUnmounted) {
  const auto volume = Staged("ext4");
  volume->LeaveGarbage(32);
  Stop();
  auto call = CallLater(Ask(volume->id()));
  ASSERT_TRUE(AwaitTrimsInside(daemon_->pid(), 1));
  ASSERT_EQ(umount2(PlaceOf(volume->id()).c_str(), MNT_DETACH), 0);
  Continue();
  const Answer answer = call.get();
  EXPECT_EQ(answer.status.error_code(), StatusCode::ABORTED);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("unmounted meanwhile"));
}

TEST_F(NodeTrimTest, GivesWayWhenTheLastPodHasGone) {
  const auto volume = Staged("ext4");
  volume->LeaveGarbage(32);
  const std::string pod = staging_ + "/../pod";
  fs::create_directories(pod);
  ASSERT_EQ(mount(PlaceOf(volume->id()).c_str(), pod.c_str(), nullptr, MS_BIND,
                  nullptr),
            0);
  Stop();
  auto call = CallLater(Ask(volume->id()));
  ASSERT_TRUE(AwaitTrimsInside(daemon_->pid(), 1));
  ASSERT_EQ(umount2(pod.c_str(), 0), 0);
  Continue();
  const Answer answer = call.get();
  EXPECT_EQ(answer.status.error_code(), StatusCode::ABORTED);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("no pod"));
  // Kubelet can unmount it now.
  EXPECT_EQ(umount2(PlaceOf(volume->id()).c_str(), 0), 0);
}

TEST_F(NodeTrimTest, ARetryAfterAKillFreesTheSpace) {
  const auto volume = Staged("ext4");
  volume->LeaveGarbage(96);
  const uint64_t before = volume->UsedBytes();
  Stop();
  auto call = CallLater(Ask(volume->id()));
  const pid_t killed = daemon_->pid();
  ASSERT_TRUE(AwaitTrimsInside(killed, 1));
  // It ends when the kernel lets it, so not before Ceph goes on.
  ASSERT_EQ(kill(killed, SIGKILL), 0);
  Continue();
  EXPECT_EQ(call.get().status.error_code(), StatusCode::UNAVAILABLE);
  ASSERT_TRUE(daemon_->WaitForEnd(40));
  ASSERT_TRUE(daemon_->Start()) << daemon_->Log();
  const Answer answer = Call(Ask(volume->id()));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_LE(volume->UsedBytes(), before - 96 * kMiB + kSlack);
}

TEST_F(NodeTrimTest, TwoAtOnce) {
  std::vector<std::unique_ptr<NodeVolume>> volumes;
  for (int i = 0; i < 3; ++i) {
    volumes.push_back(Staged("ext4"));
    volumes.back()->LeaveGarbage(32);
  }
  const size_t logged = RequestsLogged();
  Stop();
  std::vector<std::future<Answer>> calls;
  for (const auto& volume : volumes)
    calls.push_back(CallLater(Ask(volume->id())));
  ASSERT_TRUE(AwaitTrimsInside(daemon_->pid(), 2));
  ASSERT_TRUE(Eventually([&] { return RequestsLogged() == logged + 3; }));
  // The third one stays outside as long as they are inside.
  EXPECT_FALSE(
      Eventually([&] { return TrimsInside(daemon_->pid()) > 2; }, seconds(1)));
  Continue();
  for (auto& call : calls) {
    const Answer answer = call.get();
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
}

TEST_F(NodeTrimTest, WithoutASecretTheImageIsNotMeasured) {
  const auto volume = Staged("ext4");
  const Answer answer = Call(Ask(volume->id()));
  ASSERT_TRUE(answer.status.ok());
  EXPECT_FALSE(answer.response.has_pre_usage());
  EXPECT_THAT(LoggedTrim(volume->id()),
              HasSubstr("image_before=unknown image_after=unknown"));
}

// Images of many storage classes have the feature "layering" only.
TEST_F(NodeTrimTest, AnImageWithoutFastDiffIsMeasuredToo) {
  // ext4 goes on with zeroing its inode tables.
  const auto volume = Staged("xfs");
  ASSERT_TRUE(
      Bed()
          .Run("rbd", {"a", "feature", "disable",
                       absl::StrCat(RealBed::kPool, "/", volume->image()),
                       "fast-diff", "object-map"})
          .ok());
  volume->LeaveGarbage(32);
  const Answer answer = Call(AskWithSecret(volume->id()));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  // By what is written, not by whole objects as `rbd du` counts.
  const int64_t freed = answer.response.pre_usage().usage_bytes() -
                        answer.response.post_usage().usage_bytes();
  EXPECT_NEAR(static_cast<double>(freed), 32.0 * kMiB, 8.0 * kMiB);
}

// The kernel's ext4 refuses FITRIM so (EROFS) although it is writable.
TEST_F(NodeTrimTest, NamesAJournalThatWasNotReplayed) {
  NodeVolume volume(Exports(), "ext4");
  ASSERT_TRUE(volume.ok() && volume.Mount(PlaceOf(volume.id()), "loop,noload"));
  ExpectRefused(Ask(volume.id()), StatusCode::FAILED_PRECONDITION,
                "without a replay of its journal");
}

// What the verb's answer rests on: UNIMPLEMENTED names the device.
TEST_F(NodeTrimTest, TheKernelRefusesExtentsLargerThanABlockGroup) {
  for (const char* filesystem : {"ext4", "xfs"}) {
    const auto volume = Staged(filesystem);
    const UniqueFd fd(open(PlaceOf(volume->id()).c_str(),
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    EXPECT_OK(TrimFilesystem(fd.get(), {0, 1024 * kMiB, 65536})) << filesystem;
    EXPECT_THAT(TrimFilesystem(fd.get(), {0, 1024 * kMiB, 1024 * 1024 * kMiB}),
                StatusIs(absl::StatusCode::kOutOfRange))
        << filesystem;
  }
}

TEST_F(NodeTrimTest, AnAdministratorStopsItAfterItsStep) {
  const auto volume = Staged("ext4");
  volume->LeaveGarbage(32);
  Stop();
  auto call = CallLater(Ask(volume->id()));
  ASSERT_TRUE(AwaitTrimsInside(daemon_->pid(), 1));
  const auto running = ListedOperations(*daemon_);
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].verb(), "trim");
  EXPECT_THAT(running[0].object(), HasSubstr(volume->id()));
  EXPECT_EQ(running[0].total(), 0U);  // the first step is under way
  const CliResult cancelled =
      CancelOperation(*daemon_, running[0].operation_id());
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.out, HasSubstr("was asked to stop"));
  Continue();
  const auto begin = std::chrono::steady_clock::now();
  const Answer answer = call.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_FALSE(answer.response.has_post_usage());
  // The mount is free again, and the next call begins anew.
  EXPECT_EQ(umount2(PlaceOf(volume->id()).c_str(), 0), 0);
  ASSERT_TRUE(volume->Mount(PlaceOf(volume->id())));
  const Answer next = Call(AskWithSecret(volume->id()));
  EXPECT_TRUE(next.status.ok()) << next.status.error_message();
  EXPECT_TRUE(next.response.has_post_usage());
}

}  // namespace
}  // namespace addons::testing
