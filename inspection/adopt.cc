#include "inspection/adopt.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "inspection/adopt_plan.h"
#include "lease/leased_context.h"
#include "volume/volume_directory.h"

namespace addons {
namespace {

std::vector<Adoption> AdoptionsOf(std::vector<Planned> all) {
  std::vector<Adoption> adoptions;
  adoptions.reserve(all.size());
  for (Planned& planned : all) {
    adoptions.push_back(std::move(planned.adoption));
  }
  return adoptions;
}

/// Errors are those of Ceph; what stands in the way is said in `planned`.
absl::Status WriteEntry(const ResolvedPlace& place,
                        const std::string& instance_id, Planned& planned) {
  const VolumeAttributes& entry = planned.adoption.entry;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          place.OpenPool(Access::kMutate));
  VolumeDirectory directory(*pool, instance_id);
  VolumeJournal journal(*pool);
  ADDONS_ASSIGN_OR_RETURN(const bool named,
                          directory.Reserve(entry.request_name, planned.uuid));
  if (!named) {
    Refuse(planned, absl::StrCat("another client has just given the name '",
                                 entry.request_name, "' to another volume"));
    return absl::OkStatus();
  }
  if (planned.correct_image_id) {
    ADDONS_RETURN_IF_ERROR(
        journal.CorrectImageId(planned.uuid, planned.image_id).status());
  }
  // One that is whole is not made anew where it has just been removed.
  bool written = true;
  if (planned.without_object || planned.renames) {
    ADDONS_ASSIGN_OR_RETURN(written,
                            journal.Write(planned.uuid, entry, planned.former));
  }
  if (!written) {
    ADDONS_RETURN_IF_ERROR(directory.Release(entry.request_name, planned.uuid));
    Refuse(planned,
           "another client has just given the volume an entry of another name; "
           "repeat the call",
           AdoptOutcome::kFailed);
    return absl::OkStatus();
  }
  if (!planned.former.empty()) {
    ADDONS_RETURN_IF_ERROR(directory.Release(planned.former, planned.uuid));
  }
  auto there = journal.Read(planned.uuid);
  if (absl::IsNotFound(there.status())) {
    ADDONS_RETURN_IF_ERROR(directory.Release(entry.request_name, planned.uuid));
    Refuse(planned,
           "another client has just removed its entry; repeat the call",
           AdoptOutcome::kFailed);
    return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(there.status());
  VolumeAttributes read = *std::move(there);
  if (read.request_name != entry.request_name ||
      read.image_name != entry.image_name || read.image_id != entry.image_id) {
    Refuse(planned,
           "another client has just changed its entry; repeat the call",
           AdoptOutcome::kFailed);
    return absl::OkStatus();
  }
  planned.adoption.entry = std::move(read);
  planned.adoption.outcome = AdoptOutcome::kWritten;
  Log().info("adopted image={} volume={} name={}",
             Quoted(planned.adoption.image), Quoted(planned.adoption.volume_id),
             Quoted(planned.adoption.entry.request_name));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Adoption>> AdoptLeased(LeasedContext& context,
                                                  const ResolvedPlace& place,
                                                  const AdoptRequest& request) {
  context.Aim({place, "rbd_addons.lease.adopt",
               absl::StrCat("adoptions in pool '", place.pool_name, "'")});
  ADDONS_RETURN_IF_ERROR(context.Take());
  ADDONS_ASSIGN_OR_RETURN(std::vector<Planned> all,
                          PlanImages(context, place, request));
  std::vector<Planned*> writes;
  for (Planned& planned : all) {
    if (planned.writes()) writes.push_back(&planned);
  }
  if (writes.empty()) return AdoptionsOf(std::move(all));
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("writing entries of the journal");
  RunParallel(writes.size(), kImagesAtOnce, [&](size_t i) {
    const absl::Status written =
        WriteEntry(place, request.instance_id, *writes[i]);
    if (!written.ok()) {
      Refuse(*writes[i], std::string(written.message()), AdoptOutcome::kFailed);
    }
  });
  return AdoptionsOf(std::move(all));
}

/// The entry of config.json that is meant.
absl::StatusOr<const ClusterEntry*> EntryOf(const ClusterConfig& config,
                                            const std::vector<ClusterId>& home,
                                            const ClusterId& cluster_id,
                                            const std::string& space) {
  ADDONS_ASSIGN_OR_RETURN(const auto entries,
                          FindEntries(config, home, cluster_id));
  std::vector<const ClusterEntry*> meant;
  for (const ClusterEntry* const entry : entries) {
    if (entry->rados_namespace == space ||
        (space.empty() && (!cluster_id.empty() || entries.size() == 1))) {
      meant.push_back(entry);
    }
  }
  if (meant.size() == 1) return meant.front();
  if (!meant.empty()) return SeveralClusters(meant);
  return absl::FailedPreconditionError(absl::StrCat(
      "config.json has no cluster of this site with the namespace '", space,
      "', so what is there has no volume ids; add one"));
}

}  // namespace

absl::StatusOr<ResolvedPlace> FindAdoptionPlace(
    ConfigStore& config, ClusterProvider& clusters,
    const std::vector<ClusterId>& home, const NamedPool& named,
    const std::string& rados_namespace) {
  ADDONS_ASSIGN_OR_RETURN(const auto current, config.Current());
  ADDONS_ASSIGN_OR_RETURN(
      const ClusterEntry* const entry,
      EntryOf(*current, home, named.cluster_id, rados_namespace));
  NamedPool exact = named;
  exact.cluster_id = entry->cluster_id;
  return FindPool(config, clusters, home, exact);
}

absl::StatusOr<std::vector<Adoption>> PlanAdoption(
    OperationContext& context, const ResolvedPlace& place,
    const AdoptRequest& request) {
  return RetryWhenBlocklisted([&]() -> absl::StatusOr<std::vector<Adoption>> {
    ADDONS_ASSIGN_OR_RETURN(std::vector<Planned> all,
                            PlanImages(context, place, request));
    return AdoptionsOf(std::move(all));
  });
}

absl::StatusOr<std::vector<Adoption>> Adopt(OperationContext& context,
                                            LeaseKeeper& leases,
                                            const ResolvedPlace& place,
                                            const AdoptRequest& request) {
  return RunLeased(context, leases, "adopt", [&](LeasedContext& leased) {
    return AdoptLeased(leased, place, request);
  });
}

}  // namespace addons
