#include "doctor/check_cluster.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ceph/blocklist_commands.h"
#include "ceph/cluster_services.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"

namespace addons {
namespace {

using Verdict = FindingVerdict;

constexpr absl::Duration kSkew = absl::Seconds(5);

/// Who may not is told from who gets no answer: that one may be able to.
Verdict VerdictOf(const absl::Status& status) {
  if (status.ok()) return Verdict::kOk;
  return absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status)
             ? Verdict::kProblem
             : Verdict::kUnclear;
}

class ClusterCheck {
 public:
  ClusterCheck(std::shared_ptr<Cluster> cluster, const ClusterConfig& config,
               const ClusterEntry& entry, std::string object)
      : cluster_(std::move(cluster)),
        config_(config),
        entry_(entry),
        object_(std::move(object)) {}

  Findings Run(absl::Time now) {
    Ask(
        "caps.blocklist", "read the blocklist",
        [&] { return ReadBlocklist(*cluster_).status(); },
        "fences and forced promotions fail; give the user the monitor "
        "capabilities profile rbd, allow command \"osd blocklist\"");
    Ask(
        "caps.manager", "read mirror snapshot schedules",
        [&] {
          return cluster_
              ->MgrCommand(
                  R"({"prefix":"rbd mirror snapshot schedule list","level_spec":""})")
              .status();
        },
        "promotions with a schedule, and disable, wait for it; give the user "
        "the manager capability allow rw, or profile rbd, and look at the "
        "manager with ceph mgr module ls");
    Ask(
        "caps.mirror-daemons", "ask the manager for the rbd-mirrors",
        [&] {
          return cluster_
              ->MgrCommand(R"({"prefix":"service status","format":"json"})")
              .status();
        },
        "an rbd-mirror of this site that is started after the other site has "
        "died is taken for one that is down, and a promotion waits until a "
        "person forces it; give the user the manager capability allow rw, or "
        "allow command \"service status\"");
    absl::StatusOr<OsdMapView> map = absl::UnavailableError("not asked");
    Ask(
        "caps.osd-map", "read the OSD map",
        [&] {
          map = ReadOsdMap(*cluster_);
          return map.status();
        },
        "give the user the monitor capability profile rbd");
    if (!map.ok()) return std::move(findings_);
    CheckClock(map->modified, now);
    bool mirrored = false;
    for (const RbdPool& pool : map->pools) mirrored |= CheckPool(pool);
    if (!mirrored) {
      Note("mirror.pools", Verdict::kWarning, object_,
           "no pool that could be looked at is mirrored image by image",
           "where volumes are to be replicated: rbd mirror pool enable POOL "
           "image");
    }
    return std::move(findings_);
  }

 private:
  void Note(std::string id, Verdict verdict, std::string object,
            std::string seen, std::string remedy) {
    findings_.push_back({std::move(id), verdict, std::move(object),
                         std::move(seen),
                         verdict == Verdict::kOk ? "" : std::move(remedy)});
  }
  void Ask(std::string id, const std::string& what,
           absl::FunctionRef<absl::Status()> question, std::string remedy) {
    const absl::Status status = silent_ ? NotAsked() : question();
    Note(std::move(id), Heard(status), object_,
         status.ok() ? absl::StrCat("this user may ", what)
                     : absl::StrCat("could not ", what, ": ", status.message()),
         std::move(remedy));
  }

  static absl::Status NotAsked() {
    return absl::UnavailableError(
        "not asked, because the cluster left another question unanswered");
  }
  /// Notices a cluster that does not answer: each further question would cost
  /// another timeout, and the report of the others would not come in time.
  Verdict Heard(const absl::Status& status) {
    silent_ |= absl::IsDeadlineExceeded(status);
    return VerdictOf(status);
  }

  /// The map is from now or earlier, by the monitors' clock: only a host that
  /// is behind can be told.
  void CheckClock(absl::Time modified, absl::Time now) {
    const absl::Duration ahead = modified - now;
    if (ahead <= kSkew) {
      Note("clock.host", Verdict::kOk, object_,
           "this host is not behind the monitors", "");
      return;
    }
    Note("clock.host", Verdict::kProblem, object_,
         absl::StrCat("the monitors are ", absl::ToInt64Seconds(ahead),
                      " s ahead of this host"),
         "set the clocks right (chronyc tracking); ages in messages and "
         "metrics are wrong until then");
  }

  /// Whether it is mirrored, as far as can be seen.
  bool CheckPool(const RbdPool& rbd_pool) {
    const std::string& name = entry_.rados_namespace;
    const std::string spec =
        absl::StrCat(rbd_pool.name, name.empty() ? "" : "/", name);
    const std::string object = absl::StrCat(
        name.empty() ? "pool '" : "namespace '", spec, "' of ", object_);
    const auto unseen = [&](const char* id, const absl::Status& status) {
      Note(id, Heard(status), object, std::string(status.message()),
           "look at the pool with rbd mirror pool info, as this user");
    };
    if (silent_) {
      unseen("mirror.mode", NotAsked());
      return false;
    }
    const auto pool = cluster_->OpenPool(rbd_pool.id, name, Access::kRead);
    if (!pool.ok()) {
      unseen("mirror.mode", pool.status());
      return false;
    }
    const auto mode = (*pool)->MirrorMode();
    // A pool without the entry's namespace is not for it.
    if (absl::IsNotFound(mode.status()) && !name.empty()) return false;
    if (!mode.ok()) {
      unseen("mirror.mode", mode.status());
      return false;
    }
    if (*mode == PoolMirrorMode::kDisabled) return false;
    if (*mode != PoolMirrorMode::kImage) {
      Note("mirror.mode", Verdict::kProblem, object,
           "it is mirrored, but not image by image, and enable is refused",
           absl::StrCat("rbd mirror pool enable ", spec, " image"));
      return false;
    }
    Note("mirror.mode", Verdict::kOk, object, "it is mirrored image by image",
         "");
    if (const auto peers = (*pool)->MirrorPeers(); !peers.ok()) {
      unseen("mirror.peer", peers.status());
    } else {
      Note("mirror.peer", peers->empty() ? Verdict::kProblem : Verdict::kOk,
           object,
           peers->empty()
               ? "it has no peer, so nothing is copied"
               : absl::StrCat("its peer is '", peers->front().site_name, "'"),
           absl::StrCat("rbd mirror pool peer bootstrap import ", rbd_pool.name,
                        " TOKEN-FILE"));
    }
    CheckPoolMapping(rbd_pool, object);
    if (silent_) {
      unseen("mirror.daemon", NotAsked());
    } else {
      CheckDaemons(**pool, object);
    }
    return true;
  }

  /// Volume ids hold the number of the pool, which another site has for another
  /// pool, or not at all.
  void CheckPoolMapping(const RbdPool& pool, const std::string& object) {
    if (config_.MappedClusters(entry_.cluster_id).empty())
      return;  // said of the cluster
    const bool mapped = !config_.Mapped(entry_.cluster_id, pool.id).empty();
    Note("config.pool-mapping", mapped ? Verdict::kOk : Verdict::kWarning,
         object,
         mapped
             ? "cluster-mapping.json has its number"
             : absl::StrCat("cluster-mapping.json does not have its number, ",
                            pool.id,
                            ": volumes of the other site are found by the "
                            "pool's name only"),
         absl::StrCat("add {\"", pool.id,
                      "\": \"NUMBER-THERE\"} to RBDPoolIDMapping; the other "
                      "number: ceph osd pool ls detail, there"));
  }

  void CheckDaemons(Pool& pool, const std::string& object) {
    const auto statuses = pool.MirrorStatuses();
    if (!statuses.ok()) {
      Note("mirror.daemon", Heard(statuses.status()), object,
           std::string(statuses.status().message()),
           "look at it with rbd mirror pool status --verbose");
      return;
    }
    size_t here = 0;
    size_t there = 0;
    for (const ImageStatuses& image : *statuses) {
      const auto reports = [&](bool local) {
        return std::any_of(image.sites.begin(), image.sites.end(),
                           [&](const SiteStatus& site) {
                             return site.local() == local && site.up;
                           });
      };
      here += reports(true) ? 1 : 0;
      there += reports(false) ? 1 : 0;
    }
    const size_t images = statuses->size();
    if (images == 0) {
      // Without an image nobody reports.
      Note("mirror.daemon", Verdict::kUnclear, object,
           "no image is mirrored yet, so no rbd-mirror has reported",
           "enable the replication of a volume, then ask again");
      return;
    }
    const auto note = [&](const char* id, const char* whose, size_t reported) {
      Note(id,
           reported == images ? Verdict::kOk
           : reported == 0    ? Verdict::kProblem
                              : Verdict::kWarning,
           object,
           absl::StrCat("rbd-mirror of ", whose, " reports of ", reported,
                        " of ", images, images == 1 ? " image" : " images"),
           absl::StrCat("start it there, or look into its log; rbd mirror pool "
                        "status --verbose ",
                        pool.name(), pool.rados_namespace().empty() ? "" : "/",
                        pool.rados_namespace(), " names the images"));
    };
    note("mirror.daemon", "this site", here);
    note("mirror.peer-daemon", "the other site", there);
  }

  const std::shared_ptr<Cluster> cluster_;
  const ClusterConfig& config_;
  const ClusterEntry& entry_;
  const std::string object_;
  Findings findings_;
  bool silent_ = false;
};

}  // namespace

Findings CheckCluster(ClusterProvider& clusters, const ClusterConfig& config,
                      const ClusterEntry& entry, const CephUserRef& user,
                      absl::Time now) {
  std::string object = absl::StrCat("cluster '", entry.cluster_id.text(), "'");
  auto cluster = clusters.Connect({entry.cluster_id, entry.monitors}, user);
  if (!cluster.ok()) {
    const absl::Status& status = cluster.status();
    // That no monitor answers is a fault, whoever's it is.
    return {
        {absl::IsUnauthenticated(status) ? "cluster.key" : "cluster.connect",
         FindingVerdict::kProblem, std::move(object),
         std::string(status.message()),
         absl::IsUnauthenticated(status)
             ? "give the daemon a user and key that this cluster takes: "
               "ceph auth get client.NAME"
             : "compare the monitors in config.json with ceph mon dump, "
               "and the network between"}};
  }
  Findings findings = {
      {"cluster.connect", FindingVerdict::kOk, object,
       absl::StrCat("its id is ", (*cluster)->fsid()), ""},
      {"cluster.key", FindingVerdict::kOk, object,
       absl::StrCat("it takes the key of '", user->id, "'"), ""}};
  Findings more =
      ClusterCheck(*std::move(cluster), config, entry, std::move(object))
          .Run(now);
  findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  return findings;
}

}  // namespace addons
