#include "base/start_thread.h"

#include <pthread.h>

#include <cstddef>
#include <exception>
#include <utility>

namespace addons {
namespace {

void SetName(const std::string& name) {
  constexpr size_t kLongest = 15;  // the kernel's limit
  // Fails for none but a longer name.
  pthread_setname_np(pthread_self(), name.substr(0, kLongest).c_str());
}

}  // namespace

std::optional<std::jthread> StartThread(const std::string& name,
                                        std::function<void()> run) {
  try {
    return std::jthread([name, run = std::move(run)] {
      SetName(name);
      run();
    });
  } catch (const std::exception&) {  // std::system_error, std::bad_alloc
    return std::nullopt;
  }
}

}  // namespace addons
