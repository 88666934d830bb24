#ifndef ADDONS_CLI_INPUT_END_H_
#define ADDONS_CLI_INPUT_END_H_

#include <functional>
#include <thread>

#include "base/unique_fd.h"

namespace addons {

/// Waits, on a thread of its own, until whoever writes into a pipe is gone, and
/// says so once. It reads nothing: what was written before stays for others.
/// Anything but a pipe, a socket or a terminal never ends. Does not block, but
/// for the thread that begins and ends with it.
class InputEnd {
 public:
  /// `ended` is called on the thread, at most once. `input` is not owned, and
  /// stays open as long as this.
  InputEnd(int input, std::function<void()> ended);
  ~InputEnd();
  InputEnd(const InputEnd&) = delete;
  InputEnd& operator=(const InputEnd&) = delete;

 private:
  UniqueFd stop_;  // readable: stop
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_CLI_INPUT_END_H_
