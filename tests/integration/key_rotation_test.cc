// EncryptionKeyRotate of real LUKS headers on a real image:
// LUKS -> loop device -> FUSE -> librbd -> Ceph. What the daemon leaves is read
// by cryptsetup, and by another implementation of ceph-csi's KMS "metadata".

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "encryptionkeyrotation/encryptionkeyrotation.grpc.pb.h"
#include "tests/cluster/daemon_process.h"
#include "tests/cluster/node_volume.h"
#include "tests/cluster/real_bed.h"
#include "tests/integration/command_line.h"

namespace addons::testing {
namespace {

const bool kKeyRotationBed = OnBluestore();

namespace fs = std::filesystem;
using grpc::StatusCode;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using Request = ::encryptionkeyrotation::EncryptionKeyRotateRequest;

constexpr char kSecret[] = "of the Secret";
constexpr char kFirst[] = "the first passphrase";
constexpr char kKey[] = "rbd.csi.ceph.com/dek";

/// Whether a process has `text` somewhere in what it may write.
bool HasInMemory(pid_t pid, const std::string& text) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  std::ifstream maps(absl::StrCat("/proc/", pid, "/maps"));
  std::ifstream memory(absl::StrCat("/proc/", pid, "/mem"), std::ios::binary);
  std::string line;
  while (std::getline(maps, line)) {
    // "55d0c0a00000-55d0c0a21000 rw-p ..."
    uint64_t begin = 0;
    uint64_t end = 0;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const std::vector<std::string> range = absl::StrSplit(words[0], '-');
    if (range.size() != 2 || !absl::SimpleHexAtoi(range[0], &begin) ||
        !absl::SimpleHexAtoi(range[1], &end) ||
        !absl::StartsWith(words[1], "rw")) {
      continue;
    }
    // In pieces that overlap.
    for (uint64_t at = begin; at < end; at += kPiece) {
      std::string bytes(std::min(end - at, kPiece + text.size()), '\0');
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(at));
      memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      bytes.resize(static_cast<size_t>(memory.gcount()));
      if (bytes.find(text) != std::string::npos) return true;
    }
  }
  return false;
}

class KeyRotationOnNodeTest : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    if (!CanMountImages()) return;
    ASSERT_TRUE(EnterOwnMountNamespace());
    fs::create_directories(Bed().Path("kms"));
    std::ofstream(Bed().Path("kms/config.json"))
        << R"({"kms-1": {"encryptionKMSType": "metadata"}})";
    std::ofstream(Bed().Path("secret")) << kSecret;
    for (auto* const daemon : {&daemon_, &other_}) {
      const std::string name = daemon == &daemon_ ? "node" : "other";
      *daemon = std::make_unique<DaemonProcess>(
          Bed().Path(name + ".sock"), Bed().Path(name + ".log"),
          std::vector<std::string>{
              "--nodeserver", "--key-rotation", "--log-level=debug",
              "--kms-config-dir=" + Bed().Path("kms"),
              "--image-exports=" + Bed().Path("exports"),
              "--config-dir=" + Bed().Path("a/csi-config")});
    }
    ASSERT_TRUE(daemon_->Start()) << daemon_->Log();
  }
  static void TearDownTestSuite() {
    daemon_.reset();
    other_.reset();
  }

 protected:
  void SetUp() override {
    if (!CanMountImages()) {
      GTEST_SKIP() << "needs root, mounts, /dev/fuse and /dev/loop-control";
    }
  }
  void TearDown() override {
    if (HasFailure() && daemon_) std::cerr << daemon_->Log() << std::endl;
  }

  /// A volume that ceph-csi has encrypted and mapped on this node.
  void MakeVolume(const std::vector<std::string>& format) {
    volume_ = std::make_unique<NodeVolume>(Bed().Path("exports"), "", "64M");
    ASSERT_TRUE(volume_->ok());
    device_ = volume_->Map();
    ASSERT_NE(device_, "");
    std::vector<std::string> command = {
        "cryptsetup", "--batch-mode", "luksFormat",
        absl::StrCat("--key-file=", File("first", kFirst)), device_};
    command.insert(command.end(), format.begin(), format.end());
    const CommandResult made = RunCommand(command);
    ASSERT_TRUE(made.ok) << made.output;
    const std::string entry =
        "csi.volume." + volume_->id().substr(volume_->id().size() - 36);
    SetOmap(entry, "csi.volume.encryptKMS", "kms-1");
    SetOmap(entry, "csi.volume.encryptionType", "block");
    SetMetadata("rbd.csi.ceph.com/encrypted", "encrypted");
    SetMetadata(kKey, Python("wrap", kFirst));
  }
  void MakeLuks2() {
    MakeVolume({"--type", "luks2", "--hash", "sha256", "--pbkdf-memory",
                "32768", "--pbkdf-force-iterations", "4"});
  }

  static std::string File(const std::string& name, const std::string& text) {
    std::ofstream(Bed().Path(name)) << text;
    return Bed().Path(name);
  }
  void SetOmap(const std::string& object, const std::string& key,
               const std::string& value) {
    EXPECT_TRUE(Bed()
                    .Run("rados", {"a", "-p", RealBed::kPool, "setomapval",
                                   object, key, value})
                    .ok());
  }
  std::string ImageSpec() const {
    return absl::StrCat(RealBed::kPool, "/", volume_->image());
  }
  void SetMetadata(const std::string& key, const std::string& value) {
    EXPECT_TRUE(
        Bed()
            .Run("rbd", {"a", "image-meta", "set", ImageSpec(), key, value})
            .ok());
  }
  std::string Metadata() {
    const auto value =
        Bed().Run("rbd", {"a", "image-meta", "get", ImageSpec(), kKey});
    EXPECT_TRUE(value.ok()) << value.status();
    return value.value_or("");
  }
  std::string Python(const std::string& action, const std::string& text) {
    const CommandResult result = RunCommand(
        {"python3", ADDONS_PASSPHRASE_READER, action, Bed().Path("secret"),
         volume_->id(), File("python-input", text)});
    EXPECT_TRUE(result.ok) << result.output;
    return result.output;
  }
  /// What the KMS has now, by the other implementation.
  std::string InKms() { return Python("unwrap", Metadata()); }
  /// By cryptsetup.
  bool Opens(const std::string& passphrase) {
    return RunCommand({"cryptsetup", "open", "--test-passphrase",
                       "--key-file=" + File("tried", passphrase), device_})
        .ok;
  }
  std::string VolumeKey(const std::string& passphrase) {
    const std::string file = Bed().Path("volume-key");
    fs::remove(file);
    const CommandResult dumped =
        RunCommand({"cryptsetup", "--batch-mode", "luksDump",
                    "--dump-volume-key", "--volume-key-file=" + file,
                    "--key-file=" + File("tried", passphrase), device_});
    EXPECT_TRUE(dumped.ok) << dumped.output;
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  Request Ask() const {
    Request request;
    request.set_volume_id(volume_->id());
    const CephUserRef user = Bed().User("a");
    auto& secrets = *request.mutable_secrets();
    secrets["userID"] = user->id;
    secrets["userKey"] = user->key.Reveal();
    secrets["encryptionPassphrase"] = kSecret;
    return request;
  }
  static grpc::Status CallAt(const DaemonProcess& daemon,
                             const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(180));
    ::encryptionkeyrotation::EncryptionKeyRotateResponse response;
    return ::encryptionkeyrotation::EncryptionKeyRotationController::NewStub(
               grpc::CreateChannel("unix:" + daemon.socket(),
                                   grpc::InsecureChannelCredentials()))
        ->EncryptionKeyRotate(&context, request, &response);
  }
  grpc::Status Call() const { return CallAt(*daemon_, Ask()); }
  void ExpectRotatedFrom(const std::string& old) {
    const std::string now = InKms();
    EXPECT_EQ(now.size(), 28U);
    EXPECT_NE(now, old);
    EXPECT_TRUE(Opens(now));
    EXPECT_FALSE(Opens(old));
  }
  /// Of ceph-csi.
  std::string LockName() const { return volume_->id() + "-mutexlock"; }

  static std::unique_ptr<DaemonProcess> daemon_;
  static std::unique_ptr<DaemonProcess> other_;
  std::unique_ptr<NodeVolume> volume_;
  std::string device_;
};

std::unique_ptr<DaemonProcess> KeyRotationOnNodeTest::daemon_;
std::unique_ptr<DaemonProcess> KeyRotationOnNodeTest::other_;

TEST_F(KeyRotationOnNodeTest, EachRotationEndsTheKeyBefore) {
  MakeLuks2();
  const std::string volume_key = VolumeKey(kFirst);
  ASSERT_FALSE(volume_key.empty());
  grpc::Status status = Call();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ExpectRotatedFrom(kFirst);
  const std::string second = InKms();
  status = Call();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ExpectRotatedFrom(second);
  EXPECT_FALSE(Opens(kFirst));
  EXPECT_EQ(VolumeKey(InKms()), volume_key);
  for (const std::string& secret :
       {std::string(kFirst), std::string(kSecret), second, InKms()}) {
    EXPECT_THAT(daemon_->Log(), Not(HasSubstr(secret)));
  }
}

// The passphrase of the request's secret is not looked for: gRPC keeps what it
// has read from a socket for as long as it likes.
TEST_F(KeyRotationOnNodeTest, NoPassphraseOfAVolumeStaysInMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has terabytes of shadow memory";
#endif
  MakeLuks2();
  ASSERT_TRUE(Call().ok());
  const std::string second = InKms();
  ASSERT_TRUE(Call().ok());
  EXPECT_TRUE(HasInMemory(daemon_->pid(), volume_->image()));
  // glibc overwrites the first 16 bytes of what is freed.
  for (const std::string& passphrase : {second, InKms()}) {
    ASSERT_EQ(passphrase.size(), 28U);
    EXPECT_FALSE(HasInMemory(daemon_->pid(), passphrase.substr(16)));
  }
}

TEST_F(KeyRotationOnNodeTest, Luks1RotatesAsWell) {
  MakeVolume({"--type", "luks1", "--pbkdf-force-iterations", "1000"});
  const grpc::Status status = Call();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ExpectRotatedFrom(kFirst);
}

TEST_F(KeyRotationOnNodeTest, ASlotOfAPersonStays) {
  MakeVolume({"--type", "luks1", "--pbkdf-force-iterations", "1000"});
  const std::string known = "--key-file=" + File("first", kFirst);
  for (int slot = 1; slot < 8; ++slot) {
    ASSERT_TRUE(RunCommand({"cryptsetup", "--batch-mode", "luksAddKey", known,
                            absl::StrCat("--key-slot=", slot),
                            "--pbkdf-force-iterations=1000", device_,
                            File("more", absl::StrCat("person ", slot))})
                    .ok);
  }
  const grpc::Status status = Call();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ExpectRotatedFrom(kFirst);
  // Slot 1 is the driver's, as ceph-csi has it.
  EXPECT_FALSE(Opens("person 1"));
  for (int slot = 2; slot < 8; ++slot) {
    EXPECT_TRUE(Opens(absl::StrCat("person ", slot))) << slot;
  }
}

TEST_F(KeyRotationOnNodeTest, APersonRotatesAKey) {
  MakeLuks2();
  const CephUserRef user = Bed().User("a");
  const nlohmann::json secrets = {{"userID", user->id},
                                  {"userKey", user->key.Reveal()},
                                  {"encryptionPassphrase", kSecret}};
  const CliResult result =
      RbdAddons(*daemon_, {"rotate-key", volume_->id(), "--secrets-file",
                           File("secrets.json", JsonText(secrets))});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("no earlier one opens it"));
  ExpectRotatedFrom(kFirst);
}

TEST_F(KeyRotationOnNodeTest, NotMappedHereNamesWhoHasIt) {
  MakeLuks2();
  volume_->Unmap();
  const grpc::Status status = Call();
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  // The image is exported still, by a client of this machine.
  EXPECT_THAT(status.error_message(), HasSubstr("elsewhere (client."));
  EXPECT_THAT(status.error_message(), HasSubstr("127.0.0.1"));
  EXPECT_EQ(InKms(), kFirst);
}

// As in a container whose file system is read-only.
TEST_F(KeyRotationOnNodeTest, WithoutAFolderForLocksItSaysWhichOne) {
  MakeLuks2();
  ASSERT_EQ(mount("none", "/run/cryptsetup", "tmpfs", MS_RDONLY, nullptr), 0);
  const grpc::Status status = Call();
  EXPECT_EQ(umount2("/run/cryptsetup", MNT_DETACH), 0);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr("/run/cryptsetup must be a folder"));
  EXPECT_EQ(InKms(), kFirst);
  EXPECT_TRUE(Opens(kFirst));
}

TEST_F(KeyRotationOnNodeTest, TwoDaemonsAtOnceLeaveOneKey) {
  MakeLuks2();
  ASSERT_TRUE(other_->Start()) << other_->Log();
  auto other =
      std::async(std::launch::async, [&] { return CallAt(*other_, Ask()); });
  const grpc::Status one = Call();
  const grpc::Status two = other.get();
  for (const grpc::Status& status : {one, two}) {
    EXPECT_THAT(status.error_code(),
                AnyOf(Eq(StatusCode::OK), Eq(StatusCode::ABORTED)))
        << status.error_message();
  }
  EXPECT_TRUE(one.ok() || two.ok());
  ExpectRotatedFrom(kFirst);
  other_->Stop(SIGTERM);
}

// As ceph-csi takes it on another node.
TEST_F(KeyRotationOnNodeTest, CephCsisLockIsWaitedFor) {
  MakeLuks2();
  ASSERT_TRUE(Bed()
                  .Run("rados", {"a", "-p", RealBed::kPool, "lock", "get",
                                 volume_->id(), LockName(), "--lock-cookie",
                                 volume_->id() + "-enc-key-rotate",
                                 "--lock-duration", "5"})
                  .ok());
  const auto begin = std::chrono::steady_clock::now();
  const grpc::Status status = Call();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, seconds(3));
  ExpectRotatedFrom(kFirst);
}

// The lock of the one that died ends after a minute; here a person breaks it.
TEST_F(KeyRotationOnNodeTest, AfterEachDeathTheNextCallEndsIt) {
  MakeLuks2();
  other_->Stop(SIGTERM);
  int deaths = 0;
  // Before each change of the header the lock is renewed.
  for (const char* const call : {"rados_lock_exclusive", "rbd_metadata_set"}) {
    for (const char* const when : {"kill", "kill-after"}) {
      for (int n = 1;; ++n) {
        SCOPED_TRACE(absl::StrCat(call, "#", n, ":", when));
        const std::string before = InKms();
        ASSERT_TRUE(other_->Start(
            {{"RBD_ADDONS_FAULTS", absl::StrCat(call, "#", n, ":", when)}}))
            << other_->Log();
        grpc::Status status = CallAt(*other_, Ask());
        if (status.ok()) {
          other_->Stop(SIGTERM);
          ExpectRotatedFrom(before);
          break;
        }
        ++deaths;
        ASSERT_TRUE(other_->WaitForEnd(30));
        EXPECT_TRUE(Opens(InKms()));
        (void)Bed().Run("rados",
                        {"a", "-p", RealBed::kPool, "rm", volume_->id()});
        status = Call();
        ASSERT_TRUE(status.ok()) << status.error_message();
        ExpectRotatedFrom(before);
        const auto dump =
            ParseJson(RunCommand({"cryptsetup", "luksDump",
                                  "--dump-json-metadata", device_})
                          .output);
        ASSERT_TRUE(dump.is_object());
        EXPECT_EQ(dump.at("keyslots").size(), 1U);
      }
    }
  }
  // Taken, and renewed for the new slot, the KMS and the old slot; the
  // metadata.
  EXPECT_EQ(deaths, 2 * (4 + 1));
}

/// What is measured wants the machine for itself.
class LongKeyRotationSpeedTest : public KeyRotationOnNodeTest {};

// Three runs of the key derivation each: to unlock, to write, and to try.
TEST_F(LongKeyRotationSpeedTest, ARotationTakesAsLongAsCryptsetups) {
  const std::vector<std::string> derivation = {
      "--pbkdf",        "argon2id", "--pbkdf-force-iterations", "8",
      "--pbkdf-memory", "262144",   "--pbkdf-parallel",         "2"};
  std::vector<std::string> format = {"--type", "luks2", "--hash", "sha256"};
  format.insert(format.end(), derivation.begin(), derivation.end());
  MakeVolume(format);
  using Seconds = std::chrono::duration<double>;
  const auto took = [](const auto& what) {
    const auto begin = std::chrono::steady_clock::now();
    what();
    return Seconds(std::chrono::steady_clock::now() - begin).count();
  };
  double ours = 1e9;
  double theirs = 1e9;
  for (int i = 0; i < 5; ++i) {
    ours = std::min(ours, took([&] {
                      const grpc::Status status = Call();
                      EXPECT_TRUE(status.ok()) << status.error_message();
                    }));
    const std::string now = InKms();
    std::vector<std::string> change = {
        "cryptsetup",    "--batch-mode",
        "luksChangeKey", "--key-file=" + File("now", now),
        device_,         File("next", now + "x")};
    change.insert(change.end(), derivation.begin(), derivation.end());
    theirs = std::min(theirs, took([&] {
                        const CommandResult changed = RunCommand(change);
                        EXPECT_TRUE(changed.ok) << changed.output;
                      }));
    SetMetadata(kKey, Python("wrap", now + "x"));
  }
  std::cout << "rotation " << ours << " s, luksChangeKey " << theirs
            << " s: " << ours / theirs << " times" << std::endl;
  EXPECT_LE(ours, 1.2 * theirs);
}

}  // namespace
}  // namespace addons::testing
