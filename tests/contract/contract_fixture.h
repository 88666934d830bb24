#ifndef ADDONS_TESTS_CONTRACT_CONTRACT_FIXTURE_H_
#define ADDONS_TESTS_CONTRACT_CONTRACT_FIXTURE_H_

// The contract: what our code relies on, held against two mirrored sites, the
// fake and the real thing. The tests stand in *_contract.cc, by subject, and
// are part of each program that links the library contract_suite; the program
// defines a bed and instantiates both fixtures:
//
//   const BedFactory kReal{"Real", MakeRealBed};
//   INSTANTIATE_TEST_SUITE_P(Real, ContractTest, ::testing::Values(kReal));
//   INSTANTIATE_TEST_SUITE_P(Real, FenceContractTest,
//   ::testing::Values(kReal));
//
// One bed serves all tests of the process: run the whole binary where a bed is
// dear.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ceph/cluster.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "nlohmann/json.hpp"
#include "tests/contract/contract_bed.h"
#include "tests/testing/status_matchers.h"

namespace addons {

/// What the contract's tests do on the bed of the process. The helpers look
/// through Cluster, as the code under test does; what fails there fails the
/// test.
class ContractTest : public ::testing::TestWithParam<BedFactory> {
 protected:
  using Site = ContractBed::Site;
  static constexpr Site kA = Site::kA;
  static constexpr Site kB = Site::kB;
  static constexpr uint64_t kBytes = uint64_t{16} << 20;
  // An image that appears, is copied or comes back after a resync, also where a
  // test before has killed rbd-mirror, and beside seven other clusters.
  static constexpr std::chrono::seconds kCopyLimit{180};
  // Statuses are rewritten every 30 s.
  static constexpr std::chrono::seconds kStatusLimit{45};
  // What was said before a demotion may stand in new reports for a minute
  // (kReportLag) and no longer; a busy machine takes longer.
  static constexpr std::chrono::seconds kLagLimit{75};
  /// A RADOS namespace of the pool, without images.
  static constexpr const char* kNamespace = "tenant1";
  /// Images that are mirrored from a to b. The first is for looking only, each
  /// of the others is used up by one test. They are made together, so that a
  /// real rbd-mirror copies them at the same time.
  static constexpr const char* kStanding = "contract-standing";
  static constexpr const char* kSnapshots = "contract-snapshots";
  static constexpr const char* kProgress = "contract-progress";
  static constexpr const char* kOfKind = "contract-of-kind";
  static constexpr const char* kFailover = "contract-failover";
  static constexpr const char* kDemoted = "contract-demoted";
  static constexpr const char* kForced = "contract-forced";
  static constexpr const char* kDisabled = "contract-disabled";
  static constexpr const char* kAbandoned = "contract-abandoned";
  static constexpr const char* kLimited = "contract-limited";
  static constexpr const char* kRoom = "contract-room";
  static constexpr const char* kWaiting = "contract-waiting";
  static constexpr const char* kLeft = "contract-left";
  static constexpr const char* kNoted = "contract-noted";
  static constexpr const char* kPoint = "contract-snapshot";

  static void TearDownTestSuite() { Shared().reset(); }

  void SetUp() override;

  static ContractBed& bed() { return *Shared(); }
  /// "POOL/IMAGE", as commands name it.
  static std::string Spec(const std::string& image) {
    return absl::StrCat(bed().PoolName(), "/", image);
  }

  static std::unique_ptr<Pool> OpenPool(Site site, Access access);
  /// A fresh look; nullptr: no such image now.
  static std::unique_ptr<Image> Look(Site site, const std::string& name);
  /// Opens for writing, calls `change`, closes.
  static absl::Status Change(Site site, const std::string& name,
                             const std::function<absl::Status(Image&)>& change);

  /// On site a or b, of kBytes, without content.
  static void MakeImage(Site site, const std::string& name);
  /// One of the images above: written, enabled on a, copied to b.
  static void NeedMirrored(const std::string& name);
  /// The same, demoted on a, which has arrived on b, whose rbd-mirror says so.
  static void NeedDemoted(const std::string& name);
  /// Promotes as soon as rbd-mirror has let go of the image.
  static absl::Status PromoteSoon(Site site, const std::string& name,
                                  Force force);

  // What a fresh look shows; where the image is not there: none, false or "".

  static std::string IdOf(Site site, const std::string& name);
  static bool IsPrimary(Site site, const std::string& name);
  /// The newest mirror snapshot.
  static std::optional<MirrorSnapshot> Newest(Site site,
                                              const std::string& name);
  /// Also that it is complete.
  static bool NewestIs(Site site, const std::string& name,
                       MirrorSnapshotKind kind);
  /// What the local rbd-mirror says of the image, or the one of the peer.
  static std::optional<SiteStatus> StatusOf(Site site, const std::string& name,
                                            bool local);
  static bool StatusIsUp(Site site, const std::string& name, bool local,
                         MirrorStatusState state);

  /// What can be read of a mirrored image without opening it is what opening it
  /// shows.
  static void ExpectTellsAsOpened(Site site, const std::string& name);

  static std::string MirrorUuid(Site site);
  static std::set<uint64_t> ClientIds(
      const absl::StatusOr<std::vector<Watcher>>& watchers);
  /// The rbd-mirror daemons that are connected to this site.
  static std::set<uint64_t> MirrorClients(Site site);

  /// `rbd mirror snapshot schedule VERB` on site a, with further arguments.
  static absl::StatusOr<std::string> Schedule(const std::string& verb,
                                              const std::string& level,
                                              const nlohmann::json& more = {});
  /// Schedule("list"), parsed.
  static nlohmann::json ScheduleOf(const std::string& level);

 private:
  static std::unique_ptr<ContractBed>& Shared();
};

/// A status that carries this errno.
MATCHER_P(HasErrno, error, absl::StrCat("carries errno ", error)) {
  *result_listener << testing::ToStatus(arg).ToString();
  return CephErrno(testing::ToStatus(arg)) == error;
}
/// Where releases differ.
MATCHER_P2(HasEitherErrno, one, other,
           absl::StrCat("carries errno ", one, " or ", other)) {
  *result_listener << testing::ToStatus(arg).ToString();
  const int error = CephErrno(testing::ToStatus(arg));
  return error == one || error == other;
}

}  // namespace addons

#endif  // ADDONS_TESTS_CONTRACT_CONTRACT_FIXTURE_H_
