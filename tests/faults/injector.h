#ifndef ADDONS_TESTS_FAULTS_INJECTOR_H_
#define ADDONS_TESTS_FAULTS_INJECTOR_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/string_view.h"
#include "tests/fakes/fake_site.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/faults/fault.h"

namespace addons::testing {

/// One call among those that a process makes: the `occurrence`-th (from 1) of
/// this function on this site. Empty: of any. Of Strike::kDieWithin only those
/// count that make two changes.
struct Position {
  std::string site;
  std::string call;
  int occurrence = 0;
};

/// Lets one fault happen at one call of the world. What it does to the process
/// holds for all that follows: a dead one's calls have no effect any more.
class Injector {
 public:
  /// Neither is owned; `world` has no hooks of its own.
  Injector(FakeWorld& world, Position position, Fault fault);
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  /// The operation that runs now, on the thread of the test; nullptr: none.
  void SetContext(TestOperationContext* context) { context_ = context; }

  /// Told of each call that a living process is about to make.
  void OnCall(
      std::function<void(absl::string_view site, absl::string_view call)>
          hook) {
    on_call_ = std::move(hook);
  }

  /// The call was made.
  bool reached() const { return reached_; }
  /// The process has died, whatever it answered.
  bool dead() const { return dead_; }
  /// Whether a thread of this name can be made in a process of `site`.
  bool MayStart(absl::string_view site, absl::string_view thread);
  /// The call of the verb has ended: threads can be made again.
  void AllowThreads() { no_threads_ = false; }
  /// While the objects of a dead process are taken down.
  void Bury() { burying_ = true; }
  /// A new process.
  void Revive() { dead_ = burying_ = false; }

 private:
  int Before(absl::string_view site, absl::string_view call);
  int After();
  int Within(absl::string_view site, absl::string_view call);
  bool Here(absl::string_view site, absl::string_view call);
  [[noreturn]] void Die();
  void TellContext();

  FakeWorld& world_;
  const Position position_;
  const Fault fault_;
  std::function<void(absl::string_view, absl::string_view)> on_call_;
  const std::thread::id test_thread_ = std::this_thread::get_id();
  TestOperationContext* context_ = nullptr;
  std::atomic<int> seen_{0};
  std::atomic<bool> reached_{false};
  std::atomic<bool> dead_{false};
  std::atomic<bool> burying_{false};
  std::atomic<bool> no_threads_{false};
  std::atomic<bool> to_tell_{false};  // the context, on its own thread
  /// The thread whose call is struck when it has taken effect. A call that
  /// fails by itself has none.
  std::atomic<std::thread::id> after_on_{};
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_INJECTOR_H_
