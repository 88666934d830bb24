#ifndef ADDONS_CLI_INTERRUPT_H_
#define ADDONS_CLI_INTERRUPT_H_

#include <csignal>

namespace addons {

/// The exit code of a command that a person ended with Ctrl-C.
inline constexpr int kCliInterrupted = 130;

/// While it exists SIGINT and SIGTERM do not end the process but are noted, so
/// that a command can say what goes on without it. A second one of the same
/// kind ends the process. Within another one it does nothing of its own. By one
/// thread of a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether one has come since the outermost one exists, or the last one
  /// existed. Thread-safe.
  static bool Came();

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

}  // namespace addons

#endif  // ADDONS_CLI_INTERRUPT_H_
