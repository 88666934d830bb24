#include "cli/input_end.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/start_thread.h"

namespace addons {

InputEnd::InputEnd(int input, std::function<void()> ended)
    : stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const int stop = stop_.get();
  auto thread =
      StartThread("input-end", [input, stop, ended = std::move(ended)] {
        // Without events an end is told, and no data.
        std::array<pollfd, 2> events{{{input, 0, 0}, {stop, POLLIN, 0}}};
        while (poll(events.data(), events.size(), -1) < 0 && errno == EINTR) {
        }
        if (events[0].revents != 0 && events[1].revents == 0) ended();
      });
  // Without a thread left in the system the end is not noticed.
  if (thread) thread_ = *std::move(thread);
}

InputEnd::~InputEnd() { eventfd_write(stop_.get(), 1); }

}  // namespace addons
