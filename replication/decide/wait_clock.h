#ifndef ADDONS_REPLICATION_DECIDE_WAIT_CLOCK_H_
#define ADDONS_REPLICATION_DECIDE_WAIT_CLOCK_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "replication/decide/promote.h"

namespace addons {

/// WaitClock::over_in is to this, rounded up.
inline constexpr std::chrono::seconds kForcibleStep{5};

/// What a promotion waits through.
enum class WaitsFor {
  kSilence,  // no sign of another site
  kPrimary,  // another site says that it is primary
  kRefusal,  // another site is to be demoted (RefusalStands()), and is silent
};

/// Since when a promotion sees of another site what it waits through, and when
/// that is over.
struct WaitClock {
  std::string site;  // "site 'site-b'", the one that was heard of last
  WaitsFor what = WaitsFor::kSilence;
  /// For how long calls that wait have seen that, and for how long they have
  /// to; only where `over_in` is known.
  std::chrono::seconds seen_for{0};
  std::chrono::seconds needed{0};
  /// How old its last report is, at least; nullopt: there is none.
  std::optional<std::chrono::seconds> report_age;
  /// In how long a call that waits is answered with FAILED_PRECONDITION, at
  /// which an operator forces it, if nothing changes: who reports goes on with
  /// that, who is silent stays so. Of a forced promotion in how long it goes
  /// on. nullopt: never as far as is seen, or something arrives meanwhile.
  std::optional<std::chrono::seconds> over_in;
  Force force = Force::kNo;
};

/// Of a promotion whose table says that it waits. nullopt: it does not wait for
/// another site, as a primary. `known` is the `over_in` that was found before
/// and is still in question: where it holds, nothing is searched. Pure.
std::optional<WaitClock> WaitClockOf(
    const PromoteSeen& seen,
    std::optional<std::chrono::seconds> known = std::nullopt);

/// "at about 03:12:40 UTC", of a moment that a call which waits now will see.
std::string MomentOf(WallTime moment);
/// "about 90 s after a call begins to wait", where none waits now.
std::string MomentAfterWait(std::chrono::seconds wait);

/// "no sign of site 'site-b' for 41 s of 90 s while calls wait (last report 48
/// s ago); forcing is offered at about 03:12:40 UTC if nothing changes".
/// `moment` is that of `over_in`. Without it how old the last report is; empty:
/// there is none.
std::string DescribeWaitClock(const WaitClock& clock, absl::string_view moment);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_WAIT_CLOCK_H_
