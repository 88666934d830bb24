#ifndef ADDONS_TESTS_INTEGRATION_CRASH_BED_H_
#define ADDONS_TESTS_INTEGRATION_CRASH_BED_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/pool.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {

/// Both clusters of the bed by clients of the test's own, which make and look
/// at many volumes in little time: nothing here starts a program. A failure
/// fails the test. Thread-safe.
class CrashBed {
 public:
  /// Key by key, without what differs between runs that did the same.
  using Contents = std::map<std::string, std::string>;

  CrashBed();

  std::unique_ptr<Pool> Open(const std::string& site,
                             Access access = Access::kMutate);

  // --- volumes as ceph-csi makes them

  /// An image of 16 MiB on site a, with its journal there, not mirrored.
  TestVolume MakeVolume();
  /// b's journal of a volume whose image has arrived there.
  void MakePeerJournal(TestVolume* volume);
  /// Image and journal on both sites, as far as they are there. Not a member of
  /// a group.
  void Remove(const TestVolume& volume);
  /// The group of site a with this name of the Create request, if there is one.
  void RemoveGroup(const std::string& name);

  // --- as an administrator or a workload

  void Write(const std::string& site, const TestVolume& volume,
             const std::string& text);
  void TakeSnapshot(const std::string& site, const TestVolume& volume);

  // --- what is there

  /// The newest mirror snapshot; nullopt: none, or no image.
  std::optional<MirrorSnapshot> Newest(const std::string& site,
                                       const TestVolume& volume);
  /// What this site's rbd-mirror reports about the image.
  std::string Report(const std::string& site, const TestVolume& volume);
  /// Image, role, mirror snapshots, data, metadata, locks, rbd group, schedules
  /// and journal.
  Contents OfVolume(const std::string& site, const TestVolume& volume);
  /// The journal of the volume group with this name of the Create request, its
  /// rbd group and the members' places in it; `members` have names in the
  /// result.
  Contents OfGroup(const std::string& name,
                   const std::vector<TestVolume>& members);
  /// Entries of the blocklist for addresses that begin so.
  Contents OfBlocklist(const std::string& prefix);
  /// Journals of groups on `site` that no name leads to.
  std::vector<std::string> LostGroups(const std::string& site);

 private:
  std::shared_ptr<Cluster> Connect(const std::string& site);
  void Change(const std::string& site, const TestVolume& volume,
              const std::function<absl::Status(Image&)>& change);
  static void Reserve(Pool& pool, const std::string& uuid,
                      const std::string& image_id);

  std::shared_ptr<CallGate> gate_;
  ConnectionCache cache_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_INTEGRATION_CRASH_BED_H_
