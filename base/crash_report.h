#ifndef ADDONS_BASE_CRASH_REPORT_H_
#define ADDONS_BASE_CRASH_REPORT_H_

#include <csignal>

#include "base/log_format.h"

namespace addons {

/// What is known in the handler of a fatal signal.
struct CrashReport {
  int signal = 0;
  const siginfo_t* info = nullptr;  // the handler's second argument
  const void* context = nullptr;    // its third one
};

/// Loads what WriteCrashReport() needs and must not load itself. Blocks for
/// some milliseconds; call it before the handlers are installed, and once all
/// libraries that the program links are loaded.
void PrepareCrashReport();

/// Writes to `fd` why the process dies, and the back trace of this thread, as
/// lines of the log: of the signal one, and of each function one, the innermost
/// first. They name addresses, libraries and functions only, never what is in
/// memory. Functions have names where the file has symbols; `at`, the file with
/// an address in it, is what addr2line wants of a file that has been stripped.
///
/// Async-signal-safe: takes no memory and no lock, and waits for a reader of
/// `fd` for a second at most. A thread without room left on its stack needs
/// one for handlers of signals (base/crash_stack.h).
void WriteCrashReport(const CrashReport& report, LogFormat format, int fd);

}  // namespace addons

#endif  // ADDONS_BASE_CRASH_REPORT_H_
