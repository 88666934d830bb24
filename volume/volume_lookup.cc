#include "volume/volume_lookup.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "volume/group_journal.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

using Verdict = LookupOutcome::Verdict;

bool IsRefusal(const absl::Status& status) {
  return absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
}

bool IsSilence(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

LookupOutcome Failure(const absl::Status& status, const LookupTarget& target,
                      const CephUser& user) {
  LookupOutcome outcome;
  outcome.cluster_answered = !IsSilence(status);
  outcome.blocklisted = CephErrno(status) == kBlocklistedErrno;
  if (IsRefusal(status)) {
    outcome.verdict = Verdict::kRefused;
    outcome.text =
        absl::StrCat("cluster '", target.entry.cluster_id, "' refuses user '",
                     user.id, "': ", status.message());
  } else {
    outcome.verdict = Verdict::kUnreachable;
    outcome.text = absl::StrCat("cluster '", target.entry.cluster_id,
                                "' could not be asked: ", status.message());
  }
  return outcome;
}

LookupOutcome Answer(Verdict verdict, std::string text) {
  LookupOutcome outcome;
  outcome.verdict = verdict;
  outcome.cluster_answered = true;
  outcome.text = std::move(text);
  return outcome;
}

LookupOutcome OtherKind(const LookupTarget& target, absl::string_view what,
                        absl::string_view where) {
  return Answer(Verdict::kOtherKind,
                absl::StrCat("this is the id of a ", what, ", not of a ",
                             NameOf(target.kind), " (cluster '",
                             target.entry.cluster_id, "', ", where, ")"));
}

/// Not in the journal: tells apart an unknown id and one of another kind,
/// because ids do not say what they stand for. Errors here do not matter any
/// more.
LookupOutcome NotInJournal(Pool& pool, const LookupTarget& target,
                           const absl::Status& status) {
  struct Kind {
    const char* prefix;
    const char* name;
  };
  const Kind kinds[] = {
      {"csi.snap.", "snapshot"},
      target.kind == HandleKind::kVolume
          ? Kind{"csi.volume.group.", NameOf(HandleKind::kGroup)}
          : Kind{"csi.volume.", NameOf(HandleKind::kVolume)},
  };
  for (const Kind& kind : kinds) {
    const std::string object = absl::StrCat(kind.prefix, target.uuid);
    if (pool.ReadOmap(object, "csi.").ok()) {
      return OtherKind(target, kind.name,
                       absl::StrCat("pool '", pool.name(),
                                    "', journal object '", object, "'"));
    }
  }
  std::string text =
      absl::StrCat("cluster '", target.entry.cluster_id, "' pool ",
                   target.pool_id, ": ", status.message());
  if (target.kind == HandleKind::kGroup) {
    absl::StrAppend(&text,
                    " (on a peer site a group is known once ceph-csi's "
                    "controller or CreateVolumeGroup there has written it)");
  }
  return Answer(Verdict::kAbsent, std::move(text));
}

template <typename Resolved, typename Attributes>
Resolved Found(const LookupTarget& target, const Pool& pool,
               std::shared_ptr<Cluster> cluster, Attributes attributes) {
  Resolved found;
  found.cluster_id = target.entry.cluster_id;
  found.pool_id = target.pool_id;
  found.pool_name = pool.name();
  found.rados_namespace = target.entry.rados_namespace;
  found.uuid = target.uuid;
  found.cluster = std::move(cluster);
  found.attributes = std::move(attributes);
  return found;
}

LookupOutcome ReadVolume(Pool& pool, std::shared_ptr<Cluster> cluster,
                         const LookupTarget& target, const CephUser& user) {
  auto attributes = VolumeJournal(pool).Read(target.uuid);
  if (absl::IsNotFound(attributes.status())) {
    return NotInJournal(pool, target, attributes.status());
  }
  if (!attributes.ok()) return Failure(attributes.status(), target, user);
  LookupOutcome outcome = Answer(Verdict::kFound, "");
  auto volume = Found<ResolvedVolume>(target, pool, std::move(cluster),
                                      *std::move(attributes));
  volume.volume_id = target.id;
  outcome.found = std::move(volume);
  return outcome;
}

LookupOutcome ReadGroup(Pool& pool, std::shared_ptr<Cluster> cluster,
                        const LookupTarget& target, const CephUser& user) {
  auto attributes = GroupJournal(pool).Read(target.uuid);
  if (absl::IsNotFound(attributes.status())) {
    return NotInJournal(pool, target, attributes.status());
  }
  if (absl::IsInvalidArgument(attributes.status())) {
    return OtherKind(target, "volume group snapshot",
                     attributes.status().message());
  }
  if (!attributes.ok()) return Failure(attributes.status(), target, user);
  LookupOutcome outcome = Answer(Verdict::kFound, "");
  auto group = Found<ResolvedGroup>(target, pool, std::move(cluster),
                                    *std::move(attributes));
  group.group_id = target.id;
  outcome.found = std::move(group);
  return outcome;
}

LookupOutcome LookUpOnce(ClusterProvider& clusters, const LookupTarget& target,
                         const CephUser& user) {
  const ClusterEntry& entry = target.entry;
  auto cluster = clusters.Connect({entry.cluster_id, entry.monitors}, user);
  if (!cluster.ok()) return Failure(cluster.status(), target, user);
  const auto pool = (*cluster)->OpenPool(target.pool_id, entry.rados_namespace,
                                         Access::kRead);
  if (absl::IsNotFound(pool.status())) {
    return Answer(Verdict::kAbsent,
                  absl::StrCat("cluster '", entry.cluster_id, "' has no pool ",
                               target.pool_id));
  }
  if (!pool.ok()) return Failure(pool.status(), target, user);
  return target.kind == HandleKind::kVolume
             ? ReadVolume(**pool, *std::move(cluster), target, user)
             : ReadGroup(**pool, *std::move(cluster), target, user);
}

}  // namespace

const char* NameOf(HandleKind kind) {
  return kind == HandleKind::kVolume ? "volume" : "volume group";
}

LookupOutcome LookUp(ClusterProvider& clusters, const LookupTarget& target,
                     const CephUser& user) {
  LookupOutcome outcome = LookUpOnce(clusters, target, user);
  if (outcome.blocklisted) outcome = LookUpOnce(clusters, target, user);
  return outcome;
}

}  // namespace addons
