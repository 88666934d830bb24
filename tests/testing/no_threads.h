#ifndef ADDONS_TESTS_TESTING_NO_THREADS_H_
#define ADDONS_TESTS_TESTING_NO_THREADS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/start_thread.h"

namespace addons::testing {

/// Starts `first` threads and none after them, as in a pod that has come to its
/// limit of processes.
inline ThreadStarter NoThreads(int first = 0) {
  return [left = std::make_shared<std::atomic<int>>(first)](
             const std::string& name,
             std::function<void()> run) -> std::optional<std::jthread> {
    if ((*left)-- <= 0) return std::nullopt;
    return StartThread(name, std::move(run));
  };
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_NO_THREADS_H_
