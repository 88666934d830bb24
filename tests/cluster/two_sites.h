#ifndef ADDONS_TESTS_CLUSTER_TWO_SITES_H_
#define ADDONS_TESTS_CLUSTER_TWO_SITES_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "replication/replication.grpc.pb.h"
#include "tests/cluster/daemon_process.h"
#include "tests/cluster/disk.h"
#include "tests/cluster/real_bed.h"

namespace addons::testing {

using Parameters = std::map<std::string, std::string>;
inline const Parameters kJournalMode = {{"mirroringMode", "journal"}};

/// A schedule that takes no mirror snapshot within the next hours, for tests
/// that compare what a copy has. The manager counts intervals from midnight, so
/// that even one of a day could be due at any moment.
Parameters ScheduleNotDue();

/// A volume that ceph-csi would have made on site a.
struct TestVolume {
  std::string image;  // "csi-vol-<uuid>"
  std::string id_a;   // its id as made on site a
  std::string id_b;   // the same volume as site b calls it
  std::string rados_namespace;

  const std::string& id(const std::string& site) const {
    return site == "a" ? id_a : id_b;
  }
};

/// Base of suites: two mirrored sites, a daemon on each, started once per
/// suite. Tests use volumes of their own. The settle time is the shortest
/// allowed one, 60 s.
class TwoSitesTest : public ::testing::Test {
 public:
  static constexpr std::chrono::seconds kSettle{60};

  static void SetUpTestSuite();
  static void TearDownTestSuite();

 protected:
  using Code = grpc::StatusCode;

  /// SetUpTestSuite() with further flags for the daemons, by site.
  static void StartDaemons(
      const std::map<std::string, std::vector<std::string>>& more_flags);

  /// The same with the times that the daemon has by default, which are long for
  /// other tests.
  static void StartDaemonsWithDefaultTimes();

  void SetUp() override;
  /// Prints the daemons' logs when the test failed.
  void TearDown() override;

  // --- the bed

  /// `scripts/testbed COMMAND DIR ARGS...`; a failure fails the test.
  static std::string Testbed(const std::string& command,
                             const std::vector<std::string>& args);
  /// `limit` of the bed's pool, max_bytes or max_objects; "0": none. The OSDs
  /// know of it some seconds later: IsFull().
  static void SetQuota(const std::string& site, const std::string& limit,
                       const std::string& value);
  static bool IsFull(const std::string& site);
  /// `rbd ARGS...` as administrator of `site`.
  static std::string Rbd(const std::string& site,
                         const std::vector<std::string>& args);
  /// `rados ARGS...` of `site`, where the objects of `volume` are.
  static std::string Rados(const std::string& site, const TestVolume& volume,
                           const std::vector<std::string>& args);
  /// `rbd mirror snapshot schedule VERB ARGS...` of this image alone.
  static void Schedule(const std::string& site, const TestVolume& volume,
                       const std::string& verb,
                       const std::vector<std::string>& args = {});
  /// Stops (continues) a daemon of a site: mon, mgr, osd, rbd-mirror or all.
  /// What a test stopped is continued when it ends.
  void Stop(const std::string& site, const std::string& daemon);
  void Continue(const std::string& site, const std::string& daemon);
  /// SIGTERM, as a container is stopped, and SIGKILL: rbd-mirror leaves other
  /// reports behind.
  enum class MirrorEnd { kTerminated, kKilled };
  /// Ends rbd-mirror of `site`, which is started again when the test ends, and
  /// returns when it has ended.
  void EndMirrorDaemon(const std::string& site, MirrorEnd how);
  /// Returns before it reports.
  void StartMirrorDaemon(const std::string& site);
  /// Lets rbd-mirror of `site`, which is stopped, run for `time`.
  static void RunMirrorDaemonFor(const std::string& site,
                                 std::chrono::milliseconds time);

  /// rbd-mirror of either site copies so many objects of an image at the same
  /// time; Ceph's default is 10.
  static void CopyObjectsAtOnce(int objects);

  // --- volumes

  /// On site a, not replicated. `flags` as of `testbed volume`.
  /// $TESTBED_NAMESPACE: in that RADOS namespace, where they name none.
  static TestVolume MakeVolume(const std::vector<std::string>& flags = {});
  /// An image on site a full of data, with a snapshot "origin" to clone from;
  /// returns "pool/NAME".
  static std::string MakeParent(const std::string& name);
  /// Enables and promotes it on a, and waits until it is on b, with b's
  /// journal entry.
  static void Replicate(TestVolume* volume, const Parameters& parameters = {});
  /// A new one, replicated.
  static TestVolume MakeReplicatedVolume(
      const Parameters& parameters = {},
      const std::vector<std::string>& flags = {});
  /// The same in journal mode.
  static TestVolume MakeJournaledVolume();
  /// Waits until the newest mirror snapshot on `site` is complete and as new as
  /// that of the other site, which gets one first (`primary`: where it is
  /// taken).
  static void Synchronize(const std::string& primary, const TestVolume& volume);

  // --- data

  static std::unique_ptr<Disk> OpenDisk(
      const std::string& site, const TestVolume& volume,
      Disk::Mode mode = Disk::Mode::kWritable);
  /// Writes `text` into the first `bytes`, as a workload that comes and goes.
  static void Write(const std::string& site, const TestVolume& volume,
                    const std::string& text, uint64_t bytes = 16u << 20);
  /// What Write() wrote last, as the image on `site` has it.
  static std::string ReadText(const std::string& site,
                              const TestVolume& volume);
  static uint64_t Digest(const std::string& site, const TestVolume& volume);

  // --- state, from the rbd command

  static bool IsPrimary(const std::string& site, const TestVolume& volume);
  /// `rbd info`'s mirroring state; "disabled" when there is none; "absent" when
  /// the image is not there.
  static std::string MirrorState(const std::string& site,
                                 const TestVolume& volume);
  static std::string ImageId(const std::string& site, const TestVolume& volume);
  /// Sets the mark "non-primary" on a primary, as who dies inside librbd's
  /// promotion leaves it. Of an image in the default namespace.
  static void RefuseWrites(const std::string& site, const TestVolume& volume);
  /// csi.imageid of the journal.
  static std::string JournalImageId(const std::string& site,
                                    const TestVolume& volume);
  /// One entry of the image's metadata; empty when there is none. Reads only,
  /// so that it is no workload.
  static std::string Metadata(const std::string& site, const TestVolume& volume,
                              const std::string& key);
  /// `rbd mirror image status`, as JSON text.
  static std::string Status(const std::string& site, const TestVolume& volume);
  /// What the other site's rbd-mirror has reported to `site` on the image, with
  /// the time; empty: nothing yet.
  static std::string PeerReport(const std::string& site,
                                const TestVolume& volume);
  /// `rbd mirror snapshot schedule ls` of the image.
  static std::string Schedules(const std::string& site,
                               const TestVolume& volume);

  /// The newest mirror snapshot; id -1 when there is none.
  struct SeenSnapshot {
    int64_t id = -1;
    bool complete = false;
    bool demoted = false;
    int64_t copied_objects = 0;
  };
  static SeenSnapshot NewestSnapshot(const std::string& site,
                                     const TestVolume& volume);
  /// "pool/image" or "pool/namespace/image".
  static std::string ImageSpec(const TestVolume& volume);

  // --- calls
  // ------------------------------------------------------------------- All
  // take at most `deadline`; the secret is that of the site.
  static grpc::Status Enable(const std::string& site, const TestVolume& volume,
                             const Parameters& parameters = {},
                             std::chrono::seconds deadline = kDeadline);
  static grpc::Status Disable(const std::string& site, const TestVolume& volume,
                              const Parameters& parameters = {},
                              std::chrono::seconds deadline = kDeadline);
  static grpc::Status Promote(const std::string& site, const TestVolume& volume,
                              bool force = false,
                              const Parameters& parameters = {},
                              std::chrono::seconds deadline = kDeadline);
  /// Calls with deadlines of `each`, as the operator repeats them, until one
  /// answers something else than UNAVAILABLE or `limit` has passed; all answers
  /// in order.
  static std::vector<grpc::Status> PromoteRepeatedly(
      const std::string& site, const TestVolume& volume,
      std::chrono::seconds limit,
      std::chrono::seconds each = std::chrono::seconds(20));
  /// The last answer of calls that go on while it is UNAVAILABLE, for three
  /// minutes: the first call of a series is answered after 20 s.
  static grpc::Status PromoteAtLast(const std::string& site,
                                    const TestVolume& volume,
                                    const Parameters& parameters = {});
  static grpc::Status Demote(const std::string& site, const TestVolume& volume,
                             std::chrono::seconds deadline = kDeadline);
  static grpc::Status Resync(const std::string& site, const TestVolume& volume,
                             bool force, bool* ready,
                             std::chrono::seconds deadline = kDeadline);
  static grpc::Status Info(
      const std::string& site, const TestVolume& volume,
      ::replication::GetVolumeReplicationInfoResponse* info,
      std::chrono::seconds deadline = kDeadline);
  static grpc::Status Destination(const std::string& site,
                                  const TestVolume& volume, std::string* id);

  /// Promoted by force on b while a was primary, both written, then demoted on
  /// a, whose rbd-mirror reports the split brain.
  TestVolume MakeSplitBrain();

  /// Demotes on a, and when b has the whole demotion asks a to take it back,
  /// and b, `distance` later, to be promoted, both again and again, until one
  /// has answered OK and for `tail` more, and the one that has not for as long
  /// as it is primary, as an operator would: rbd-mirror can take a minute to
  /// report what makes it give the role back. Fails when both answer OK, or
  /// none, or another site is primary after five minutes than the one that did.
  /// `parameters` are those of the promotions; with kJournalMode a is asked
  /// right after its demotion.
  static void RaceToPromote(const TestVolume& volume,
                            std::chrono::seconds distance,
                            std::chrono::seconds tail,
                            const Parameters& parameters = {});

  static DaemonProcess& Daemon(const std::string& site);
  /// Ends the daemon with SIGKILL and starts it with `environment` added.
  static void Restart(
      const std::string& site,
      const std::map<std::string, std::string>& environment = {});
  static std::unique_ptr<::replication::Controller::Stub> Stub(
      const std::string& site);

  static constexpr std::chrono::seconds kDeadline{120};

  /// Asks the daemon of `site` that runs now.
  template <typename Request, typename Response>
  static grpc::Status Ask(
      const std::string& site,
      grpc::Status (::replication::Controller::Stub::*method)(
          grpc::ClientContext*, const Request&, Response*),
      const Request& request, Response* response,
      std::chrono::seconds deadline = kDeadline) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    return (*Stub(site).*method)(&context, request, response);
  }

 private:
  std::vector<std::pair<std::string, std::string>> stopped_;
  std::set<std::string> ended_mirrors_;
};

/// A status with this code.
MATCHER_P(HasCode, code, "") {
  *result_listener << "code " << arg.error_code() << ": "
                   << arg.error_message();
  return arg.error_code() == code;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_TWO_SITES_H_
