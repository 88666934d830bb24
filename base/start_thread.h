#ifndef ADDONS_BASE_START_THREAD_H_
#define ADDONS_BASE_START_THREAD_H_

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace addons {

/// The one place where threads are made; docs/architecture.md lists for what.
/// `name`, of which 15 bytes count, is what top -H and debuggers show.
///
/// nullopt: the system has no thread left, or no memory for one. In a pod with
/// a limit of processes that happens. Whoever asks can always go on without.
std::optional<std::jthread> StartThread(const std::string& name,
                                        std::function<void()> run);

/// StartThread(), or what a test gives instead.
using ThreadStarter = std::function<std::optional<std::jthread>(
    const std::string& name, std::function<void()> run)>;

}  // namespace addons

#endif  // ADDONS_BASE_START_THREAD_H_
