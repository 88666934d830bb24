#ifndef ADDONS_TESTS_ORCHESTRATOR_RECONCILER_H_
#define ADDONS_TESTS_ORCHESTRATOR_RECONCILER_H_

#include <chrono>
#include <optional>
#include <string>

#include "tests/orchestrator/replication_calls.h"
#include "tests/orchestrator/volume_replication.h"

namespace addons::testing {

/// What the CSI-Addons operator does with one VolumeReplication: which calls in
/// which order, what each code leads to, and when it looks again.
///
///   primary wanted    Enable, Promote, (FAILED_PRECONDITION: Promote by
///                     force), GetVolumeReplicationInfo; once it is primary,
///                     GetVolumeReplicationInfo alone, for ever
///   secondary wanted  Demote; 15 s later and from then on Demote and Resync,
///                     every 30 s until that is ready
///   deleted           Disable, until that is OK or NOT_FOUND
///
/// One thread at a time.
class Reconciler {
 public:
  using Delay = std::chrono::milliseconds;

  /// Borrows `calls`.
  explicit Reconciler(ReplicationCalls* calls) : calls_(calls) {}

  /// One reconciliation. Returns when the next one is due; nullopt: not before
  /// the object changes or the operator starts anew.
  std::optional<Delay> Reconcile(VolumeReplication* object);

  /// Somebody has changed the object's spec.
  void Changed() { never_ask_for_info_ = false; }

 private:
  std::optional<Delay> Delete(VolumeReplication* object);
  std::optional<Delay> BecomePrimary(VolumeReplication* object);
  std::optional<Delay> BecomeSecondary(VolumeReplication* object);
  std::optional<Delay> AskForInfo(VolumeReplication* object);
  /// The gap after an error: flat while the status says Secondary, else longer
  /// with each one.
  Delay AfterError(const VolumeReplication& object);

  ReplicationCalls* const calls_;
  int errors_ = 0;  // in a row
  bool never_ask_for_info_ = false;
};

/// The times of the operator.
inline constexpr Reconciler::Delay kFirstErrorGap{5};
inline constexpr Reconciler::Delay kLongestErrorGap{1'000'000};
inline constexpr Reconciler::Delay kSecondaryGap{15'000};
inline constexpr Reconciler::Delay kResyncGap{30'000};

/// How often the operator asks for the replication info of a primary.
Reconciler::Delay InfoInterval(const VolumeReplication::Spec& spec);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_RECONCILER_H_
