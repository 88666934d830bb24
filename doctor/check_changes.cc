#include "doctor/check_changes.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"
#include "ceph/errors.h"
#include "ceph/image_header.h"

namespace addons {
namespace {

/// Of an image, an object and an image id: none has it.
constexpr char kNobody[] = "rbd_addons.doctor";
/// Of the form that "profile rbd" allows, and no address.
constexpr char kNoRange[] = "rbd-addons-doctor/32";
constexpr size_t kReaders = 16;

/// OK when `tried` was refused because of `refused_for`, which is looked at
/// after what the user may.
absl::Status OkIfRefusedFor(absl::string_view refused_for,
                            const absl::Status& tried) {
  if (tried.ok()) {
    return absl::InternalError(
        "Ceph took something that cannot be for a change");
  }
  return CephErrno(tried) == EINVAL &&
                 absl::StrContains(tried.message(), refused_for)
             ? absl::OkStatus()
             : tried;
}

/// OK when what was to be changed is not there.
absl::Status OkIfNotThere(const absl::Status& tried) {
  return absl::IsNotFound(tried) ? absl::OkStatus() : tried;
}

absl::Status TryBlocklist(Cluster& cluster, const std::string& command) {
  return OkIfRefusedFor("unable to parse address",
                        cluster.MonCommand(command).status());
}

/// The capability for a pool or a namespace of it.
std::string ProfileFor(absl::string_view pool,
                       absl::string_view rados_namespace) {
  return absl::StrCat(
      "profile rbd pool=", pool,
      rados_namespace.empty() ? "" : " namespace=", rados_namespace);
}

/// With an interval that cannot be either, for an image of that name.
absl::Status TrySchedules(Cluster& cluster, const std::string& image) {
  constexpr char kLevel[] = "Invalid level spec";
  constexpr char kNotThere[] = "does not exist";
  for (const char* const verb : {"add", "remove"}) {
    const std::string command =
        absl::StrCat(R"({"prefix":"rbd mirror snapshot schedule )", verb,
                     R"(","level_spec":")", image, R"(","interval":"never"})");
    const absl::Status tried = cluster.MgrCommand(command).status();
    // From 18 on there are no words around what is wrong.
    ADDONS_RETURN_IF_ERROR(OkIfRefusedFor(
        absl::StrContains(tried.message(), kLevel) ? kLevel : kNotThere,
        tried));
  }
  return absl::OkStatus();
}

absl::Status TryFlatten(Cluster& cluster, const std::string& image) {
  const std::string command = absl::StrCat(
      R"({"prefix":"rbd task add flatten","image_spec":")", image, R"("})");
  const absl::Status tried = cluster.MgrCommand(command).status();
  return CephErrno(tried) == ENOENT ? absl::OkStatus() : tried;
}

absl::Status TryObjects(Cluster& cluster, int64_t pool_id,
                        const std::string& rados_namespace) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto pool,
      cluster.OpenPool(pool_id, rados_namespace, Access::kMutate));
  return OkIfNotThere(pool->RemoveOmapValue(kNobody, "none", "none").status());
}

/// As librbd changes what it keeps of an image: through a class of the OSDs.
absl::Status TryClasses(Cluster& cluster, int64_t pool_id,
                        const std::string& rados_namespace) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto pool,
      cluster.OpenPool(pool_id, rados_namespace, Access::kMutate));
  return OkIfNotThere(
      pool->SetCopyProgress(kNobody, 1, "none", CopyNote()).status());
}

using DataPool = absl::StatusOr<std::optional<int64_t>>;

/// The data pools of images that have one, and the first error.
class DataPools {
 public:
  DataPools(Cluster& cluster, const Pool& pool,
            const std::vector<ImageStatuses>& images) {
    std::vector<DataPool> of_images(images.size(), absl::UnknownError(""));
    // A pool is for one thread.
    RunParallel(kReaders, kReaders, [&](size_t first) {
      if (first >= images.size()) return;
      const auto own =
          cluster.OpenPool(pool.id(), pool.rados_namespace(), Access::kRead);
      for (size_t i = first; i < images.size(); i += kReaders) {
        of_images[i] = own.ok() ? ReadDataPoolId(**own, images[i].image_id)
                                : DataPool(own.status());
      }
    });
    for (const DataPool& of_image : of_images) {
      // One that is gone meanwhile has none.
      if (!OkIfNotThere(of_image.status()).ok()) {
        status_.Update(of_image.status());
      } else if (of_image.ok() && of_image->has_value()) {
        ids_.insert(**of_image);
      }
    }
  }
  const absl::Status& status() const { return status_; }
  const std::set<int64_t>& ids() const { return ids_; }

 private:
  absl::Status status_;
  std::set<int64_t> ids_;
};

}  // namespace

void CheckBlocklistChanges(Cluster& cluster, ClusterReport& report) {
  constexpr char kGive[] =
      "give the user the monitor capability allow command \"osd blocklist\"";
  const BlocklistKey range{true, kNoRange};
  const BlocklistKey client{false, kNoRange};
  const std::chrono::seconds expire(60);
  report.Ask(
      "caps.fence", report.cluster(), "add a range to the blocklist",
      [&] { return TryBlocklist(cluster, AddCommand(range, expire)); },
      absl::StrCat("fences fail; ", kGive));
  report.Ask(
      "caps.unfence", report.cluster(), "remove a range from the blocklist",
      [&] { return TryBlocklist(cluster, RemoveCommand(range)); },
      absl::StrCat("unfencing fails, and so does a fence that is to last "
                   "longer than it does; ",
                   kGive));
  report.Ask(
      "caps.evict", report.cluster(), "add a client to the blocklist",
      [&] { return TryBlocklist(cluster, AddCommand(client, expire)); },
      absl::StrCat("forced promotions fail where rbd-mirror has to be stopped "
                   "first, and what a daemon that died was at work on waits "
                   "for its lease to end; ",
                   kGive));
}

void CheckPoolChanges(Cluster& cluster, const RbdPool& pool,
                      const std::string& rados_namespace,
                      const std::string& object, ClusterReport& report) {
  const std::string image =
      absl::StrCat(pool.name, "/", rados_namespace,
                   rados_namespace.empty() ? "" : "/", kNobody);
  const std::string profile = ProfileFor(pool.name, rados_namespace);
  report.Ask(
      "caps.write", object, "write into it",
      [&]() -> absl::Status {
        ADDONS_RETURN_IF_ERROR(TryObjects(cluster, pool.id, rados_namespace));
        return TryClasses(cluster, pool.id, rados_namespace);
      },
      absl::StrCat("enable, promote, demote, resync, disable and reclaim fail, "
                   "and whatever changes a group; give the user the OSD "
                   "capability ",
                   profile, " (deploy/ceph/create-user.sh makes one)"));
  report.Ask(
      "caps.schedule", object, "change the schedules of its mirror snapshots",
      [&] { return TrySchedules(cluster, image); },
      absl::StrCat("enable and promote with a schedulingInterval fail, and "
                   "disable where there is a schedule; give the user the "
                   "manager capability ",
                   profile, ", or allow rw"));
  report.Ask(
      "caps.flatten", object, "have the manager flatten its images",
      [&] { return TryFlatten(cluster, image); },
      absl::StrCat("the daemon flattens clones by itself, which ends with it; "
                   "give the user the manager capability ",
                   profile, ", or allow rw"),
      FindingVerdict::kWarning);
}

void CheckDataPoolChanges(Cluster& cluster, Pool& pool,
                          const std::vector<ImageStatuses>& images,
                          const std::string& object, ClusterReport& report) {
  if (report.silent()) return;
  const DataPools found(cluster, pool, images);
  if (!found.status().ok()) {
    report.Note("caps.data-pool", report.Heard(found.status()), object,
                absl::StrCat("not known which pools have the data of its "
                             "images: ",
                             found.status().message()),
                absl::StrCat("give the user the OSD capability ",
                             ProfileFor(pool.name(), pool.rados_namespace())));
  }
  for (const int64_t id : found.ids()) {
    if (id == pool.id()) continue;
    const auto data_pool =
        cluster.OpenPool(id, pool.rados_namespace(), Access::kRead);
    const std::string name = data_pool.ok() ? (*data_pool)->name() : "";
    report.Ask(
        "caps.data-pool", object,
        absl::StrCat("write into ", name.empty() ? "the pool" : "pool",
                     name.empty() ? "" : absl::StrCat(" '", name, "'"),
                     " with id ", id, ", which has data of its images"),
        [&] { return TryObjects(cluster, id, pool.rados_namespace()); },
        absl::StrCat(
            "what writes into these images fails: reclaim, rescues "
            "and forced promotions in the middle of a copy; give the "
            "user the OSD capability ",
            ProfileFor(name.empty() ? "POOL" : name, pool.rados_namespace())));
  }
}

}  // namespace addons
