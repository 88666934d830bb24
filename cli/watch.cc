#include "cli/watch.h"

#include <algorithm>
#include <sstream>
#include <stop_token>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/utc.h"
#include "cli/interrupt.h"

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How soon Ctrl-C is noticed.
constexpr milliseconds kTick{100};
/// To the upper left corner, and nothing below it.
constexpr char kClear[] = "\x1b[H\x1b[2J";

std::string Heading(const Streams& streams) {
  const std::string now = FormatUtc(absl::Now());
  if (streams.out_is_terminal) {
    return absl::StrCat(kClear, now, "  (Ctrl-C ends)\n\n");
  }
  switch (streams.format) {
    case OutputFormat::kText:
      return absl::StrCat("--- ", now, "\n");
    case OutputFormat::kYaml:
      return "---\n";
    case OutputFormat::kJson:
      break;
  }
  return "";
}

/// Until the time is over, or a person ends it.
void Pause(milliseconds pause) {
  const auto end = steady_clock::now() + pause;
  for (auto now = steady_clock::now(); now < end && !Interrupt::Came();
       now = steady_clock::now()) {
    RealClock().SleepFor(std::min<SteadyDuration>(kTick, end - now),
                         std::stop_token());
  }
}

}  // namespace

int RunWatched(milliseconds pause,
               const std::function<int(Streams& streams)>& run,
               Streams& streams) {
  const Interrupt interrupt;
  while (true) {
    std::ostringstream shown;
    Streams once{streams.in, shown,
                 streams.out_is_terminal ? shown : streams.err};
    once.format = streams.format;
    once.color = streams.color;
    once.wide = streams.wide;
    // Names are found once.
    once.typed_names = streams.typed_names;
    const int code = run(once);
    streams.typed_names = once.typed_names;
    if (Interrupt::Came()) return kCliInterrupted;
    if (code == kCliUsage) {
      streams.err << (streams.out_is_terminal ? shown.str() : "");
      return code;
    }
    streams.out << Heading(streams) << shown.str() << std::flush;
    Pause(pause);
    if (Interrupt::Came()) return kCliInterrupted;
  }
}

}  // namespace addons
