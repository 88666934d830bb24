#ifndef ADDONS_TESTS_INTEGRATION_INTERRUPTED_COPY_H_
#define ADDONS_TESTS_INTEGRATION_INTERRUPTED_COPY_H_

#include <chrono>
#include <cstdint>
#include <functional>

#include "tests/cluster/two_sites.h"

namespace addons::testing {

/// A volume whose copy on b is interrupted, and another one of its pool.
class InterruptedCopyTest : public TwoSitesTest {
 protected:
  /// rbd-mirror copies so many objects of the volumes at the same time.
  explicit InterruptedCopyTest(int objects_at_once)
      : objects_at_once_(objects_at_once) {}

  void SetUp() override;

  /// b holds `whole_` and a part of a newer state, its `copy_`, and its
  /// rbd-mirror is stopped: it ran for `step` again and again until the copy
  /// had come `far_enough`. Another state is tried when it is complete then, or
  /// does not have what is `wanted`. Fails after ten of them.
  void StopInMidCopy(std::chrono::milliseconds step,
                     const std::function<bool()>& far_enough,
                     const std::function<bool()>& wanted);
  /// Of the other volume, which sends rbd-mirror away.
  void ForceTheOther();
  /// It would come back by itself in a minute.
  static void RestartMirrorDaemon();
  /// The copy comes to its end, and both sites hold the same.
  void ExpectNothingLeftOut();

  TestVolume other_;
  TestVolume volume_;
  uint64_t whole_ = 0;
  SeenSnapshot copy_;

 private:
  const int objects_at_once_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_INTEGRATION_INTERRUPTED_COPY_H_
