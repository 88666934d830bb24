#include "server/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/start_thread.h"

namespace addons {

void HoldHangups() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  // Fails for a wrong argument only.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

absl::StatusOr<std::unique_ptr<TerminationSignals>> TerminationSignals::Block(
    const ThreadStarter& start) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0 ||
      sigaction(SIGPIPE, &ignore, nullptr) != 0) {
    return absl::InternalError("Failed to block signals");
  }
  UniqueFd signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals.valid() || !wake.valid()) {
    return absl::InternalError(
        absl::StrCat("Failed to watch for signals: errno ", errno));
  }
  std::unique_ptr<TerminationSignals> self(
      new TerminationSignals(std::move(signals), std::move(wake)));
  self->thread_ =
      start("second-signal", [raw = self.get()] { raw->CallOnNext(); });
  if (!self->thread_) {
    return absl::InternalError(
        "Failed to start a thread that waits for signals: raise the limit of "
        "processes");
  }
  return self;
}

TerminationSignals::TerminationSignals(UniqueFd signals, UniqueFd wake)
    : signals_(std::move(signals)), wake_(std::move(wake)) {}

TerminationSignals::~TerminationSignals() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  const uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  [[maybe_unused]] const ssize_t written =
      write(wake_.get(), &one, sizeof(one));
}

int TerminationSignals::Next() {
  std::array<pollfd, 2> events = {pollfd{wake_.get(), POLLIN, 0},
                                  pollfd{signals_.get(), POLLIN, 0}};
  while (true) {
    poll(events.data(), events.size(), -1);
    if (events[0].revents != 0) return 0;
    signalfd_siginfo info{};
    if (read(signals_.get(), &info, sizeof(info)) ==
        static_cast<ssize_t>(sizeof(info))) {
      return static_cast<int>(info.ssi_signo);
    }
  }
}

int TerminationSignals::Wait(absl::FunctionRef<void()> reload) {
  int signal = Next();
  for (; signal == SIGHUP; signal = Next()) reload();
  return signal;
}

void TerminationSignals::OnNext(std::function<void(int signal)> handler) {
  const MutexLock lock(mutex_);
  handler_ = std::move(handler);
  changed_.NotifyAll();
}

void TerminationSignals::CallOnNext() {
  std::function<void(int)> handler;
  {
    const MutexLock lock(mutex_);
    while (!ending_ && handler_ == nullptr) changed_.Wait(mutex_);
    if (ending_) return;
    handler = handler_;
  }
  int signal = Next();
  while (signal == SIGHUP) signal = Next();
  if (signal != 0) handler(signal);
}

}  // namespace addons
