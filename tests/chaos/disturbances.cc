#include "tests/chaos/disturbances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace addons::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

Disturbances::Kind Disturbances::Away(const char* name, const char* daemon,
                                      int longest_s) const {
  return {name, longest_s,
          [this, daemon](const std::string& site, milliseconds away,
                         const Wait& wait) {
            actions_.testbed("stop", {site, daemon});
            wait(away);
            actions_.testbed("cont", {site, daemon});
            return true;
          }};
}

Disturbances::Kind Disturbances::Dies(const char* name, const char* daemon,
                                      int longest_s) const {
  return {name, longest_s,
          [this, daemon](const std::string& site, milliseconds away,
                         const Wait& wait) {
            actions_.testbed("kill", {site, daemon});
            wait(away);
            actions_.testbed("start", {site, daemon});
            return true;
          }};
}

Disturbances::Kind Disturbances::MirrorDies() const {
  return {"rbd-mirror dies", 40,
          [this](const std::string& site, milliseconds away, const Wait& wait) {
            actions_.testbed("stop", {site, "rbd-mirror"});
            if (!actions_.mirror_may_die(site)) {
              actions_.testbed("cont", {site, "rbd-mirror"});
              return false;
            }
            actions_.testbed("kill", {site, "rbd-mirror"});
            wait(away);
            actions_.testbed("start", {site, "rbd-mirror"});
            return true;
          }};
}

// Until the OSD dies the next time. Further apart than some minutes, daemons of
// Ceph do not let each other in.
Disturbances::Kind Disturbances::ClockIsWrong() const {
  return {
      "the OSD comes back with a wrong clock", 10,
      [this](const std::string& site, milliseconds away, const Wait& wait) {
        actions_.testbed("kill", {site, "osd"});
        wait(away);
        const int64_t late = away.count() % 480 - 240;
        actions_.testbed("start", {site, "osd", absl::StrFormat("%+ds", late)});
        return true;
      }};
}

Disturbances::Kind Disturbances::LinkIs(
    const char* name, int longest_s, const std::function<bool()>& begin,
    const std::function<bool()>& end) const {
  return {
      name, longest_s,
      [begin, end](const std::string&, milliseconds away, const Wait& wait) {
        EXPECT_TRUE(begin());
        wait(away);
        EXPECT_TRUE(end());
        return true;
      }};
}

std::vector<Disturbances::Kind> Disturbances::Kinds() const {
  std::vector<Kind> kinds = {
      Away("rbd-mirror hangs", "rbd-mirror", 40),
      Away("rbd-mirror is away for minutes", "rbd-mirror", 180),
      MirrorDies(),
      Away("the monitor hangs", "mon", 15),
      Dies("the monitor dies", "mon", 10),
      Dies("the manager dies", "mgr", 40),
      Away("the manager hangs", "mgr", 40),
      Away("the OSD hangs", "osd", 15),
      {"the daemon dies", 0,
       [this](const std::string& site, milliseconds, const Wait&) {
         actions_.restart(site);
         return true;
       }},
      {"the daemon hangs", 20,
       [this](const std::string& site, milliseconds away, const Wait& wait) {
         actions_.signal(site, SIGSTOP);
         wait(away);
         actions_.signal(site, SIGCONT);
         return true;
       }},
      {"the pool is full", 20,
       [this](const std::string& site, milliseconds away, const Wait& wait) {
         const auto allow = [&](const char* objects) {
           actions_.testbed("ceph", {site, "osd", "pool", "set-quota",
                                     "replicapool", "max_objects", objects});
         };
         allow("1");
         wait(away);
         allow("0");
         return true;
       }},
  };
  if (actions_.osds_survive) {
    kinds.push_back(Dies("the OSD dies and comes back elsewhere", "osd", 10));
    kinds.push_back(ClockIsWrong());
  }
  if (actions_.cut) {
    // Shorter than the settle time by what TCP needs to try again, and by the
    // half minute between two reports.
    kinds.push_back(LinkIs("the link is cut", 30, actions_.cut, actions_.mend));
    kinds.push_back(
        LinkIs("the link is slow", 60, actions_.slow_down, actions_.speed_up));
  }
  return kinds;
}

void Disturbances::StartWhatEnded(const std::string& dead) const {
  for (const std::string site : {"a", "b"}) {
    actions_.look_after_daemon(site);
    if (site != dead) actions_.testbed("start", {site, "mgr"});
  }
}

void Disturbances::Run(uint64_t seed, int most, const std::string& dead,
                       const std::function<bool(milliseconds)>& done_within) {
  std::mt19937_64 random(seed);
  const std::vector<Kind> kinds = Kinds();
  for (int i = 0; i < most; ++i) {
    // All numbers are drawn, also where one is not used, so that what comes
    // next does not depend on how long things took.
    const uint64_t pause = random() % 25000;
    const Kind& kind = kinds[random() % kinds.size()];
    std::string site = random() % 2 == 0 ? "a" : "b";
    const uint64_t share = random() % 1000;
    const auto until =
        std::min<milliseconds>(actions_.longest, milliseconds(2000 + pause));
    if (done_within(until)) return;
    StartWhatEnded(dead);
    if (site == dead) site = dead == "a" ? "b" : "a";
    const milliseconds away(
        std::min(actions_.longest, seconds(kind.longest_s)) * share / 1000);
    std::cerr << "    " << site << ": " << kind.name
              << (kind.longest_s > 0
                      ? absl::StrCat(", ", away.count() / 1000, " s")
                      : "")
              << std::endl;
    const bool happened = kind.happen(
        site, away, [&](milliseconds time) { (void)done_within(time); });
    if (happened) {
      ++counts_[kind.name];
    } else {
      std::cerr << "      not now" << std::endl;
    }
  }
  while (!done_within(seconds(10))) StartWhatEnded(dead);
}

}  // namespace addons::testing
