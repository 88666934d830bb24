// A disaster and many relocations with rbd-mirror's default intervals; in each
// an rbd-mirror of either site, or of both, is stopped, killed or restarted at
// a moment of chance. RBD_ADDONS_LONG_COUNT sets how many relocations there
// are, RBD_ADDONS_LONG_SEED repeats a run.

#include <algorithm>
#include <future>
#include <iostream>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/chaos/mirror_outages.h"
#include "tests/testing/long_run.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// What is asked for in a relocation begins so long after the first moment at
/// which an rbd-mirror may end, and so long before the last one.
constexpr seconds kHalfOfTheMoments{60};
constexpr seconds kLongestAbsence{240};

class LongRelocationsTest : public MirrorOutagesTest {
 public:
  static void SetUpTestSuite() { StartDaemonsWithDefaultTimes(); }

 protected:
  struct Event {
    seconds at;
    std::string site;
    std::optional<MirrorEnd> end;  // nullopt: it is started
  };
  using Events = std::vector<Event>;

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  void Say(const std::string& text) const {
    const auto passed =
        std::chrono::duration_cast<seconds>(steady_clock::now() - began_);
    std::cerr << passed.count() << " s: " << text << std::endl;
  }

  /// One absence of the rbd-mirror of `site`, or a restart.
  void Draw(const std::string& site, Events* events) {
    const seconds at(Below(2 * kHalfOfTheMoments.count() + 1));
    const MirrorEnd how =
        Below(2) == 0 ? MirrorEnd::kTerminated : MirrorEnd::kKilled;
    const seconds away(Below(kLongestAbsence.count() + 1));
    const bool restarted = Below(3) == 0;
    events->push_back({at, site, how});
    events->push_back({restarted ? at : at + away, site, std::nullopt});
  }
  Events DrawForEither() {
    const std::string site = Below(2) == 0 ? "a" : "b";
    Events events;
    Draw(site, &events);
    if (Below(4) == 0) Draw(Other(site), &events);
    return events;
  }
  /// Lets them happen, counted from now; in a thread of its own.
  std::future<void> Happen(Events events) {
    std::stable_sort(
        events.begin(), events.end(),
        [](const Event& one, const Event& two) { return one.at < two.at; });
    return std::async(
        std::launch::async, [this, events, start = steady_clock::now()] {
          for (const Event& event : events) {
            RealClock().SleepFor(start + event.at - steady_clock::now(),
                                 std::stop_token());
            if (!event.end.has_value()) {
              Say(absl::StrCat("  rbd-mirror of ", event.site, " is started"));
              StartMirrorDaemon(event.site);
              continue;
            }
            const bool killed = *event.end == MirrorEnd::kKilled;
            Say(absl::StrCat("  rbd-mirror of ", event.site,
                             killed ? " is killed" : " is stopped"));
            EndMirrorDaemon(event.site, *event.end);
          }
        });
  }
  Applications All() const {
    Applications all;
    for (const auto& each : applications_) all.push_back(each.get());
    return all;
  }

  /// `goes_on`: for how long a workload goes on after both sites were asked.
  void Relocate(Application& application, bool orderly, seconds goes_on) {
    Volume& resource = *application.resource;
    const std::string from = application.at;
    const std::string to = Other(from);
    Want(resource, from, Role::kSecondary);
    if (!orderly) Create(resource, to, Role::kPrimary);
    RealClock().SleepFor(goes_on, std::stop_token());
    const uint64_t written = Rest(application);
    if (orderly) {
      AwaitState(resource, from, Role::kSecondary, minutes(20));
      Create(resource, to, Role::kPrimary);
    }
    ArriveByMove(application, to, written, minutes(20));
    CleanUp(resource, from, minutes(20));
  }
  void RelocateAll(uint64_t number) {
    const bool orderly = Below(2) == 0;
    std::vector<seconds> goes_on;
    for (size_t i = 0; i < applications_.size(); ++i) {
      goes_on.emplace_back(Below(3) == 0 ? Below(91) : Below(5));
    }
    Say(absl::StrCat(
        "relocation ", number, " to ", Other(applications_.front()->at),
        orderly ? ", one side after the other" : ", both at once"));
    std::future<void> events = Happen(DrawForEither());
    RealClock().SleepFor(kHalfOfTheMoments, std::stop_token());
    Say("  asked for");
    size_t next = 0;
    std::vector<std::future<void>> running;
    for (const auto& each : applications_) {
      running.push_back(std::async(
          std::launch::async,
          [this, orderly, each = each.get(), time = goes_on[next++]] {
            Relocate(*each, orderly, time);
          }));
    }
    for (auto& each : running) each.get();
    Say("  moved and cleaned up");
    events.get();
    if (!HasFailure()) ExpectAllInStep();
  }
  void LoseASite() {
    const std::string site = applications_.front()->at;
    Say(absl::StrCat("site ", site, " dies"));
    SendState(All(), site);
    Events events;
    Draw(Other(site), &events);
    for (Application* each : All()) (void)Rest(*each);
    StopSite(site);
    std::future<void> happen = Happen(events);
    AtOnce(All(), [&](Application& each) { TakeOver(each, site); });
    Say("  taken over");
    happen.get();
    ContinueSite(site);
    Say(absl::StrCat("site ", site, " is back"));
    happen = Happen(DrawForEither());
    AtOnce(All(), [&](Application& each) {
      Want(*each.resource, site, Role::kSecondary);
      CleanUp(*each.resource, site, minutes(40));
    });
    Say("  cleaned up");
    happen.get();
    if (!HasFailure()) ExpectAllInStep();
  }

  std::mt19937_64 random_;
  const steady_clock::time_point began_ = steady_clock::now();
};

TEST_F(LongRelocationsTest, NothingIsLostWhateverBecomesOfRbdMirror) {
  const uint64_t seed =
      FromEnvironment("RBD_ADDONS_LONG_SEED", std::random_device()());
  const uint64_t relocations = FromEnvironment("RBD_ADDONS_LONG_COUNT", 20);
  random_.seed(seed);
  Say(absl::StrCat("seed ", seed, ": ", relocations,
                   " relocations and a disaster"));
  Make(4, 2);
  for (uint64_t number = 1; number <= relocations && !HasFailure(); ++number) {
    RelocateAll(number);
    if (number == (relocations + 1) / 2 && !HasFailure()) LoseASite();
  }
  Say(absl::StrCat("seed ", seed, HasFailure() ? ": failed" : ": passed"));
}

}  // namespace
}  // namespace addons::testing
