#include "volume/resolver.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "volume/contact_log.h"
#include "volume/lookup_threads.h"
#include "volume/volume_lookup.h"

namespace addons {
namespace {

using Verdict = LookupOutcome::Verdict;

SteadyTime Now() { return RealClock().Now(); }

/// A place where the volume may be, in the order of preference.
struct Candidate {
  std::string cluster_id;
  int64_t pool_id = 0;
  bool literal = false;                 // the one that the id names
  const ClusterEntry* entry = nullptr;  // null: its entry is broken
  std::string problem;                  // of a broken entry
};

struct Candidates {
  std::vector<Candidate> list;
  std::vector<std::string> not_configured;  // cluster ids
};

/// The configured clusters that `id` may be on.
Candidates FindCandidates(const ClusterConfig& config, const VolumeId& id) {
  std::vector<std::pair<std::string, int64_t>> places =
      config.Mapped(id.cluster_id, id.pool_id);
  places.emplace(places.begin(), id.cluster_id, id.pool_id);
  Candidates candidates;
  for (size_t i = 0; i < places.size(); ++i) {
    Candidate candidate;
    candidate.cluster_id = places[i].first;
    candidate.pool_id = places[i].second;
    candidate.literal = i == 0;
    const auto entry = config.Find(candidate.cluster_id);
    if (absl::IsNotFound(entry.status())) {
      candidates.not_configured.push_back(candidate.cluster_id);
      continue;
    }
    if (entry.ok()) {
      candidate.entry = *entry;
    } else {
      candidate.problem = std::string(entry.status().message());
    }
    candidates.list.push_back(std::move(candidate));
  }
  return candidates;
}

/// One call of Resolve(). Shared by the caller and its lookups, because a
/// lookup that hangs outlives the call.
class Call {
 public:
  struct Place {
    Candidate candidate;
    bool silent = false;  // it did not answer lately
  };

  Call(HandleKind kind, std::shared_ptr<const ClusterConfig> config,
       std::string id, std::string uuid, CephUser user,
       const std::vector<Candidate>& candidates)
      : kind_(kind),
        config_(std::move(config)),
        id_(std::move(id)),
        uuid_(std::move(uuid)),
        user_(std::move(user)) {
    for (const Candidate& candidate : candidates) {
      places_.push_back({candidate, false});
      LookupOutcome outcome;
      if (candidate.entry == nullptr) {
        outcome.verdict = Verdict::kUnreachable;
        outcome.text = candidate.problem;
      }
      outcomes_.push_back(std::move(outcome));
    }
  }

  // Only the caller's thread changes places, and only before the first lookup.
  std::vector<Place>& places() { return places_; }
  const CephUser& user() const { return user_; }
  ContactLog::Key ContactOf(size_t place) const {
    return {places_[place].candidate.cluster_id, user_.id};
  }
  LookupTarget TargetOf(size_t place) const {
    const Candidate& candidate = places_[place].candidate;
    return {kind_, *candidate.entry, candidate.pool_id, id_, uuid_};
  }

  bool abandoned() const { return abandoned_; }
  void Abandon() { abandoned_ = true; }

  void Expect() {
    const MutexLock lock(mutex_);
    ++expected_;
  }
  void Deliver(size_t place, LookupOutcome outcome) {
    const MutexLock lock(mutex_);
    if (outcome.verdict == Verdict::kFound && !first_found_) {
      first_found_ = Now();
    }
    outcomes_[place] = std::move(outcome);
    --expected_;
    changed_.NotifyAll();
  }

  /// Blocks until a place can be chosen, nothing more is expected, or `until`.
  /// Returns whether a place can be chosen.
  bool Wait(SteadyTime until, SteadyDuration grace) {
    const MutexLock lock(mutex_);
    for (;;) {
      const SteadyTime now = Now();
      if (Chosen(now, grace)) return true;
      if (expected_ == 0 || now >= until) return false;
      SteadyTime wake = until;
      if (first_found_) wake = std::min(wake, *first_found_ + grace);
      changed_.WaitUntil(mutex_, wake);
    }
  }

  /// What the first place says that has it, whatever the others may say later.
  template <typename Resolved>
  std::optional<Resolved> TakeFound() {
    const MutexLock lock(mutex_);
    for (LookupOutcome& outcome : outcomes_) {
      if (outcome.verdict == Verdict::kFound) {
        return std::get<Resolved>(std::move(outcome.found));
      }
    }
    return std::nullopt;
  }

  std::vector<LookupOutcome> Outcomes() {
    const MutexLock lock(mutex_);
    return outcomes_;
  }

 private:
  /// Whether the first place that has the volume is the one to use: nothing
  /// before it can still answer, or it has had its time. A place that was
  /// silent before gets no time, provided that one that was not has the volume:
  /// when all had been silent, it was our own network, and who answers first is
  /// chance.
  bool Chosen(SteadyTime now, SteadyDuration grace) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!first_found_) return false;
    if (now >= *first_found_ + grace) return true;
    bool found_by_answering = false;
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      found_by_answering |=
          outcomes_[i].verdict == Verdict::kFound && !places_[i].silent;
    }
    for (size_t i = 0; outcomes_[i].verdict != Verdict::kFound; ++i) {
      const bool given_up = places_[i].silent && found_by_answering;
      if (outcomes_[i].verdict == Verdict::kPending && !given_up) return false;
    }
    return true;
  }

  const HandleKind kind_;
  const std::shared_ptr<const ClusterConfig> config_;  // owns the entries
  const std::string id_;
  const std::string uuid_;
  const CephUser user_;
  std::vector<Place> places_;
  std::atomic<bool> abandoned_{false};  // the caller has gone

  Mutex mutex_;
  CondVar changed_;
  std::vector<LookupOutcome> outcomes_ ABSL_GUARDED_BY(mutex_);
  int expected_ ABSL_GUARDED_BY(mutex_) = 0;  // lookups under way
  std::optional<SteadyTime> first_found_ ABSL_GUARDED_BY(mutex_);
};

std::string NotConfigured(const std::vector<std::string>& cluster_ids) {
  return absl::StrCat("not in config.json: cluster '",
                      absl::StrJoin(cluster_ids, "', '"),
                      "'; add it there, or the cluster that stands for it to "
                      "cluster-mapping.json");
}

/// The error when no place has the volume. Tried from top to bottom:
///   a place knows the id as something else              INVALID_ARGUMENT
///   the cluster that the id names refuses the user      UNAUTHENTICATED
///   a place did not answer, or the mapping is unknown   UNAVAILABLE
///   a place says no, or no place is configured          NOT_FOUND
///   all refuse the user                                 UNAUTHENTICATED
absl::Status NotFoundAnywhere(HandleKind kind, const std::string& id,
                              const Candidates& candidates,
                              const std::vector<LookupOutcome>& outcomes,
                              const std::string& mapping_problem) {
  std::vector<std::string> texts;
  int refused = 0;
  bool silent = !mapping_problem.empty();
  bool literal_refused = false;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const LookupOutcome& outcome = outcomes[i];
    const Candidate& candidate = candidates.list[i];
    switch (outcome.verdict) {
      case Verdict::kOtherKind:
        return absl::InvalidArgumentError(
            absl::StrCat(NameOf(kind), " id '", id, "': ", outcome.text));
      case Verdict::kRefused:
        ++refused;
        literal_refused |= candidate.literal;
        break;
      case Verdict::kUnreachable:
        silent = true;
        break;
      case Verdict::kPending:
        silent = true;
        texts.push_back(absl::StrCat("cluster '", candidate.cluster_id,
                                     "' did not answer in time (is it up, are "
                                     "its monitors reachable?)"));
        continue;
      case Verdict::kFound:
      case Verdict::kAbsent:
        break;
    }
    texts.push_back(outcome.text);
  }
  if (!candidates.not_configured.empty()) {
    texts.push_back(NotConfigured(candidates.not_configured));
  }
  if (!mapping_problem.empty()) {
    texts.push_back(
        absl::StrCat("the mapping is not known completely: ", mapping_problem));
  }
  const bool all_refused =
      refused > 0 && refused == static_cast<int>(outcomes.size());
  absl::StatusCode code = absl::StatusCode::kNotFound;
  if (literal_refused || (all_refused && !silent)) {
    code = absl::StatusCode::kUnauthenticated;
  } else if (silent) {
    code = absl::StatusCode::kUnavailable;
  }
  return absl::Status(code,
                      absl::StrCat("Failed to find ", NameOf(kind), " '", id,
                                   "': ", absl::StrJoin(texts, "; ")));
}

absl::StatusOr<VolumeId> ParseId(HandleKind kind, const std::string& id) {
  return VolumeId::Parse(id, absl::StrCat(NameOf(kind), " id"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pool>> ResolvedPlace::OpenPool(
    Access access) const {
  return cluster->OpenPool(pool_id, rados_namespace, access);
}

std::string ResolvedPlace::Spec(const std::string& name) const {
  return absl::StrCat(pool_name, "/", rados_namespace,
                      rados_namespace.empty() ? "" : "/", name);
}

std::string ResolvedVolume::Describe() const {
  return absl::StrCat("image '", Spec(image_name()), "' (volume '", volume_id,
                      "')");
}

std::string ResolvedGroup::Describe() const {
  return absl::StrCat("rbd group '", Spec(attributes.group_name),
                      "' (volume group '", group_id, "')");
}

absl::Status ResolvedGroup::MakeRbdGroup() const {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          OpenPool(Access::kMutate));
  const absl::Status created = pool->CreateGroup(attributes.group_name);
  return absl::IsAlreadyExists(created) ? absl::OkStatus() : created;
}

class Resolver::State {
 public:
  State(ConfigStore& config, ClusterProvider& clusters,
        const ResolverTimes& times)
      : config_(config),
        clusters_(clusters),
        grace_(times.grace),
        contacts_(times.grace, times.memory) {}

  absl::StatusOr<std::string> OperationKey(HandleKind kind,
                                           const std::string& id);
  template <typename Resolved>
  absl::StatusOr<Resolved> Resolve(HandleKind kind, const std::string& id,
                                   const CephUser& user, SteadyTime deadline);

 private:
  void AskAll(const std::shared_ptr<Call>& call, SteadyTime deadline);
  void Ask(const std::shared_ptr<Call>& call, size_t place, bool probe);
  void AskPlace(Call& call, size_t place, SteadyTime begun);

  ConfigStore& config_;
  ClusterProvider& clusters_;
  const SteadyDuration grace_;
  ContactLog contacts_;
  LookupThreads threads_;  // last: its threads use the others
};

absl::StatusOr<std::string> Resolver::State::OperationKey(
    HandleKind kind, const std::string& text) {
  ADDONS_ASSIGN_OR_RETURN(const VolumeId id, ParseId(kind, text));
  ADDONS_ASSIGN_OR_RETURN(const auto config, config_.Current());
  const Candidates candidates = FindCandidates(*config, id);
  for (const Candidate& candidate : candidates.list) {
    if (candidate.entry == nullptr) continue;
    // The length makes it unambiguous: a cluster id may contain anything.
    return absl::StrCat(candidate.cluster_id.size(), ":", candidate.cluster_id,
                        "/", candidate.pool_id, "/",
                        candidate.entry->rados_namespace, "/", id.uuid);
  }
  std::vector<LookupOutcome> outcomes(candidates.list.size());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i].verdict = Verdict::kUnreachable;
    outcomes[i].text = candidates.list[i].problem;
  }
  return NotFoundAnywhere(kind, text, candidates, outcomes,
                          config->mapping_problem());
}

template <typename Resolved>
absl::StatusOr<Resolved> Resolver::State::Resolve(HandleKind kind,
                                                  const std::string& text,
                                                  const CephUser& user,
                                                  SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(const VolumeId id, ParseId(kind, text));
  ADDONS_ASSIGN_OR_RETURN(const auto config, config_.Current());
  const Candidates candidates = FindCandidates(*config, id);
  const auto call = std::make_shared<Call>(kind, config, text, id.uuid,
                                           user.Clone(), candidates.list);
  if (candidates.list.size() == 1 && candidates.list[0].entry != nullptr) {
    const SteadyTime now = Now();
    contacts_.Begin(call->ContactOf(0), now);
    call->Expect();
    AskPlace(*call, 0, now);
  } else {
    AskAll(call, deadline);
  }
  call->Abandon();
  if (auto found = call->TakeFound<Resolved>()) return *std::move(found);
  return NotFoundAnywhere(kind, text, candidates, call->Outcomes(),
                          config->mapping_problem());
}

/// Asks the places that answer, and the others as soon as they are needed: when
/// those that answer do not have the volume or do not answer after all.
void Resolver::State::AskAll(const std::shared_ptr<Call>& call,
                             SteadyTime deadline) {
  const SteadyTime start = Now();
  std::vector<Call::Place>& places = call->places();
  std::vector<bool> probe(places.size(), false);
  bool all_silent = true;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].candidate.entry == nullptr) continue;
    const auto contact = contacts_.Look(call->ContactOf(i), start);
    places[i].silent = contact != ContactLog::Contact::kAnswers;
    probe[i] = contact == ContactLog::Contact::kSilentProbeDue;
    all_silent &= places[i].silent;
  }
  std::vector<size_t> later;
  std::vector<size_t> first;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].candidate.entry == nullptr) continue;
    const bool ask_now = all_silent || !places[i].silent || probe[i];
    (ask_now ? first : later).push_back(i);
  }
  for (const size_t i : first) Ask(call, i, probe[i]);
  if (!later.empty()) {
    if (call->Wait(std::min(deadline, start + grace_), grace_)) return;
    for (const size_t i : later) Ask(call, i, false);
  }
  call->Wait(deadline, grace_);
}

void Resolver::State::Ask(const std::shared_ptr<Call>& call, size_t place,
                          bool probe) {
  const SteadyTime begun = Now();
  const ContactLog::Key contact = call->ContactOf(place);
  contacts_.Begin(contact, begun);
  call->Expect();
  const bool accepted =
      threads_.Run(contact.first, [this, call, place, probe, begun] {
        if (call->abandoned() && !probe) {  // a probe is for the calls to come
          contacts_.End(call->ContactOf(place), begun, Now(),
                        ContactLog::Result::kNotAsked);
          return;
        }
        AskPlace(*call, place, begun);
      });
  if (accepted) return;
  contacts_.End(contact, begun, Now(), ContactLog::Result::kNotAsked);
  LookupOutcome outcome;
  outcome.verdict = Verdict::kUnreachable;
  outcome.text = absl::StrCat("cluster '", contact.first,
                              "' could not be asked: no thread can be started");
  call->Deliver(place, std::move(outcome));
}

void Resolver::State::AskPlace(Call& call, size_t place, SteadyTime begun) {
  LookupOutcome outcome = LookUp(clusters_, call.TargetOf(place), call.user());
  // First, so that the caller's next call knows it.
  contacts_.End(call.ContactOf(place), begun, Now(),
                outcome.cluster_answered ? ContactLog::Result::kAnswered
                                         : ContactLog::Result::kNoAnswer);
  call.Deliver(place, std::move(outcome));
}

Resolver::Resolver(ConfigStore& config, ClusterProvider& clusters,
                   const ResolverTimes& times)
    : state_(std::make_unique<State>(config, clusters, times)) {}

Resolver::~Resolver() = default;

absl::StatusOr<std::string> Resolver::OperationKey(
    const std::string& volume_id) {
  return state_->OperationKey(HandleKind::kVolume, volume_id);
}

absl::StatusOr<ResolvedVolume> Resolver::Resolve(const std::string& volume_id,
                                                 const CephUser& user,
                                                 SteadyTime deadline) {
  return state_->Resolve<ResolvedVolume>(HandleKind::kVolume, volume_id, user,
                                         deadline);
}

absl::StatusOr<std::string> Resolver::GroupOperationKey(
    const std::string& group_id) {
  return state_->OperationKey(HandleKind::kGroup, group_id);
}

absl::StatusOr<ResolvedGroup> Resolver::ResolveGroup(
    const std::string& group_id, const CephUser& user, SteadyTime deadline) {
  return state_->Resolve<ResolvedGroup>(HandleKind::kGroup, group_id, user,
                                        deadline);
}

}  // namespace addons
