#include "volume/volume_lookup.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "volume/default_image_name.h"
#include "volume/group_journal.h"
#include "volume/pools.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

using Verdict = LookupOutcome::Verdict;

bool IsSilence(const absl::Status& status) {
  // It has answered that it cannot do this.
  const int error = CephErrno(status);
  if (error == ENOSYS || error == EOPNOTSUPP) return false;
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

LookupOutcome Failure(const absl::Status& status, const LookupTarget& target,
                      const CephUserRef& user) {
  LookupOutcome outcome;
  outcome.cluster_answered = !IsSilence(status);
  outcome.blocklisted = SaysBlocklisted(status);
  if (RefusesUser(status)) {
    outcome.verdict = Verdict::kRefused;
    outcome.text =
        absl::StrCat("cluster '", target.entry.cluster_id.text(),
                     "' refuses user '", user->id, "': ", status.message());
  } else {
    outcome.verdict = Verdict::kUnreachable;
    outcome.text = absl::StrCat("cluster '", target.entry.cluster_id.text(),
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
  return Answer(
      Verdict::kOtherKind,
      absl::StrCat("this is the id of a ", what, ", not of a ",
                   NameOf(target.kind), " (cluster '",
                   target.entry.cluster_id.text(), "', ", where, ")"));
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
      absl::StrCat("cluster '", target.entry.cluster_id.text(), "' pool ",
                   target.pool_id, ": ", status.message());
  absl::StrAppend(
      &text,
      target.kind == HandleKind::kGroup
          ? " (on a peer site a group is known once ceph-csi's controller or "
            "CreateVolumeGroup there has written it, or "
            "ModifyVolumeGroupMembership there has named all of its volumes; "
            "nothing else tells who its members are)"
          : " (on a peer site a volume is known once its PV and PVC are there "
            "and ceph-csi's controller has written this entry)");
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
                         const LookupTarget& target, const CephUserRef& user) {
  auto attributes = VolumeJournal(pool).Read(target.uuid);
  if (absl::IsNotFound(attributes.status())) {
    return NotInJournal(pool, target, attributes.status());
  }
  if (!attributes.ok()) return Failure(attributes.status(), target, user);
  LookupOutcome outcome = Answer(Verdict::kFound, "");
  auto volume = Found<ResolvedVolume>(target, pool, std::move(cluster),
                                      *std::move(attributes));
  volume.volume_id = VolumeHandle(target.text);
  outcome.found = std::move(volume);
  return outcome;
}

LookupOutcome ReadGroup(Pool& pool, std::shared_ptr<Cluster> cluster,
                        const LookupTarget& target, const CephUserRef& user) {
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
  group.group_id = GroupHandle(target.text);
  outcome.found = std::move(group);
  return outcome;
}

LookupOutcome Read(Pool& pool, std::shared_ptr<Cluster> cluster,
                   const LookupTarget& target, const CephUserRef& user) {
  return target.kind == HandleKind::kVolume
             ? ReadVolume(pool, std::move(cluster), target, user)
             : ReadGroup(pool, std::move(cluster), target, user);
}

LookupOutcome LookInPool(const std::shared_ptr<Cluster>& cluster,
                         int64_t pool_id, const LookupTarget& target,
                         const CephUserRef& user) {
  const auto pool =
      cluster->OpenPool(pool_id, target.entry.rados_namespace, Access::kRead);
  if (absl::IsNotFound(pool.status())) {
    return Answer(Verdict::kAbsent,
                  absl::StrCat("cluster '", target.entry.cluster_id.text(),
                               "' has no pool ", pool_id));
  }
  if (!pool.ok()) return Failure(pool.status(), target, user);
  return Read(**pool, cluster, target, user);
}

/// In which pool of the cluster it is, when it is not where the id or the
/// mapping says. kAbsent: in none that may be looked at.
LookupOutcome LookInOtherPools(const std::shared_ptr<Cluster>& cluster,
                               const LookupTarget& target,
                               const CephUserRef& user) {
  const auto pools = ListPools(*cluster);
  if (!pools.ok()) return Failure(pools.status(), target, user);
  LookupOutcome none =
      Answer(Verdict::kAbsent,
             absl::StrCat("no pool of cluster '",
                          target.entry.cluster_id.text(), "' has it"));
  for (const auto& [id, name] : *pools) {
    if (target.pool_mapped && id == target.pool_id) continue;
    LookupOutcome outcome = LookInPool(cluster, id, target, user);
    switch (outcome.verdict) {
      case Verdict::kFound:
        outcome =
            Answer(Verdict::kOtherPool,
                   absl::StrCat("cluster '", target.entry.cluster_id.text(),
                                "' has it in pool '", name,
                                "', which has the id ", id, " there"));
        outcome.other_pool_id = id;
        return outcome;
      case Verdict::kRefused:
      case Verdict::kUnreachable:
        none = std::move(outcome);  // it may be there
        break;
      default:
        break;
    }
  }
  return none;
}

/// The image that is this volume's by the end of its name, whatever it begins
/// with; the default one where there is none, or that cannot be seen.
std::string ImageNameOf(Pool& pool, const std::string& uuid) {
  constexpr absl::string_view kPrefix = "name_";
  std::string name = DefaultImageName(uuid);
  if (FindImageId(pool, ImageName(name)).ok()) return name;
  const auto names = pool.ReadOmap("rbd_directory", std::string(kPrefix));
  if (!names.ok()) return name;
  for (const auto& [key, id] : *names) {
    if (absl::EndsWith(key, uuid)) return key.substr(kPrefix.size());
  }
  return name;
}

/// What the pool that was meant has of a volume without a journal entry: that
/// tells what to do. " and ...", or empty where it cannot be seen.
std::string WithoutEntry(Cluster& cluster, const LookupTarget& target) {
  const auto pool = cluster.OpenPool(
      target.pool_id, target.entry.rados_namespace, Access::kRead);
  if (!pool.ok()) return "";
  const std::string name = ImageNameOf(**pool, target.uuid);
  const auto id = FindImageId(**pool, ImageName(name));
  if (id.ok()) {
    const auto record = (*pool)->MirrorRecord(*id);
    const bool mirrored = record.ok() && record->has_value();
    return absl::StrCat(
        "; its image '", (*pool)->Spec(name), "' is there",
        mirrored ? ", and mirrored" : "",
        ": restore its PersistentVolume and claim, and ceph-csi's controller "
        "writes the entry",
        mirrored ? absl::StrCat(", or have it written: `rbd-addons adopt ",
                                (*pool)->Spec(name), " --yes`")
                 : "");
  }
  if (!absl::IsNotFound(id.status())) return "";
  // The names are in the values, behind their length.
  if (const auto trash = (*pool)->ReadOmap("rbd_trash", "id_"); trash.ok()) {
    for (const auto& [key, value] : *trash) {
      if (!absl::StrContains(value, name)) continue;
      return absl::StrCat("; its image '", (*pool)->Spec(name),
                          "' is in the trash of the pool: rbd trash restore");
    }
  }
  return absl::StrCat("; there is no image '", (*pool)->Spec(name),
                      "' either: nothing of it was ever copied here, or it was "
                      "removed");
}

LookupOutcome LookUpOnce(ClusterProvider& clusters, const LookupTarget& target,
                         const CephUserRef& user) {
  const ClusterEntry& entry = target.entry;
  auto connected = clusters.Connect({entry.cluster_id, entry.monitors}, user);
  if (!connected.ok()) return Failure(connected.status(), target, user);
  const std::shared_ptr<Cluster> cluster = *std::move(connected);
  if (!target.pool_mapped) return LookInOtherPools(cluster, target, user);
  LookupOutcome outcome = LookInPool(cluster, target.pool_id, target, user);
  if (outcome.verdict != Verdict::kAbsent) return outcome;
  // The place that is meant has answered; what other pools cannot tell does not
  // matter.
  LookupOutcome other = LookInOtherPools(cluster, target, user);
  if (other.verdict == Verdict::kOtherPool) return other;
  if (target.kind == HandleKind::kVolume) {
    outcome.text += WithoutEntry(*cluster, target);
  }
  return outcome;
}

}  // namespace

LookupOutcome LookUp(ClusterProvider& clusters, const LookupTarget& target,
                     const CephUserRef& user) {
  return RetryWhenBlocklisted(
      [&] { return LookUpOnce(clusters, target, user); });
}

}  // namespace addons
