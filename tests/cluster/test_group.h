#ifndef ADDONS_TESTS_CLUSTER_TEST_GROUP_H_
#define ADDONS_TESTS_CLUSTER_TEST_GROUP_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cluster/two_sites.h"

namespace addons::testing {

/// A volume group that ceph-csi would have made on site a.
struct TestGroup {
  std::string id;  // as made on site a; both sites know it by this
  std::string id_b;
  std::string rados_namespace = RealBed::EveryNamespace();  // as on site a
  std::vector<TestVolume> members;
};

/// Suites about volume groups. All calls take at most `deadline`.
class GroupSitesTest : public TwoSitesTest {
 protected:
  /// Volumes on site a in a group there: rbd group and journal.
  static TestGroup MakeGroup(size_t members,
                             const std::vector<std::string>& flags = {});
  /// Enabled and promoted on a by calls on the group, arrived on b, whose
  /// journal has the volumes and the group as ceph-csi's controller writes it.
  static TestGroup MakeReplicatedGroup(
      size_t members, const std::vector<std::string>& flags = {});
  /// The group's journal on `site`, without the rbd group.
  static void WriteJournal(const std::string& site, const TestGroup& group,
                           const std::vector<TestVolume>& members);

  static grpc::Status EnableGroup(const std::string& site,
                                  const TestGroup& group,
                                  const Parameters& parameters = {
                                      {"groupReplication", "members"}});
  static grpc::Status DisableGroup(const std::string& site,
                                   const TestGroup& group);
  static grpc::Status PromoteGroup(const std::string& site,
                                   const TestGroup& group, bool force = false,
                                   std::chrono::seconds deadline = kDeadline);
  /// As PromoteRepeatedly() of a volume.
  static std::vector<grpc::Status> PromoteGroupRepeatedly(
      const std::string& site, const TestGroup& group,
      std::chrono::seconds limit,
      std::chrono::seconds each = std::chrono::seconds(20));
  /// As PromoteAtLast() of a volume.
  static grpc::Status PromoteGroupAtLast(const std::string& site,
                                         const TestGroup& group);
  static grpc::Status DemoteGroup(const std::string& site,
                                  const TestGroup& group);
  static grpc::Status ResyncGroup(const std::string& site,
                                  const TestGroup& group, bool force,
                                  bool* ready);
  static grpc::Status GroupInfo(
      const std::string& site, const TestGroup& group,
      ::replication::GetVolumeReplicationInfoResponse* info);
  static grpc::Status GroupDestination(
      const std::string& site, const TestGroup& group,
      ::replication::ReplicationDestination* destination);

  static size_t Primaries(const std::string& site, const TestGroup& group);
  /// "pool/csi-vol-group-..." or "pool/namespace/csi-vol-group-..."
  static std::string RbdGroup(const TestGroup& group);
  /// The images in the rbd group on `site`, as ImageSpec() of its members;
  /// after one that is not complete there "incomplete".
  static std::vector<std::string> RbdGroupImages(const std::string& site,
                                                 const TestGroup& group);
  /// Leaves the rbd group as a client does that dies while it adds `member`.
  static void LeaveIncomplete(const std::string& site, const TestGroup& group,
                              const TestVolume& member);

  // --- data
  static std::vector<std::unique_ptr<Disk>> OpenDisks(
      const std::string& site, const TestGroup& group,
      Disk::Mode mode = Disk::Mode::kWritable);
  /// What CounterWriters wrote last to each member, as `site` has it.
  static std::vector<int> Counters(const std::string& site,
                                   const TestGroup& group);
  /// Writes a common counter until it has come to `least`; returns the last
  /// number.
  static int WriteCounter(const std::string& site, const TestGroup& group,
                          int least);
};

/// A workload on all members of a group on one site: writes one counter to all
/// of them, the next number when the last one is written everywhere, until it
/// is stopped.
class CounterWriters {
 public:
  explicit CounterWriters(std::vector<std::unique_ptr<Disk>> disks);
  ~CounterWriters() { Stop(); }
  CounterWriters(const CounterWriters&) = delete;
  CounterWriters& operator=(const CounterWriters&) = delete;

  /// The number that was last written to all members.
  int written() const { return written_; }
  /// How long the slowest write has taken so far.
  std::chrono::milliseconds slowest() const { return slowest_.load(); }
  /// Ends the writing and closes the disks; written() is the end.
  void Stop();

 private:
  std::vector<std::unique_ptr<Disk>> disks_;
  std::atomic<int> written_{0};
  std::atomic<std::chrono::milliseconds> slowest_{};
  std::jthread writer_;
};

/// The number that `disk` holds.
int ReadCounter(Disk& disk);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_TEST_GROUP_H_
