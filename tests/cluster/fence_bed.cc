#include "tests/cluster/fence_bed.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "tests/cluster/privileges.h"

namespace addons::testing {
namespace {

using nlohmann::json;

Monotonic FromNanoseconds(int64_t count) {
  return Monotonic(std::chrono::nanoseconds(count));
}

std::unique_ptr<FenceBed>& TheBed() {
  static std::unique_ptr<FenceBed> bed;
  return bed;
}
std::unique_ptr<DaemonProcess>& TheDaemon() {
  static std::unique_ptr<DaemonProcess> daemon;
  return daemon;
}

std::vector<std::string> Joined(std::vector<std::string> list,
                                const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

FenceAnswer Call(const std::string& method, std::vector<std::string> ranges,
                 const std::map<std::string, std::string>& parameters,
                 DaemonProcess* on) {
  if (on == nullptr) on = TheDaemon().get();
  std::ifstream file(TheBed()->Path("a/secrets.json"));
  const json secrets = json::parse(file);
  FenceAsk ask;
  ask.cidrs = std::move(ranges);
  for (const auto& [key, value] : parameters) ask.parameters[key] = value;
  // The operator sets no deadline for the latter.
  ask.deadline = std::chrono::seconds(method == "GetFenceClients" ? 0 : 60);
  ask.user_id = secrets.at("userID");
  ask.user_key = secrets.at("userKey");
  return CallFence(grpc::CreateChannel("unix:" + on->socket(),
                                       grpc::InsecureChannelCredentials()),
                   method, ask);
}

bool CanMakeHosts() {
  return geteuid() == 0 && CanMakeNamespaces(CLONE_NEWNS | CLONE_NEWNET);
}

}  // namespace

// --- Host

Host::Host(std::string address, std::vector<std::string> enter,
           const std::string& conf, const std::string& image,
           std::string log_file)
    : address_(std::move(address)),
      log_file_(std::move(log_file)),
      writer_(Joined(std::move(enter),
                     {ADDONS_FENCE_WRITER, conf, "replicapool", image}),
              log_file_) {}

std::vector<Host::Write> Host::Writes() const {
  std::vector<Write> writes;
  std::ifstream file(log_file_);
  int64_t begun = 0;
  int64_t ended = 0;
  int result = 0;
  while (file >> begun >> ended >> result) {
    writes.push_back({FromNanoseconds(begun), FromNanoseconds(ended), result});
  }
  return writes;
}

int Host::WritesSince(Monotonic since) const {
  const std::vector<Write> writes = Writes();
  return static_cast<int>(
      std::count_if(writes.begin(), writes.end(), [&](const Write& write) {
        return write.begun > since && write.result == 0;
      }));
}

int Host::ErrorsSince(Monotonic since) const {
  const std::vector<Write> writes = Writes();
  return static_cast<int>(
      std::count_if(writes.begin(), writes.end(), [&](const Write& write) {
        return write.ended > since && write.result != 0;
      }));
}

bool Host::WritesNow() const {
  const Monotonic now = std::chrono::steady_clock::now();
  return Eventually([&] { return WritesSince(now) > 0; },
                    std::chrono::seconds(30));
}

bool Host::FailsNow() const {
  const Monotonic now = std::chrono::steady_clock::now();
  return Eventually([&] { return ErrorsSince(now) > 0; },
                    std::chrono::seconds(30));
}

// --- FenceBed

FenceBed::FenceBed(HostNetwork::Family family,
                   const std::vector<std::string>& more) {
  dir_ =
      (std::filesystem::temp_directory_path() / "rbda-fence.XXXXXX").string();
  EXPECT_NE(mkdtemp(dir_.data()), nullptr);
  network_ = std::make_unique<HostNetwork>(
      family,
      absl::StrCat("bash '", ADDONS_TESTBED_SCRIPT, "' down '", dir_, "'"));
  const std::string main = network_->Address(0, 1);
  const std::string other = network_->Address(0, 2);
  network_->AddBridgeAddress(main);
  network_->AddBridgeAddress(other);
  Testbed("up", Joined({"--address", main, "--osd-addresses",
                        absl::StrCat(main, " ", other, " ", main)},
                       more));
  Ceph({"osd", "crush", "reweight", "osd.1", "0"});
}

FenceBed::~FenceBed() {
  hosts_.clear();
  network_.reset();  // also ends the cluster
}

std::string FenceBed::Testbed(const std::string& command,
                              const std::vector<std::string>& args) {
  const auto output = RunTestbed(Joined({command, dir_}, args));
  EXPECT_TRUE(output.ok()) << output.status();
  return output.value_or("");
}

std::string FenceBed::Ceph(const std::vector<std::string>& args) {
  return Testbed("ceph", Joined({"a"}, args));
}

Host& FenceBed::AddHost(int network, int host) {
  const std::string address = network_->Address(network, host);
  const std::string image = absl::StrCat("of-", network, "-", host);
  Testbed("rbd", {"a", "create", "--size", "64M", "--image-feature", "layering",
                  "replicapool/" + image});
  hosts_.push_back(std::make_unique<Host>(address, network_->AddHost(address),
                                          Path("a/ceph.conf"), image,
                                          Path(image + ".log")));
  EXPECT_TRUE(hosts_.back()->WritesNow());
  return *hosts_.back();
}

std::unique_ptr<DaemonProcess> FenceBed::NewDaemon(const std::string& name) {
  return std::make_unique<DaemonProcess>(
      Path(name + ".sock"), Path(name + ".log"),
      std::vector<std::string>{"--controllerserver", "--nodeserver",
                               "--config-dir=" + Path("a/csi-config")});
}

// --- FenceBedTest

void FenceBedTest::MakeBed(HostNetwork::Family family,
                           const std::vector<std::string>& more) {
  if (!CanMakeHosts()) return;  // SetUp() says so
  TheBed() = std::make_unique<FenceBed>(family, more);
  TheDaemon() = TheBed()->NewDaemon("daemon");
  ASSERT_TRUE(TheDaemon()->Start()) << TheDaemon()->Log();
}

void FenceBedTest::TearDownTestSuite() {
  TheDaemon().reset();
  TheBed().reset();
}

void FenceBedTest::SetUp() {
  if (!CanMakeHosts()) GTEST_SKIP() << "network namespaces need root";
  ASSERT_NE(TheDaemon(), nullptr);
  bed().Ceph({"osd", "blocklist", "clear"});
  if (!daemon().Running()) {
    ASSERT_TRUE(daemon().Start()) << daemon().Log();
  }
  begun_ = std::chrono::steady_clock::now();
}

void FenceBedTest::TearDown() {
  if (HasFailure()) {
    std::cerr << "--- log of the daemon\n" << daemon().Log() << std::endl;
  }
}

bool FenceBedTest::HasBed() { return TheDaemon() != nullptr; }

FenceBed& FenceBedTest::bed() { return *TheBed(); }
DaemonProcess& FenceBedTest::daemon() { return *TheDaemon(); }

grpc::Status FenceBedTest::Fence(const std::vector<std::string>& ranges,
                                 const Parameters& parameters,
                                 DaemonProcess* on) {
  return Call("FenceClusterNetwork", ranges, parameters, on).status;
}

grpc::Status FenceBedTest::Unfence(const std::vector<std::string>& ranges,
                                   const Parameters& parameters,
                                   DaemonProcess* on) {
  return Call("UnfenceClusterNetwork", ranges, parameters, on).status;
}

FenceAnswer FenceBedTest::Ask(const std::string& method, DaemonProcess* on) {
  return Call(method, {}, {}, on);
}

std::vector<std::string> FenceBedTest::List() {
  const FenceAnswer answer = Ask("ListClusterFence");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  return answer.cidrs;
}

std::vector<std::string> FenceBedTest::Clients() {
  const FenceAnswer answer = Ask("GetFenceClients");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  return answer.cidrs;
}

// The administrator's own view, without the daemon's parser.
static std::map<std::string, std::string> Entries(FenceBed& bed) {
  const json dump = ParseJson(bed.Ceph({"osd", "dump", "--format", "json"}));
  const json clients = dump.value("blocklist", json::object());
  const json ranges = dump.value("range_blocklist", json::object());
  std::map<std::string, std::string> entries;
  for (const auto& [key, until] : clients.items()) entries[key] = until;
  for (const auto& [key, until] : ranges.items()) {
    entries[absl::StrCat("range ", absl::StripPrefix(key, "cidr:"))] = until;
  }
  return entries;
}

std::vector<std::string> FenceBedTest::Keys() {
  std::vector<std::string> keys;
  for (const auto& [key, until] : Entries(bed())) keys.push_back(key);
  return keys;
}

int64_t FenceBedTest::Left(const std::string& key) {
  const auto entries = Entries(bed());
  const auto it = entries.find(key);
  absl::Time until;
  std::string error;
  if (it == entries.end() ||
      !absl::ParseTime("%Y-%m-%dT%H:%M:%E*S%z", it->second, &until, &error)) {
    return -1;
  }
  return absl::ToInt64Seconds(until - absl::Now());
}

void FenceBedTest::AddEntry(const std::string& range, int64_t seconds) {
  bed().Ceph(
      {"osd", "blocklist", "range", "add", range, absl::StrCat(seconds)});
}

void FenceBedTest::ExpectShutOut(const Host& host, Monotonic since) {
  EXPECT_TRUE(host.FailsNow());
  EXPECT_EQ(host.WritesSince(since), 0) << host.address();
  Monotonic first = Monotonic::max();
  for (const Host::Write& write : host.Writes()) {
    // The last attempt before the fence may have been a success.
    if (write.result != 0 && write.ended > since - std::chrono::seconds(5)) {
      first = std::min(first, write.ended);
    }
  }
  EXPECT_LT(first, since + std::chrono::seconds(1)) << host.address();
  RecordProperty(
      "first_error_after_ms",
      static_cast<int>(
          std::chrono::duration_cast<std::chrono::milliseconds>(first - since)
              .count()));
}

void FenceBedTest::ExpectUnharmed(const Host& host) const {
  EXPECT_TRUE(host.WritesNow());
  EXPECT_EQ(host.ErrorsSince(begun_), 0) << host.address();
}

}  // namespace addons::testing
