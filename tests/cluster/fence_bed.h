#ifndef ADDONS_TESTS_CLUSTER_FENCE_BED_H_
#define ADDONS_TESTS_CLUSTER_FENCE_BED_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/daemon_process.h"
#include "tests/cluster/host_network.h"
#include "tests/cluster/host_process.h"
#include "tests/cluster/testbed.h"
#include "tests/rpc/fence_call.h"

namespace addons::testing {

using Monotonic = std::chrono::steady_clock::time_point;

/// A host of its own address that writes to an image of its own all the time
/// (fence_writer).
class Host {
 public:
  struct Write {
    Monotonic begun;
    Monotonic ended;
    int result = 0;
  };

  /// `enter` is put before the command.
  Host(std::string address, std::vector<std::string> enter,
       const std::string& conf, const std::string& image, std::string log_file);

  const std::string& address() const { return address_; }
  std::vector<Write> Writes() const;
  /// It writes: one that begins from now on succeeds.
  bool WritesNow() const;
  /// It is shut out: an attempt that begins from now on fails.
  bool FailsNow() const;
  /// How many writes failed since `since`.
  int ErrorsSince(Monotonic since) const;
  /// How many that began after `since` succeeded.
  int WritesSince(Monotonic since) const;

 private:
  const std::string address_;
  const std::string log_file_;
  const HostProcess writer_;
};

/// One real cluster on a bridge, hosts on it, and a daemon. The monitor, the
/// manager and two OSDs are at Address(0, 1); a third OSD, which holds no data,
/// at Address(0, 2). One per suite.
class FenceBed {
 public:
  /// `more` are further arguments of `testbed up`.
  FenceBed(HostNetwork::Family family, const std::vector<std::string>& more);
  ~FenceBed();
  FenceBed(const FenceBed&) = delete;
  FenceBed& operator=(const FenceBed&) = delete;

  HostNetwork& network() { return *network_; }
  /// Makes the host and waits until it writes.
  Host& AddHost(int network, int host);
  /// As administrator; a failure fails the test.
  std::string Ceph(const std::vector<std::string>& args);
  std::string Testbed(const std::string& command,
                      const std::vector<std::string>& args);
  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  /// A further daemon, not started yet.
  std::unique_ptr<DaemonProcess> NewDaemon(const std::string& name);

 private:
  std::string dir_;
  std::unique_ptr<HostNetwork> network_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

/// Base of the suites: tests begin with nothing blocked.
class FenceBedTest : public ::testing::Test {
 protected:
  using Parameters = std::map<std::string, std::string>;
  using Code = grpc::StatusCode;

  /// Without root there is no bed, and all tests are skipped.
  static void MakeBed(HostNetwork::Family family,
                      const std::vector<std::string>& more = {});
  static bool HasBed();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  static FenceBed& bed();
  static DaemonProcess& daemon();
  static std::string Address(int network, int host) {
    return bed().network().Address(network, host);
  }

  static grpc::Status Fence(const std::vector<std::string>& ranges,
                            const Parameters& parameters = {},
                            DaemonProcess* on = nullptr);
  static grpc::Status Unfence(const std::vector<std::string>& ranges,
                              const Parameters& parameters = {},
                              DaemonProcess* on = nullptr);
  /// ListClusterFence or GetFenceClients.
  static FenceAnswer Ask(const std::string& method,
                         DaemonProcess* on = nullptr);
  static std::vector<std::string> List();
  static std::vector<std::string> Clients();
  /// The keys of `osd blocklist ls`, sorted, those of ranges with "range "
  /// before them.
  static std::vector<std::string> Keys();
  /// Seconds that an entry of Keys() has left; -1: it is not there.
  static int64_t Left(const std::string& key);
  static void AddEntry(const std::string& range, int64_t seconds);

  /// After an OK at `since`: nothing that `host` began to write then succeeded,
  /// and it got an error within a second.
  static void ExpectShutOut(const Host& host, Monotonic since);
  /// It has written all the time since the test began.
  void ExpectUnharmed(const Host& host) const;

  Monotonic begun_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_FENCE_BED_H_
