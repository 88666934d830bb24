#include "volume/volume_lookup.h"

#include <array>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
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

/// No volume: tells apart an unknown id and one of another kind, because ids do
/// not say what they stand for. Errors here do not matter any more.
LookupOutcome NotInJournal(Pool& pool, const LookupTarget& target,
                           const absl::Status& status) {
  struct Kind {
    const char* prefix;
    const char* name;
  };
  static constexpr std::array<Kind, 2> kKinds = {
      Kind{"csi.snap.", "snapshot"},
      Kind{"csi.volume.group.", "volume group"},
  };
  for (const Kind& kind : kKinds) {
    const std::string object = absl::StrCat(kind.prefix, target.uuid);
    if (pool.ReadOmap(object, "csi.").ok()) {
      return Answer(
          Verdict::kOtherKind,
          absl::StrCat("this is the id of a ", kind.name,
                       ", not of a volume (cluster '", target.entry.cluster_id,
                       "', pool '", pool.name(), "', journal object '", object,
                       "')"));
    }
  }
  return Answer(Verdict::kAbsent,
                absl::StrCat("cluster '", target.entry.cluster_id, "' pool ",
                             target.pool_id, ": ", status.message()));
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
  auto attributes = VolumeJournal(**pool).Read(target.uuid);
  if (absl::IsNotFound(attributes.status())) {
    return NotInJournal(**pool, target, attributes.status());
  }
  if (!attributes.ok()) return Failure(attributes.status(), target, user);

  LookupOutcome outcome = Answer(Verdict::kFound, "");
  ResolvedVolume& volume = outcome.volume;
  volume.volume_id = target.volume_id;
  volume.cluster_id = entry.cluster_id;
  volume.pool_id = target.pool_id;
  volume.pool_name = (*pool)->name();
  volume.rados_namespace = entry.rados_namespace;
  volume.uuid = target.uuid;
  volume.cluster = *std::move(cluster);
  volume.attributes = *std::move(attributes);
  return outcome;
}

}  // namespace

LookupOutcome LookUpVolume(ClusterProvider& clusters,
                           const LookupTarget& target, const CephUser& user) {
  LookupOutcome outcome = LookUpOnce(clusters, target, user);
  if (outcome.blocklisted) outcome = LookUpOnce(clusters, target, user);
  return outcome;
}

}  // namespace addons
