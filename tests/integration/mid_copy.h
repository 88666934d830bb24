#ifndef ADDONS_TESTS_INTEGRATION_MID_COPY_H_
#define ADDONS_TESTS_INTEGRATION_MID_COPY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/cluster/two_sites.h"

namespace addons::testing {

/// Each volume is in mid-copy on b, whose rbd-mirror is stopped.
class MidCopyTest : public TwoSitesTest {
 public:
  static constexpr uint64_t kBytes = uint64_t{2} << 30;
  /// What the last complete state has written; the rest of it is zeros.
  static constexpr uint64_t kWholeBytes = kBytes / 2;

  struct Volume {
    TestVolume volume;
    uint64_t digest = 0;         // of the last complete state
    uint64_t digest_before = 0;  // of the one before, where `prepare` made one
  };
  /// What is special about a volume.
  struct Kind {
    std::vector<std::string> flags{};  // that it is made with
    /// Before it is replicated.
    std::function<void(const TestVolume&)> prepare{};
    /// On a, in the interval that is being copied, after it was written.
    std::function<void(const TestVolume&)> interval{};
    /// On a: what the last complete state has in place of kWholeBytes.
    std::function<void(const TestVolume&)> whole{};
  };

  static void TearDownTestSuite();

 protected:
  /// Volumes by name. One whose name begins with "demotion" is in the middle of
  /// that.
  static void StopInMidCopy(const std::map<std::string, Kind>& volumes);
  static void SiteDies();
  static bool IsDemotion(const std::string& name);

  /// What the operator does: without force until it is told that force is
  /// right.
  static void WaitUntilForceIsRight(const TestVolume& volume);
  /// By force until the call answers something else than "not yet". `answers`:
  /// what was said until then.
  static grpc::Status Force(const TestVolume& volume,
                            std::vector<std::string>* answers = nullptr);
  /// `rbd ls` of the volume's pool and namespace on b.
  static std::string Images(const TestVolume& volume);
  static void ExpectWhole(const Volume& made);
  /// It is primary, holds what has this digest, and its rescue is over.
  static void ExpectHolds(const TestVolume& volume, uint64_t digest);
  /// The daemon dies when everything is saved and nothing is promoted yet, the
  /// next one in the middle of the way back, and a third one goes on.
  static void DieOnTheWayBack(
      const Volume& made,
      const std::function<void(const TestVolume&)>& before_force);
  /// The daemon dies inside librbd's promotion, which marks the image as
  /// writable last. The next one goes on.
  static void DieInThePromotion(
      const Volume& made,
      const std::function<void(const TestVolume&)>& before_force);
  /// With site a back: it is demoted and resynced, and then both hold the same.
  static void ExpectPeerResynced(const std::string& name, const Volume& made);

  static std::map<std::string, Volume>* volumes_;

 private:
  static void Make(const std::string& name, const Kind& kind);
  /// Lets rbd-mirror of b, which is stopped, run in small slices until each
  /// volume has arrived in part.
  static void CopyInPart();
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_INTEGRATION_MID_COPY_H_
