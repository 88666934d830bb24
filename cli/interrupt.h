#ifndef ADDONS_CLI_INTERRUPT_H_
#define ADDONS_CLI_INTERRUPT_H_

#include <csignal>

namespace addons {

/// The exit code of a command that a person ended with Ctrl-C.
inline constexpr int kCliInterrupted = 130;

/// While it exists SIGINT and SIGTERM do not end the process but are noted, so
/// that a command can say what goes on without it. A second one of the same
/// kind ends the process. One at a time in a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether one has come since it exists. Thread-safe.
  static bool Came();

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

}  // namespace addons

#endif  // ADDONS_CLI_INTERRUPT_H_
