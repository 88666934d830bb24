#ifndef ADDONS_TESTS_ORCHESTRATOR_CONTROL_LOOP_H_
#define ADDONS_TESTS_ORCHESTRATOR_CONTROL_LOOP_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "tests/orchestrator/reconciler.h"
#include "tests/orchestrator/replication_calls.h"
#include "tests/orchestrator/volume_replication.h"

namespace addons::testing {

/// The operator at work on one VolumeReplication: a thread reconciles it when
/// it changes and when the Reconciler says so, by the real clock. Ends with
/// this object, after the call that is under way. Thread-safe.
class ControlLoop {
 public:
  ControlLoop(std::unique_ptr<ReplicationCalls> calls,
              VolumeReplication::Spec spec);
  ~ControlLoop();
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  /// As somebody edits the spec.
  void Edit(const std::function<void(VolumeReplication::Spec&)>& edit);
  /// As `kubectl delete`: done when the object is gone.
  void Delete();
  /// A new operator: it has forgotten its back-off, and looks at every object.
  void RestartOperator();
  /// The object after the last reconciliation that has ended.
  VolumeReplication Get() const;

 private:
  void Run(const std::stop_token& stop);

  const std::unique_ptr<ReplicationCalls> calls_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  VolumeReplication object_;  // guarded by mutex_
  bool dirty_ = true;         // guarded by mutex_
  bool restarted_ = false;    // guarded by mutex_
  std::jthread thread_;       // the last one: it uses all others
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_CONTROL_LOOP_H_
