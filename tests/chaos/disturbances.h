#ifndef ADDONS_TESTS_CHAOS_DISTURBANCES_H_
#define ADDONS_TESTS_CHAOS_DISTURBANCES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace addons::testing {

/// What goes wrong at two sites while something is being done there: daemons of
/// Ceph and ours that die, hang or are away for minutes, OSDs that come back at
/// another address or with a wrong clock, pools that are full, a link that is
/// cut or slow. Which and when follows from a seed. To be used by the thread
/// that started the daemons, because they die with it.
class Disturbances {
 public:
  struct Actions {
    /// `scripts/testbed COMMAND DIR ARGUMENTS...`
    std::function<void(const std::string& command,
                       const std::vector<std::string>& arguments)>
        testbed;
    /// Kills and starts our daemon of a site.
    std::function<void(const std::string& site)> restart;
    /// Fails the test where it has ended by itself, and starts it again.
    std::function<void(const std::string& site)> look_after_daemon;
    /// Sends a signal to it.
    std::function<void(const std::string& site, int signal)> signal;
    /// Of the link between the sites; each false: the system refused. Null:
    /// nothing can be done to it.
    std::function<bool()> cut, mend, slow_down, speed_up;
    /// Whether the rbd-mirror of a site, which is stopped, may be killed now.
    std::function<bool(const std::string& site)> mirror_may_die;
    /// What kill -9 does to a bluestore OSD, a memstore one does not survive.
    bool osds_survive = false;
    /// Nothing lasts longer, and no pause between two of them.
    std::chrono::seconds longest{600};
  };

  explicit Disturbances(Actions actions) : actions_(std::move(actions)) {}

  /// One after the other until `done`, but at most `most`: a site whose
  /// rbd-mirror never lives for the settle time rightly decides nothing. Each
  /// is undone before the next. `dead`: a site that is left alone, or empty.
  /// Managers that have ended are started again until the end, as systemd
  /// does, and so is a daemon of ours, whose end is a failure.
  /// `done_within` waits for the end of what is disturbed.
  void Run(uint64_t seed, int most, const std::string& dead,
           const std::function<bool(std::chrono::milliseconds)>& done_within);

  /// How often each kind was done.
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  using Wait = std::function<void(std::chrono::milliseconds)>;
  struct Kind {
    const char* name;
    int longest_s;  // 0: it takes no time
    /// False: it could not be done now, and was not.
    std::function<bool(const std::string& site, std::chrono::milliseconds away,
                       const Wait& wait)>
        happen;
  };
  std::vector<Kind> Kinds() const;
  Kind Away(const char* name, const char* daemon, int longest_s) const;
  Kind Dies(const char* name, const char* daemon, int longest_s) const;
  Kind MirrorDies() const;
  /// One that was stopped for longer than the monitor waits for its beacon is
  /// no longer the active one when it goes on, and ends.
  void StartWhatEnded(const std::string& dead) const;
  Kind ClockIsWrong() const;
  Kind LinkIs(const char* name, int longest_s,
              const std::function<bool()>& begin,
              const std::function<bool()>& end) const;

  const Actions actions_;
  std::map<std::string, int> counts_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_DISTURBANCES_H_
