#include "tests/chaos/disturbances.h"

#include <csignal>
#include <iostream>

#include "absl/strings/str_cat.h"

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
          }};
}

std::vector<Disturbances::Kind> Disturbances::Kinds() const {
  // rbd-mirror is stopped and continued, never killed: one that was killed in
  // the middle of a copy goes on one object too late (docs/replication.md, "A
  // copy that was interrupted"), and what is lost then is not our doing.
  std::vector<Kind> kinds = {
      Away("rbd-mirror hangs", "rbd-mirror", 40),
      Away("rbd-mirror is away for minutes", "rbd-mirror", 180),
      Away("the monitor hangs", "mon", 15),
      Dies("the monitor dies", "mon", 10),
      Dies("the manager dies", "mgr", 40),
      Away("the manager hangs", "mgr", 40),
      Away("the OSD hangs", "osd", 15),
      {"the daemon dies", 0,
       [this](const std::string& site, milliseconds, const Wait&) {
         actions_.restart(site);
       }},
      {"the daemon hangs", 20,
       [this](const std::string& site, milliseconds away, const Wait& wait) {
         actions_.signal(site, SIGSTOP);
         wait(away);
         actions_.signal(site, SIGCONT);
       }},
      {"the pool is full", 20,
       [this](const std::string& site, milliseconds away, const Wait& wait) {
         actions_.testbed("ceph", {site, "osd", "pool", "set-quota",
                                   "replicapool", "max_objects", "1"});
         wait(away);
         actions_.testbed("ceph", {site, "osd", "pool", "set-quota",
                                   "replicapool", "max_objects", "0"});
       }},
  };
  if (actions_.osds_survive) {
    kinds.push_back(Dies("the OSD dies and comes back elsewhere", "osd", 10));
  }
  if (actions_.slow_link) {
    kinds.push_back(
        {"the link is slow", 40,
         [this](const std::string&, milliseconds away, const Wait& wait) {
           actions_.slow_link(true);
           wait(away);
           actions_.slow_link(false);
         }});
  }
  return kinds;
}

void Disturbances::Run(uint64_t seed, int most, const std::string& dead,
                       const std::function<bool(milliseconds)>& done_within) {
  std::mt19937_64 random(seed);
  const std::vector<Kind> kinds = Kinds();
  for (int i = 0; i < most; ++i) {
    // All numbers are drawn, also where one is not used, so that what comes
    // next does not depend on how long things took.
    const milliseconds until(2000 + random() % 25000);
    const Kind& kind = kinds[random() % kinds.size()];
    std::string site = random() % 2 == 0 ? "a" : "b";
    const uint64_t share = random() % 1000;
    if (done_within(until)) return;
    if (site == dead) site = dead == "a" ? "b" : "a";
    const milliseconds away(seconds(kind.longest_s) * share / 1000);
    std::cerr << "    " << site << ": " << kind.name
              << (kind.longest_s > 0
                      ? absl::StrCat(", ", away.count() / 1000, " s")
                      : "")
              << std::endl;
    kind.happen(site, away,
                [&](milliseconds time) { (void)done_within(time); });
    ++counts_[kind.name];
  }
}

}  // namespace addons::testing
