// The states that a crash leaves: every verb of the same objects, from every
// one of them, ends in OK or in an answer that names the way out, and loses
// nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/log.h"
#include "tests/faults/contents.h"
#include "tests/faults/scenario.h"
#include "tests/rpc/error_code_table.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;

/// A death that leaves a state which none before it has left.
struct CrashState {
  const Scenario* scenario = nullptr;
  Position position;
  Strike strike = Strike::kDieBefore;
  Contents contents;

  std::string Name() const {
    return absl::StrCat(scenario->name, ", ", position.site, " ", position.call,
                        " #", position.occurrence, ": ",
                        addons::testing::Name(Fault{strike}));
  }
};

/// What somebody may ask for in such a state.
struct Verb {
  std::string name;
  std::string service;
  std::string rpc;
  std::function<absl::Status(Rig&)> call;
  bool force = false;
};

/// Groups that were made in this run have random ids; those of volumes begin
/// with the same digits.
std::string WithoutRandomIds(const std::string& text) {
  constexpr size_t kLength = 36;
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const std::string part = text.substr(at, kLength);
    const bool uuid = part.size() == kLength && part[8] == '-' &&
                      part[13] == '-' && part[18] == '-' && part[23] == '-' &&
                      std::all_of(part.begin(), part.end(), [](char c) {
                        return c == '-' || absl::ascii_isxdigit(
                                               static_cast<unsigned char>(c));
                      });
    if (uuid && !absl::StartsWith(part, "5ef79ce1")) {
      result += "<group>";
      at += kLength;
    } else {
      result += text[at++];
    }
  }
  return result;
}

/// What is there, but for what ends by itself.
Contents LeftBy(const Rig& rig) {
  Contents both = ContentsOf(rig, rig.a_);
  both.merge(ContentsOf(rig, rig.b_));
  DropTracesOfTheDead(&both);
  Contents left;
  for (const auto& [key, value] : both) {
    if (absl::StrContains(key, ": lock ") || absl::EndsWith(key, " watchers")) {
      continue;
    }
    left[WithoutRandomIds(key)] = WithoutRandomIds(value);
  }
  return left;
}

constexpr int kMostCalls = 40;
constexpr seconds kPause{20};

/// The processes have died there; nullptr: the call was not reached.
std::unique_ptr<Rig> Reach(const Scenario& scenario, const Position& position,
                           Strike strike) {
  auto rig = Prepared(scenario);
  Injector injector(rig->world_, position, {strike});
  rig->SetInjector(&injector);
  for (int call = 0; call < kMostCalls && !injector.dead(); ++call) {
    try {
      if (scenario.call(*rig).ok()) break;
    } catch (const FakeCrash&) {
      break;
    }
    if (!injector.dead()) rig->world_.Advance(kPause);
  }
  const bool dead = injector.dead();
  rig->Restart();
  rig->SetInjector(nullptr);
  return dead ? std::move(rig) : nullptr;
}

/// All states that deaths in these scenarios leave, each once.
std::vector<CrashState> StatesOf(const std::vector<Scenario>& scenarios) {
  std::vector<CrashState> states;
  std::set<Contents> known;
  for (const Scenario& scenario : scenarios) {
    const auto undisturbed = Prepared(scenario);
    for (int call = 0; call < kMostCalls; ++call) {
      if (scenario.call(*undisturbed).ok()) break;
      undisturbed->world_.Advance(kPause);
    }
    std::map<std::pair<std::string, std::string>, int> made;
    for (const CallRecord& call : undisturbed->world_.Calls()) {
      const int occurrence = ++made[{call.site, call.call}];
      // A death between two changes leaves what one right after the first does.
      if (!call.mutation) continue;
      for (const Strike strike : {Strike::kDieBefore, Strike::kDieAfter}) {
        const Position position{call.site, call.call, occurrence};
        const auto rig = Reach(scenario, position, strike);
        if (rig == nullptr) continue;
        Contents contents = LeftBy(*rig);
        if (!known.insert(contents).second) continue;
        states.push_back({&scenario, position, strike, std::move(contents)});
      }
    }
  }
  return states;
}

// --- the verbs

constexpr char kReplication[] = "replication.Controller";

void AddOnSite(const std::string& name, std::vector<Verb>* all,
               const std::string& rpc,
               const std::function<absl::Status(Rig&, FakeSite&)>& call,
               bool force = false, const std::string& service = kReplication) {
  for (const bool a : {true, false}) {
    all->push_back(
        {absl::StrCat(name, a ? " on a" : " on b"), service, rpc,
         [call, a](Rig& rig) { return call(rig, a ? rig.a_ : rig.b_); },
         force});
  }
}

std::vector<Verb> VolumeVerbs() {
  std::vector<Verb> all;
  AddOnSite("Enable", &all, "EnableVolumeReplication",
            [](Rig& rig, FakeSite& site) { return rig.Enable(site); });
  AddOnSite("Disable", &all, "DisableVolumeReplication",
            [](Rig& rig, FakeSite& site) { return rig.Disable(site); });
  AddOnSite(
      "Disable by force", &all, "DisableVolumeReplication",
      [](Rig& rig, FakeSite& site) {
        return rig.Disable(site, {{"force", "true"}});
      },
      true);
  AddOnSite("Promote", &all, "PromoteVolume", [](Rig& rig, FakeSite& site) {
    return rig.Promote(site, Force::kNo);
  });
  AddOnSite(
      "Promote by force", &all, "PromoteVolume",
      [](Rig& rig, FakeSite& site) { return rig.Promote(site, Force::kYes); },
      true);
  AddOnSite("Demote", &all, "DemoteVolume",
            [](Rig& rig, FakeSite& site) { return rig.Demote(site); });
  AddOnSite("Resync", &all, "ResyncVolume", [](Rig& rig, FakeSite& site) {
    return rig.Resync(site, Force::kNo);
  });
  AddOnSite(
      "Resync by force", &all, "ResyncVolume",
      [](Rig& rig, FakeSite& site) { return rig.Resync(site, Force::kYes); },
      true);
  AddOnSite("Info", &all, "GetVolumeReplicationInfo",
            [](Rig& rig, FakeSite& site) { return rig.Info(site); });
  AddOnSite("Destination", &all, "GetReplicationDestinationInfo",
            [](Rig& rig, FakeSite& site) { return rig.Destination(site); });
  AddOnSite(
      "Reclaim", &all, "ControllerReclaimSpace",
      [](Rig& rig, FakeSite& site) { return rig.Reclaim(site); }, false,
      "reclaimspace.ReclaimSpaceController");
  return all;
}

std::vector<Verb> MembersVerbs() {
  std::vector<Verb> all;
  AddOnSite("Enable", &all, "EnableVolumeReplication",
            [](Rig& rig, FakeSite& site) { return rig.EnableMembers(site); });
  AddOnSite("Disable", &all, "DisableVolumeReplication",
            [](Rig& rig, FakeSite& site) { return rig.DisableMembers(site); });
  AddOnSite("Promote", &all, "PromoteVolume", [](Rig& rig, FakeSite& site) {
    return rig.PromoteMembers(site, Force::kNo);
  });
  AddOnSite(
      "Promote by force", &all, "PromoteVolume",
      [](Rig& rig, FakeSite& site) {
        return rig.PromoteMembers(site, Force::kYes);
      },
      true);
  AddOnSite("Demote", &all, "DemoteVolume",
            [](Rig& rig, FakeSite& site) { return rig.DemoteMembers(site); });
  AddOnSite("Resync", &all, "ResyncVolume", [](Rig& rig, FakeSite& site) {
    return rig.ResyncMembers(site, Force::kNo);
  });
  AddOnSite(
      "Resync by force", &all, "ResyncVolume",
      [](Rig& rig, FakeSite& site) {
        return rig.ResyncMembers(site, Force::kYes);
      },
      true);
  AddOnSite("Info", &all, "GetVolumeReplicationInfo",
            [](Rig& rig, FakeSite& site) { return rig.MembersInfo(site); });
  return all;
}

std::vector<Verb> GroupVerbs() {
  constexpr char kGroups[] = "volumegroup.Controller";
  // Nobody can name a group whose id was never answered.
  const auto named = [](const std::function<absl::Status(Rig&)>& call) {
    return [call](Rig& rig) {
      return rig.group_id_.empty() ? absl::OkStatus() : call(rig);
    };
  };
  return {
      {"Create", kGroups, "CreateVolumeGroup",
       [](Rig& rig) {
         return rig.CreateGroup(rig.a_, {rig.ids_[0], rig.ids_[1]});
       }},
      {"Modify", kGroups, "ModifyVolumeGroupMembership", named([](Rig& rig) {
         return rig.ModifyGroup(rig.a_, {rig.ids_[0], rig.ids_[2]});
       })},
      {"Empty", kGroups, "ModifyVolumeGroupMembership",
       named([](Rig& rig) { return rig.ModifyGroup(rig.a_, {}); })},
      {"Delete", kGroups, "DeleteVolumeGroup",
       named([](Rig& rig) { return rig.DeleteGroup(rig.a_); })},
      {"Get", kGroups, "ControllerGetVolumeGroup",
       named([](Rig& rig) { return rig.GetGroup(rig.a_); })},
      {"List", kGroups, "ListVolumeGroups",
       [](Rig& rig) { return rig.ListGroups(rig.a_); }},
  };
}

std::vector<Verb> FenceVerbs() {
  constexpr char kFences[] = "fence.FenceController";
  const Rig::Ranges ranges = {"192.168.1.0/24", "192.168.9.9"};
  return {{"Fence", kFences, "FenceClusterNetwork",
           [ranges](Rig& rig) { return rig.Fence(rig.a_, ranges); }},
          {"Unfence", kFences, "UnfenceClusterNetwork",
           [ranges](Rig& rig) { return rig.Unfence(rig.a_, ranges); }},
          {"List", kFences, "ListClusterFence",
           [](Rig& rig) { return rig.ListFences(rig.a_); }},
          {"Clients", kFences, "GetFenceClients",
           [](Rig& rig) { return rig.FenceClients(rig.a_); }}};
}

// --- what must hold

/// The answers in which a verb may end where it cannot succeed: code, and what
/// its text says about the way out.
struct WayOut {
  std::string rpc;  // empty: any
  absl::StatusCode code;
  std::string says;
};

const std::vector<WayOut>& WaysOut() {
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  static const auto* const all = new std::vector<WayOut>{
      // A site or a manager is away: until it is back.
      {"", kUnavailable, "could not be asked: Failed to connect"},
      {"ControllerReclaimSpace", absl::StatusCode::kAborted,
       "could not be asked: Failed to connect"},
      {"", kUnavailable, "rbd_support module does not answer"},
      // There is no such copy, or no journal of it, on this site.
      {"", kNotFound, "on a peer site a volume is known once"},
      {"", kNotFound, "on a peer site a group is known once"},
      {"", kNotFound, "the journal names it, but the pool has no such image"},
      {"", kNotFound, "remove it from the group if it was deleted"},
      {"", kUnavailable, "remove it from the group if it was deleted"},
      // Nobody copies it.
      {"GetVolumeReplicationInfo", kNotFound,
       "no peer has reported on the image yet; check rbd-mirror"},
      // It is not mirrored.
      {"", kPrecondition, "replication is not enabled"},
      {"", kUnavailable, "replication is not enabled"},
      {"", kPrecondition, "enable it first"},
      // A disable was interrupted.
      {"", kPrecondition, "disable it once more"},
      {"", kUnavailable, "disable it once more"},
      {"EnableVolumeReplication", kPrecondition, "disable replication before"},
      {"EnableVolumeReplication", kPrecondition, "it is a clone of"},
      {"DisableVolumeReplication", kPrecondition, "pass the parameter force"},
      {"DisableVolumeReplication", kUnavailable, "whether the peer lives"},
      {"DisableVolumeReplication", kUnavailable, "promote the image by force"},
      {"PromoteVolume", kPrecondition, "forcing returns to"},
      {"PromoteVolume", kPrecondition, "forcing promotes each member"},
      {"PromoteVolume", kUnavailable, "demote it there"},
      {"PromoteVolume", kUnavailable, "start rbd-mirror here"},
      {"PromoteVolume", kUnavailable, "demotion has not arrived yet"},
      {"PromoteVolume", kUnavailable, "no snapshot has arrived completely"},
      // This site's copy does not follow, whatever time passes.
      {"PromoteVolume", kUnavailable, "is not here: promote that site"},
      // Demoted by another program, and the copy of that stands still.
      {"PromoteVolume", kUnavailable, "or force by hand with"},
      {"DemoteVolume", kUnavailable, "check that rbd-mirror of the other site"},
      {"DemoteVolume", kUnavailable, "promote it on this site"},
      {"DemoteVolume", kUnavailable, "resync the image there first"},
      {"ResyncVolume", kPrecondition, "demote it first"},
      {"ResyncVolume", kPrecondition, "set autoResync: true"},
      {"ResyncVolume", kUnavailable, "nothing is being copied; start it"},
      {"ResyncVolume", kUnavailable, "check rbd-mirror of both sites"},
      {"ResyncVolume", kUnavailable, "for both sites to report"},
      {"ResyncVolume", kUnavailable, "promote that site, then this copy"},
      // The peer's forced promotion is half-done, which its own repeat ends.
      {"ResyncVolume", kUnavailable,
       "rbd-mirror of this site reports an error"},
      {"CreateVolumeGroup", kPrecondition, "take it out of that group first"},
      {"DeleteVolumeGroup", kPrecondition,
       "take them out with ModifyVolumeGroupMembership first"},
  };
  return *all;
}

const std::set<ErrorCodeRow>& Rows() {
  static const auto* const rows =
      new std::set<ErrorCodeRow>(ReadErrorCodeRows(ADDONS_ERROR_CODES));
  return *rows;
}

/// The newest whole content of each image, the one that a half-done forced
/// promotion keeps in its rescue image included.
std::map<std::string, uint64_t> WholeContents(const Rig& rig) {
  std::map<std::string, uint64_t> newest;
  for (const FakeSite* const site : {&rig.a_, &rig.b_}) {
    for (const auto& [key, value] : site->Contents()) {
      unsigned long content = 0;
      if (!absl::EndsWith(key, " data") ||
          std::sscanf(value.c_str(), "whole %lu", &content) != 1) {
        continue;
      }
      uint64_t& known =
          newest[absl::StrReplaceAll(key, {{"rbd-addons-rescue.", ""}})];
      known = std::max<uint64_t>(known, content);
    }
  }
  return newest;
}

/// A verb in a state, repeated as its caller does.
class Attempt {
 public:
  Attempt(const CrashState& state, const Verb& verb)
      : verb_(verb),
        rig_(Reach(*state.scenario, state.position, state.strike)) {
    if (rig_ == nullptr) {
      wrong_.push_back("the state was not reached again");
      return;
    }
    const auto before = WholeContents(*rig_);
    for (int call = 0; call < kMost && !status_.ok(); ++call) {
      if (call > 0) rig_->world_.Advance(kPause);
      status_ = verb_.call(*rig_);
      Judge();
    }
    JudgeEnd();
    rig_->a_.SetClusterUp(true);
    rig_->world_.Advance(std::chrono::minutes(2));
    const auto after = WholeContents(*rig_);
    // What had not arrived is lost by the scenario's own force.
    const bool forced = absl::StrContains(state.scenario->name, "Forced");
    for (const auto& [image, content] : before) {
      const auto found = after.find(image);
      if (found == after.end()) {
        wrong_.push_back(absl::StrCat("lost: ", image));
      } else if (found->second < content && !forced) {
        wrong_.push_back(absl::StrCat("lost: ", image, " had ", content,
                                      " and has ", found->second));
      }
    }
    for (const std::string& violation : rig_->world_.Violations()) {
      wrong_.push_back("forbidden: " + violation);
    }
  }

  const absl::Status& status() const { return status_; }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  // With the callers' deadlines longer than anything a verb waits for.
  static constexpr int kMost = 15;

  void Judge() {
    if (status_.ok()) return;
    const std::string code = absl::StatusCodeToString(status_.code());
    const bool row = Rows().contains({verb_.service + "/*", code}) ||
                     Rows().contains({verb_.rpc, code});
    if (!row) wrong_.push_back("no row for it: " + status_.ToString());
  }
  void JudgeEnd() {
    if (status_.ok()) return;
    for (const WayOut& way : WaysOut()) {
      if ((way.rpc.empty() || way.rpc == verb_.rpc) &&
          way.code == status_.code() &&
          absl::StrContains(status_.message(), way.says)) {
        return;
      }
    }
    wrong_.push_back("names no way out: " + status_.ToString());
  }

  const Verb& verb_;
  const std::unique_ptr<Rig> rig_;
  absl::Status status_ = absl::UnknownError("not called");
  std::vector<std::string> wrong_;
};

// --- the runs

struct Kind {
  std::string name;
  std::vector<Scenario> (*scenarios)();
  std::vector<Verb> (*verbs)();
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class CrashStatesTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { Log().set_level(LogLevel::kOff); }
};

TEST_P(CrashStatesTest, EachVerbEndsWellOrNamesTheWayOut) {
  const std::vector<Scenario> scenarios = GetParam().scenarios();
  const std::vector<CrashState> states = StatesOf(scenarios);
  ASSERT_FALSE(states.empty());
  const std::vector<Verb> verbs = GetParam().verbs();
  size_t tried = 0;
  size_t ok = 0;
  for (const CrashState& state : states) {
    for (const Verb& verb : verbs) {
      const Attempt attempt(state, verb);
      ++tried;
      ok += attempt.status().ok() ? 1U : 0U;
      EXPECT_TRUE(attempt.wrong().empty())
          << state.Name() << ", then " << verb.name << "\n  "
          << absl::StrJoin(attempt.wrong(), "\n  ");
    }
  }
  EXPECT_GT(ok, 0U);
  std::printf("%s: %zu states, %zu verbs, %zu tried, %zu ended OK\n",
              GetParam().name.c_str(), states.size(), verbs.size(), tried, ok);
  std::fflush(stdout);
}

INSTANTIATE_TEST_SUITE_P(
    Of, CrashStatesTest,
    ::testing::Values(Kind{"Volumes", ReplicationScenarios, VolumeVerbs},
                      Kind{"Members", MembersScenarios, MembersVerbs},
                      Kind{"VolumeGroups", VolumeGroupScenarios, GroupVerbs},
                      Kind{"Fences", FenceScenarios, FenceVerbs},
                      Kind{"Reclaims", ReclaimScenarios, VolumeVerbs}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace addons::testing
