#include "tests/orchestrator/control_loop.h"

#include <chrono>
#include <optional>
#include <utility>

namespace addons::testing {

ControlLoop::ControlLoop(std::unique_ptr<ReplicationCalls> calls,
                         VolumeReplication::Spec spec)
    : calls_(std::move(calls)) {
  object_.spec = std::move(spec);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

ControlLoop::~ControlLoop() = default;

void ControlLoop::Edit(
    const std::function<void(VolumeReplication::Spec&)>& edit) {
  {
    const std::lock_guard lock(mutex_);
    edit(object_.spec);
    dirty_ = true;
  }
  changed_.notify_all();
}

void ControlLoop::Delete() {
  {
    const std::lock_guard lock(mutex_);
    object_.deleted = true;
    dirty_ = true;
  }
  changed_.notify_all();
}

void ControlLoop::RestartOperator() {
  {
    const std::lock_guard lock(mutex_);
    restarted_ = true;
    dirty_ = true;
  }
  changed_.notify_all();
}

VolumeReplication ControlLoop::Get() const {
  const std::lock_guard lock(mutex_);
  return object_;
}

void ControlLoop::Run(const std::stop_token& stop) {
  auto reconciler = std::make_unique<Reconciler>(calls_.get());
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !object_.gone) {
    if (restarted_) reconciler = std::make_unique<Reconciler>(calls_.get());
    if (dirty_) reconciler->Changed();
    dirty_ = false;
    restarted_ = false;
    VolumeReplication working = object_;
    lock.unlock();
    const std::optional<Reconciler::Delay> next =
        reconciler->Reconcile(&working);
    lock.lock();
    // What was edited meanwhile stays; the next round is about it.
    object_.status = std::move(working.status);
    object_.gone = working.gone;
    const auto is_dirty = [this] { return dirty_; };
    if (next.has_value()) {
      changed_.wait_for(lock, stop, *next, is_dirty);
    } else {
      changed_.wait(lock, stop, is_dirty);
    }
  }
}

}  // namespace addons::testing
