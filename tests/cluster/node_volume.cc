#include "tests/cluster/node_volume.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/cluster/privileges.h"
#include "tests/cluster/real_bed.h"

namespace addons::testing {
namespace {

/// Starts a program that ends with this one; its output goes to `output`.
pid_t Spawn(std::vector<std::string> arguments, int output) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(argv[0], argv.data());
    perror(argv[0]);
    _exit(127);
  }
  return pid;
}

uint64_t SizeOf(const std::string& file) {
  struct stat info {};
  return stat(file.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size)
                                        : 0;
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t pid = Spawn(arguments, ends[1]);
  close(ends[1]);
  CommandResult result;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0;
       (size = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    result.output.append(buffer.data(), static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = -1;
  waitpid(pid, &status, 0);
  result.ok = status == 0;
  return result;
}

bool EnterOwnMountNamespace() {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool CanMountImages() {
  return geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0 &&
         access("/dev/loop-control", R_OK | W_OK) == 0 &&
         CanMakeNamespaces(CLONE_NEWNS);
}

NodeVolume::NodeVolume(const std::string& exports,
                       const std::string& filesystem, const std::string& size) {
  static int number = 0;
  const auto id = Bed().Run(
      "volume", {"a", absl::StrCat("pvc-node-", ++number), "--size", size});
  EXPECT_TRUE(id.ok()) << id.status();
  if (!id.ok()) return;
  id_ = *id;
  image_ = "csi-vol-" + id_.substr(id_.size() - 36);
  if (!Export(exports)) return;
  if (filesystem.empty()) {
    ok_ = true;
    return;
  }
  const CommandResult made =
      filesystem == "xfs" ? RunCommand({"mkfs.xfs", "-q", "-K", file_})
                          : RunCommand({"mkfs." + filesystem, "-q", "-F", "-E",
                                        "nodiscard,lazy_itable_init=0", file_});
  EXPECT_TRUE(made.ok) << made.output;
  ok_ = made.ok;
}

NodeVolume::~NodeVolume() {
  Unmap();
  if (!mounted_at_.empty()) umount2(mounted_at_.c_str(), MNT_DETACH);
  if (exporter_ <= 0) return;
  kill(exporter_, SIGTERM);
  int status = 0;
  if (!Eventually(
          [&] { return waitpid(exporter_, &status, WNOHANG) == exporter_; },
          std::chrono::seconds(20))) {
    kill(exporter_, SIGKILL);
    waitpid(exporter_, &status, 0);
  }
  umount2(file_.c_str(), MNT_DETACH);
}

bool NodeVolume::Export(const std::string& exports) {
  const std::string directory = absl::StrCat(exports, "/", RealBed::kPool);
  std::filesystem::create_directories(directory);
  file_ = absl::StrCat(directory, "/", image_);
  std::ofstream(file_).close();
  const std::string log = Bed().Path(absl::StrCat("export-", image_, ".log"));
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  exporter_ = Spawn(
      {"qemu-storage-daemon", "--blockdev",
       absl::StrCat("driver=rbd,node-name=disk0,pool=", RealBed::kPool,
                    ",image=", image_, ",conf=", Bed().Path("a/ceph.conf"),
                    ",discard=unmap"),
       "--export",
       absl::StrCat("type=fuse,id=f0,node-name=disk0,mountpoint=", file_,
                    ",writable=on")},
      output);
  close(output);
  const bool exported = Eventually([this] { return SizeOf(file_) > 0; },
                                   std::chrono::seconds(30));
  EXPECT_TRUE(exported) << RunCommand({"cat", log}).output;
  return exported;
}

std::string NodeVolume::Map() {
  const CommandResult made = RunCommand({"losetup", "--find", "--show", file_});
  EXPECT_TRUE(made.ok) << made.output;
  if (!made.ok) return "";
  const std::string device(absl::StripAsciiWhitespace(made.output));
  loop_ = UniqueFd(open(device.c_str(), O_RDONLY | O_CLOEXEC));
  // It ends when nobody has it open any more, however this program ends.
  const CommandResult left = RunCommand({"losetup", "--detach", device});
  EXPECT_TRUE(left.ok && loop_.valid()) << left.output;
  return device;
}

bool NodeVolume::Mount(const std::string& directory,
                       const std::string& options) {
  std::filesystem::create_directories(directory);
  // mount(8) makes a loop device that ends with its last mount.
  const CommandResult mounted =
      RunCommand({"mount", "-o", options, file_, directory});
  EXPECT_TRUE(mounted.ok) << mounted.output;
  if (mounted.ok) mounted_at_ = directory;
  return mounted.ok;
}

void NodeVolume::LeaveGarbage(int mebibytes) {
  const std::string path = mounted_at_ + "/garbage";
  std::mt19937_64 random(1);
  std::vector<uint64_t> noise((1u << 20) / sizeof(uint64_t));
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < mebibytes; ++i) {
    for (uint64_t& word : noise) word = random();
    file.write(reinterpret_cast<const char*>(noise.data()), 1 << 20);
  }
  file.close();
  EXPECT_TRUE(file.good());
  EXPECT_TRUE(RunCommand({"sync", "-f", mounted_at_}).ok);
  std::filesystem::remove(path);
  EXPECT_TRUE(RunCommand({"sync", "-f", mounted_at_}).ok);
}

uint64_t NodeVolume::UsedBytes() const {
  const auto listing =
      Bed().Run("rbd", {"a", "du", "--format", "json",
                        absl::StrCat(RealBed::kPool, "/", image_)});
  EXPECT_TRUE(listing.ok()) << listing.status();
  const auto json = ParseJson(listing.value_or(""));
  EXPECT_FALSE(json.is_discarded()) << *listing;
  if (json.is_discarded()) return 0;
  return json.at("images").at(0).at("used_size").get<uint64_t>();
}

}  // namespace addons::testing
