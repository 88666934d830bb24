#include "volume/resolver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bounded_threads.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "volume/home_clusters.h"
#include "volume/silent_clusters.h"
#include "volume/volume_id.h"
#include "volume/volume_lookup.h"

namespace addons {
namespace {

using Verdict = LookupOutcome::Verdict;

SteadyTime Now() { return RealClock().Now(); }

/// A place where the volume may be, in the order of preference.
struct Candidate {
  ClusterId cluster_id;
  int64_t pool_id = 0;
  bool literal = false;     // the one that the id names
  bool pool_mapped = true;  // false: cluster-mapping.json has no such pool
  const ClusterEntry* entry = nullptr;  // null: its entry is broken
  std::string problem;                  // of a broken entry
};

struct Candidates {
  std::vector<Candidate> list;
  std::vector<ClusterId> not_configured;
  std::vector<ClusterId> elsewhere;  // of other sites
};

/// The configured clusters that `id` may be on. Last those that are mapped, but
/// not with this pool: there its journal entry can only tell what is missing in
/// the mapping.
Candidates FindCandidates(const ClusterConfig& config, const VolumeId& id,
                          const std::vector<ClusterId>& home) {
  std::vector<std::pair<ClusterId, int64_t>> places =
      config.Mapped(id.cluster_id, id.pool_id);
  places.emplace(places.begin(), id.cluster_id, id.pool_id);
  const size_t mapped = places.size();
  for (const ClusterId& cluster : config.MappedClusters(id.cluster_id)) {
    const bool known =
        std::any_of(places.begin(), places.end(),
                    [&](const auto& place) { return place.first == cluster; });
    if (!known) places.emplace_back(cluster, id.pool_id);
  }
  Candidates candidates;
  for (size_t i = 0; i < places.size(); ++i) {
    Candidate candidate;
    candidate.cluster_id = places[i].first;
    candidate.pool_id = places[i].second;
    candidate.literal = i == 0;
    candidate.pool_mapped = i < mapped;
    if (!IsHome(home, candidate.cluster_id)) {
      candidates.elsewhere.push_back(candidate.cluster_id);
      continue;
    }
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
    std::optional<SteadyTime> silent_since;
  };

  Call(HandleKind kind, std::shared_ptr<const ClusterConfig> config,
       std::string id, std::string uuid, CephUserRef user, Access access,
       const ResolverOptions& options, const std::vector<Candidate>& candidates)
      : kind_(kind),
        config_(std::move(config)),
        id_(std::move(id)),
        uuid_(std::move(uuid)),
        user_(std::move(user)),
        access_(access),
        grace_(options.grace),
        settle_(options.settle) {
    for (const Candidate& candidate : candidates) {
      places_.push_back({candidate, false, std::nullopt});
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
  const CephUserRef& user() const { return user_; }
  Access access() const { return access_; }
  SilentClusters::Key ContactOf(size_t place) const {
    return {places_[place].candidate.cluster_id, user_->id};
  }
  LookupTarget TargetOf(size_t place) const {
    const Candidate& candidate = places_[place].candidate;
    return {
        kind_, *candidate.entry, candidate.pool_id, candidate.pool_mapped, id_,
        uuid_};
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
  bool Wait(SteadyTime until) {
    const MutexLock lock(mutex_);
    for (;;) {
      const SteadyTime now = Now();
      if (Chosen(now)) return true;
      if (expected_ == 0 || now >= until) return false;
      SteadyTime wake = until;
      if (first_found_ && now < *first_found_ + grace_) {
        wake = std::min(wake, *first_found_ + grace_);
      }
      changed_.WaitUntil(mutex_, wake);
    }
  }

  /// What the first place says that has it, whatever the others may say later.
  /// nullopt: none has it, or it may not be changed there.
  template <typename Resolved>
  std::optional<Resolved> TakeFound() {
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      LookupOutcome& outcome = outcomes_[i];
      if (KeepsChangesBack(i, Now())) return std::nullopt;
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
  bool Chosen(SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!first_found_) return false;
    const bool grace_is_over = now >= *first_found_ + grace_;
    bool found_by_answering = false;
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      found_by_answering |=
          outcomes_[i].verdict == Verdict::kFound && !places_[i].silent;
    }
    for (size_t i = 0; outcomes_[i].verdict != Verdict::kFound; ++i) {
      if (KeepsChangesBack(i, now)) return false;
      const bool given_up = places_[i].silent && found_by_answering;
      if (outcomes_[i].verdict == Verdict::kPending && !given_up &&
          !grace_is_over) {
        return false;
      }
    }
    return true;
  }

  /// The place does not answer, and not for so long that a change could go past
  /// it.
  bool KeepsChangesBack(size_t i, SteadyTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Verdict verdict = outcomes_[i].verdict;
    const bool answers =
        verdict != Verdict::kPending && verdict != Verdict::kUnreachable;
    // A broken entry cannot be asked at all.
    if (access_ == Access::kRead || answers ||
        places_[i].candidate.entry == nullptr) {
      return false;
    }
    const std::optional<SteadyTime>& since = places_[i].silent_since;
    return !since.has_value() || now - *since < settle_;
  }

  const HandleKind kind_;
  const std::shared_ptr<const ClusterConfig> config_;  // owns the entries
  const std::string id_;
  const std::string uuid_;
  const CephUserRef user_;
  const Access access_;
  const SteadyDuration grace_;
  const SteadyDuration settle_;
  std::vector<Place> places_;
  std::atomic<bool> abandoned_{false};  // the caller has gone

  Mutex mutex_;
  CondVar changed_;
  std::vector<LookupOutcome> outcomes_ ABSL_GUARDED_BY(mutex_);
  int expected_ ABSL_GUARDED_BY(mutex_) = 0;  // lookups under way
  std::optional<SteadyTime> first_found_ ABSL_GUARDED_BY(mutex_);
};

std::string NotConfigured(const std::vector<ClusterId>& cluster_ids) {
  return absl::StrCat("not in config.json: cluster '",
                      absl::StrJoin(cluster_ids, "', '", AppendClusterId),
                      "'; add it there, or the cluster that stands for it to "
                      "cluster-mapping.json");
}

/// The line that cluster-mapping.json lacks.
std::string MissingLine(const VolumeId& id, const Candidate& candidate,
                        int64_t pool_id) {
  const std::string pools = absl::StrCat("\"RBDPoolIDMapping\": [{\"",
                                         id.pool_id, "\": \"", pool_id, "\"}]");
  return absl::StrCat(
      "; cluster-mapping.json must say so: {\"clusterIDMapping\": {\"",
      id.cluster_id.text(), "\": \"", candidate.cluster_id.text(), "\"}, ",
      pools, "}");
}

/// No cluster of this site may have it: whatever it is, it is nothing that this
/// daemon could call absent.
absl::Status OnlyElsewhere(HandleKind kind, const std::string& id,
                           const Candidates& candidates) {
  return absl::UnavailableError(absl::StrCat(
      "Failed to find ", NameOf(kind), " '", id, "': it is of cluster '",
      absl::StrJoin(candidates.elsewhere, "', '", AppendClusterId),
      "', which is not one of --site-clusters, and cluster-mapping.json maps "
      "it to none of them"));
}

/// Why a volume that this mapped cluster has is not changed there.
std::string HeldBack(const Candidate& candidate, SteadyDuration settle) {
  return absl::StrCat(
      "cluster '", candidate.cluster_id.text(),
      "' has it, but nothing is changed there until the clusters before it "
      "have been silent for ",
      std::chrono::duration_cast<std::chrono::seconds>(settle).count(),
      " s; if it is this site's cluster, start the daemon with "
      "--site-clusters=",
      candidate.cluster_id.text());
}

/// The error when no place has the volume. Tried from top to bottom:
///   a place knows the id as something else              INVALID_ARGUMENT
///   the cluster that the id names refuses the user      UNAUTHENTICATED
///   a place did not answer, or has it in a pool that is
///   not mapped, or the mapping is unknown, or no place
///   is configured, so that nobody was asked             UNAVAILABLE
///   all refuse the user                                 UNAUTHENTICATED
///   some refuse the user                                PERMISSION_DENIED
///   all say no                                          NOT_FOUND
absl::Status NotFoundAnywhere(HandleKind kind, const std::string& id_text,
                              const VolumeId& id, const Candidates& candidates,
                              const std::vector<LookupOutcome>& outcomes,
                              const std::string& mapping_problem,
                              SteadyDuration settle) {
  std::vector<std::string> texts;
  int refused = 0;
  bool silent = !mapping_problem.empty() || candidates.list.empty();
  bool literal_refused = false;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const LookupOutcome& outcome = outcomes[i];
    const Candidate& candidate = candidates.list[i];
    std::string text = outcome.text;
    switch (outcome.verdict) {
      case Verdict::kOtherKind:
        return absl::InvalidArgumentError(
            absl::StrCat(NameOf(kind), " id '", id_text, "': ", outcome.text));
      case Verdict::kRefused:
        ++refused;
        literal_refused |= candidate.literal;
        break;
      case Verdict::kOtherPool:
        silent = true;
        text += MissingLine(id, candidate, outcome.other_pool_id);
        break;
      case Verdict::kUnreachable:
        silent = true;
        break;
      case Verdict::kPending:
        silent = true;
        text = absl::StrCat("cluster '", candidate.cluster_id.text(),
                            "' did not answer in time (is it up, are its "
                            "monitors reachable?)");
        break;
      case Verdict::kFound:
        silent = true;
        text = HeldBack(candidate, settle);
        break;
      case Verdict::kAbsent:
        break;
    }
    texts.push_back(std::move(text));
  }
  // On one of two sites the other one's cluster is not configured, as a rule.
  if (candidates.list.empty()) {
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
  } else if (refused > 0) {
    code = absl::StatusCode::kPermissionDenied;
  }
  return absl::Status(
      code, absl::StrCat("Failed to find ", NameOf(kind), " '", id_text,
                         "': ", absl::StrJoin(texts, "; ")));
}

}  // namespace

class Resolver::State {
 public:
  State(ConfigStore& config, ClusterProvider& clusters, ResolverOptions options)
      : config_(config),
        clusters_(clusters),
        options_(std::move(options)),
        silent_(options_.grace, options_.memory) {}

  template <typename Handle>
  absl::StatusOr<OperationKey> KeyOf(const Handle& handle);
  template <typename Resolved, typename Handle>
  absl::StatusOr<Resolved> Resolve(const Handle& handle,
                                   const CephUserRef& user, Access access,
                                   SteadyTime deadline);
  absl::StatusOr<ResolvedPlace> PlaceFor(const GroupHandle& group_id,
                                         const CephUserRef& user);

 private:
  void AskAll(const std::shared_ptr<Call>& call, SteadyTime deadline);
  void Ask(const std::shared_ptr<Call>& call, size_t place, bool probe);
  void AskPlace(Call& call, size_t place, SteadyTime begun);

  ConfigStore& config_;
  ClusterProvider& clusters_;
  const ResolverOptions options_;
  SilentClusters silent_;
  BoundedThreads threads_{"volume-lookup"};  // last: its threads use the others
};

template <typename Handle>
absl::StatusOr<OperationKey> Resolver::State::KeyOf(const Handle& handle) {
  ADDONS_RETURN_IF_ERROR(handle.id().status());
  const VolumeId& id = *handle.id();
  ADDONS_ASSIGN_OR_RETURN(const auto config, config_.Current());
  const Candidates candidates = FindCandidates(*config, id, options_.home);
  if (candidates.list.empty() && !candidates.elsewhere.empty()) {
    return OnlyElsewhere(Handle::kHandleKind, handle.text(), candidates);
  }
  for (const Candidate& candidate : candidates.list) {
    if (candidate.entry == nullptr) continue;
    return OperationKey{candidate.cluster_id, candidate.pool_id,
                        candidate.entry->rados_namespace, id.uuid};
  }
  std::vector<LookupOutcome> outcomes(candidates.list.size());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i].verdict = Verdict::kUnreachable;
    outcomes[i].text = candidates.list[i].problem;
  }
  return NotFoundAnywhere(Handle::kHandleKind, handle.text(), id, candidates,
                          outcomes, config->mapping_problem(), options_.settle);
}

template <typename Resolved, typename Handle>
absl::StatusOr<Resolved> Resolver::State::Resolve(const Handle& handle,
                                                  const CephUserRef& user,
                                                  Access access,
                                                  SteadyTime deadline) {
  ADDONS_RETURN_IF_ERROR(handle.id().status());
  const VolumeId& id = *handle.id();
  ADDONS_ASSIGN_OR_RETURN(const auto config, config_.Current());
  const Candidates candidates = FindCandidates(*config, id, options_.home);
  if (candidates.list.empty() && !candidates.elsewhere.empty()) {
    return OnlyElsewhere(Handle::kHandleKind, handle.text(), candidates);
  }
  const auto call =
      std::make_shared<Call>(Handle::kHandleKind, config, handle.text(),
                             id.uuid, user, access, options_, candidates.list);
  if (candidates.list.size() == 1 && candidates.list[0].entry != nullptr) {
    const SteadyTime now = Now();
    silent_.Begin(call->ContactOf(0), now);
    call->Expect();
    AskPlace(*call, 0, now);
  } else {
    AskAll(call, deadline);
  }
  call->Abandon();
  if (auto found = call->template TakeFound<Resolved>())
    return *std::move(found);
  return NotFoundAnywhere(Handle::kHandleKind, handle.text(), id, candidates,
                          call->Outcomes(), config->mapping_problem(),
                          options_.settle);
}

absl::StatusOr<ResolvedPlace> Resolver::State::PlaceFor(
    const GroupHandle& group_id, const CephUserRef& user) {
  ADDONS_RETURN_IF_ERROR(group_id.id().status());
  const VolumeId& id = *group_id.id();
  ADDONS_ASSIGN_OR_RETURN(const auto config, config_.Current());
  std::string reason = "no cluster of this site that may have it has its pool";
  for (const Candidate& candidate :
       FindCandidates(*config, id, options_.home).list) {
    if (candidate.entry == nullptr) continue;
    if (!candidate.pool_mapped) {
      reason = absl::StrCat(
          "cluster-mapping.json does not say which pool of cluster '",
          candidate.cluster_id.text(), "' stands for pool ", id.pool_id,
          " of cluster '", id.cluster_id.text(), "'");
      continue;
    }
    ResolvedPlace place;
    place.cluster_id = candidate.cluster_id;
    place.pool_id = candidate.pool_id;
    place.rados_namespace = candidate.entry->rados_namespace;
    place.uuid = id.uuid;
    ADDONS_ASSIGN_OR_RETURN(
        place.cluster,
        clusters_.Connect({place.cluster_id, candidate.entry->monitors}, user));
    const auto pool = place.OpenPool(Access::kRead);
    if (absl::IsNotFound(pool.status())) continue;
    ADDONS_RETURN_IF_ERROR(pool.status());
    place.pool_name = (*pool)->name();
    return place;
  }
  return absl::NotFoundError(
      absl::StrCat("Failed to find a place for volume "
                   "group '",
                   group_id.text(), "': ", reason));
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
    const auto contact = silent_.Look(call->ContactOf(i), start);
    places[i].silent = contact != SilentClusters::Contact::kAnswers;
    places[i].silent_since = silent_.SilentSince(call->ContactOf(i));
    probe[i] = contact == SilentClusters::Contact::kSilentProbeDue;
    all_silent &= places[i].silent;
  }
  std::vector<size_t> later;
  std::vector<size_t> first;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].candidate.entry == nullptr) continue;
    const bool ask_now = all_silent || !places[i].silent || probe[i] ||
                         call->access() == Access::kMutate;
    // A pool that is not mapped is looked for when nobody else has the volume.
    (ask_now && places[i].candidate.pool_mapped ? first : later).push_back(i);
  }
  for (const size_t i : first) Ask(call, i, probe[i]);
  if (!later.empty()) {
    if (call->Wait(std::min(deadline, start + options_.grace))) return;
    for (const size_t i : later) Ask(call, i, false);
  }
  call->Wait(deadline);
}

void Resolver::State::Ask(const std::shared_ptr<Call>& call, size_t place,
                          bool probe) {
  const SteadyTime begun = Now();
  const SilentClusters::Key contact = call->ContactOf(place);
  silent_.Begin(contact, begun);
  call->Expect();
  const bool accepted =
      threads_.Run(contact.first.text(), [this, call, place, probe, begun] {
        if (call->abandoned() && !probe) {  // a probe is for the calls to come
          silent_.End(call->ContactOf(place), begun, Now(),
                      SilentClusters::Result::kNotAsked);
          return;
        }
        AskPlace(*call, place, begun);
      });
  if (accepted) return;
  silent_.End(contact, begun, Now(), SilentClusters::Result::kNotAsked);
  LookupOutcome outcome;
  outcome.verdict = Verdict::kUnreachable;
  outcome.text = absl::StrCat("cluster '", contact.first.text(),
                              "' could not be asked: no thread can be started");
  call->Deliver(place, std::move(outcome));
}

void Resolver::State::AskPlace(Call& call, size_t place, SteadyTime begun) {
  LookupOutcome outcome;
  SilentClusters::Result result = SilentClusters::Result::kNotAsked;
  try {
    outcome = LookUp(clusters_, call.TargetOf(place), call.user());
    result = outcome.cluster_answered ? SilentClusters::Result::kAnswered
                                      : SilentClusters::Result::kNoAnswer;
  } catch (const std::exception& exception) {
    // No memory or no thread: that says nothing about the cluster. Only the
    // type is told, because what() may quote anything.
    outcome = LookupOutcome();
    outcome.verdict = Verdict::kUnreachable;
    outcome.text = absl::StrCat(
        "cluster '", call.places()[place].candidate.cluster_id.text(),
        "' could not be asked: unexpected exception ",
        typeid(exception).name());
  }
  // First, so that the caller's next call knows it.
  silent_.End(call.ContactOf(place), begun, Now(), result);
  call.Deliver(place, std::move(outcome));
}

Resolver::Resolver(ConfigStore& config, ClusterProvider& clusters,
                   ResolverOptions options)
    : state_(std::make_unique<State>(config, clusters, std::move(options))) {}

Resolver::~Resolver() = default;

absl::StatusOr<OperationKey> Resolver::KeyOfVolume(
    const VolumeHandle& volume_id) {
  return state_->KeyOf(volume_id);
}

absl::StatusOr<ResolvedVolume> Resolver::Resolve(const VolumeHandle& volume_id,
                                                 const CephUserRef& user,
                                                 Access access,
                                                 SteadyTime deadline) {
  return state_->Resolve<ResolvedVolume>(volume_id, user, access, deadline);
}

absl::StatusOr<OperationKey> Resolver::KeyOfGroup(const GroupHandle& group_id) {
  return state_->KeyOf(group_id);
}

absl::StatusOr<ResolvedGroup> Resolver::ResolveGroup(
    const GroupHandle& group_id, const CephUserRef& user, Access access,
    SteadyTime deadline) {
  return state_->Resolve<ResolvedGroup>(group_id, user, access, deadline);
}

absl::StatusOr<ResolvedPlace> Resolver::PlaceForGroup(
    const GroupHandle& group_id, const CephUserRef& user) {
  return state_->PlaceFor(group_id, user);
}

}  // namespace addons
