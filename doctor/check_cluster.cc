#include "doctor/check_cluster.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "ceph/blocklist_commands.h"
#include "ceph/client_options.h"
#include "ceph/cluster_health.h"
#include "ceph/cluster_services.h"
#include "ceph/errors.h"
#include "ceph/mirror.h"
#include "ceph/mirror_clients.h"
#include "ceph/pinned_options.h"
#include "ceph/pool.h"
#include "doctor/check_changes.h"
#include "doctor/check_key_type.h"
#include "doctor/cluster_report.h"

namespace addons {
namespace {

constexpr absl::Duration kSkew = absl::Seconds(5);
/// Beyond it Ceph warns (mon_clock_drift_allowed), and tickets of cephx suffer.
constexpr absl::Duration kMonitorSkew = absl::Milliseconds(50);

/// Of a cluster of which no monitor has answered since `begun`.
Finding NoMonitorAnswers(const ClusterEntry& entry, const std::string& object,
                         SteadyDuration waited) {
  return {kClusterConnect, FindingVerdict::kProblem, object,
          absl::StrCat("no monitor of ", object, " answered for ",
                       WholeSeconds(waited), " s; those of config.json are ",
                       absl::StrJoin(entry.monitors, ", ")),
          "ceph -s, on a host of that cluster; where it answers, compare the "
          "monitors in config.json with ceph mon dump, and look at the network "
          "between"};
}

/// What else would have been looked at there.
Finding NothingElseAsked(const std::string& object) {
  return {"cluster.not-asked", FindingVerdict::kUnclear, object,
          "nothing else of it was looked at, because each question would wait "
          "as long: capabilities, clocks, releases, options, pools, rbd-mirror",
          "ask again when a monitor answers; rbd-addons status shows what was "
          "seen last"};
}

class ClusterCheck {
 public:
  ClusterCheck(std::shared_ptr<Cluster> cluster, const ClusterConfig& config,
               const ClusterEntry& entry, std::string object)
      : cluster_(std::move(cluster)),
        config_(config),
        entry_(entry),
        report_(std::move(object)) {}

  /// Empty where the cluster left a question unanswered, or answers this client
  /// no more.
  std::vector<MirroredPlace> mirrored() {
    return report_.silent() || report_.blocklisted()
               ? std::vector<MirroredPlace>()
               : std::move(mirrored_);
  }
  /// No monitor answers: that is a problem, and all that is said of it.
  bool monitors_silent() const { return monitors_silent_; }

  Findings Run(absl::Time now) {
    Look(now);
    report_.FoldConsequences();
    return report_.Take();
  }

 private:
  void Look(absl::Time now) {
    Ask(
        "caps.blocklist", "read the blocklist",
        [&] { return ReadBlocklist(*cluster_).status(); },
        "fences and forced promotions fail; give the user the monitor "
        "capabilities profile rbd, allow command \"osd blocklist\"");
    CheckBlocklistChanges(*cluster_, report_);
    // The monitors first: who may read nothing of them finds no manager, which
    // is silence only.
    absl::StatusOr<OsdMapView> map = absl::UnavailableError("not asked");
    Ask(
        "caps.osd-map", "read the OSD map",
        [&] {
          map = ReadOsdMap(*cluster_);
          return map.status();
        },
        "give the user the monitor capability profile rbd");
    monitors_silent_ = silent();
    if (monitors_silent_) return;
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
    if (!map.ok()) return;
    CheckClock(map->modified, now);
    CheckMonitorClocks();
    CheckReleases();
    CheckOptions();
    bool mirrored = false;
    for (const RbdPool& pool : map->pools) mirrored |= CheckPool(pool);
    CheckSnapTrim(*map, mirrored || pool_unseen_);
    // One that could not be looked at may be: that is said of it.
    if (!mirrored && !pool_unseen_) {
      Note(
          "mirror.pools", FindingVerdict::kWarning, object(),
          "no pool is mirrored image by image",
          absl::StrCat(
              "where volumes are to be replicated: rbd mirror pool enable POOL",
              entry_.rados_namespace.empty() ? "" : "/", entry_.rados_namespace,
              " image"));
    }
  }

  const std::string& object() const { return report_.cluster(); }
  bool silent() const { return report_.silent(); }
  static absl::Status NotAsked() { return ClusterReport::NotAsked(); }
  FindingVerdict Heard(const absl::Status& status) {
    return report_.Heard(status);
  }
  void Note(std::string id, FindingVerdict verdict, std::string object,
            std::string seen, std::string remedy) {
    report_.Note(std::move(id), verdict, std::move(object), std::move(seen),
                 std::move(remedy));
  }
  void Ask(std::string id, const std::string& what,
           absl::FunctionRef<absl::Status()> question, std::string remedy) {
    report_.Ask(std::move(id), object(), what, question, std::move(remedy));
  }

  /// The map is from now or earlier, by the monitors' clock: only a host that
  /// is behind can be told.
  void CheckClock(absl::Time modified, absl::Time now) {
    const absl::Duration ahead = modified - now;
    if (ahead <= kSkew) {
      Note("clock.host", FindingVerdict::kOk, object(),
           "this host is not behind the monitors", "");
      return;
    }
    Note("clock.host", FindingVerdict::kProblem, object(),
         absl::StrCat("the monitors are ", absl::ToInt64Seconds(ahead),
                      " s ahead of this host"),
         "set the clocks right (chronyc tracking); ages in messages and "
         "metrics are wrong until then");
  }

  void CheckMonitorClocks() {
    const auto skews =
        silent()
            ? absl::StatusOr<std::map<std::string, absl::Duration>>(NotAsked())
            : ReadMonitorSkews(*cluster_);
    if (!skews.ok()) {
      return Note("clock.monitors", Heard(skews.status()), object(),
                  std::string(skews.status().message()),
                  "look at the monitors' clocks with ceph time-sync-status");
    }
    std::vector<std::string> off;
    for (const auto& [monitor, skew] : *skews) {
      if (absl::AbsDuration(skew) <= kMonitorSkew) continue;
      off.push_back(
          absl::StrCat("mon.", monitor, " by ", absl::FormatDuration(skew)));
    }
    Note("clock.monitors",
         off.empty() ? FindingVerdict::kOk : FindingVerdict::kProblem, object(),
         off.empty() ? "the monitors' clocks agree"
                     : absl::StrCat("clocks of monitors are off: ",
                                    absl::StrJoin(off, ", ")),
         "set the clocks right (chronyc tracking, on the monitors' hosts): "
         "expiries of fences and schedules of snapshots go by them");
  }

  /// The other site's daemons are not in these.
  void CheckReleases() {
    const auto releases =
        silent() ? absl::StatusOr<std::map<std::string, int>>(NotAsked())
                 : ReadReleases(*cluster_);
    if (!releases.ok()) {
      return Note("cluster.release", Heard(releases.status()), object(),
                  std::string(releases.status().message()),
                  "look at the releases with ceph versions, as this user");
    }
    std::vector<std::string> all;
    for (const auto& [release, daemons] : *releases) {
      all.push_back(absl::StrCat(release, " on ", daemons,
                                 daemons == 1 ? " daemon" : " daemons"));
    }
    Note("cluster.release",
         releases->size() == 1 ? FindingVerdict::kOk : FindingVerdict::kWarning,
         object(),
         absl::StrCat("Ceph ", absl::StrJoin(all, ", "),
                      "; what the other site runs cannot be seen from here, "
                      "ask doctor there"),
         "finish the upgrade (ceph versions); docs/compatibility.md has what "
         "differs between releases");
  }

  /// A copy reads as zeros what an image's snapshot shares with a removed one
  /// that is not trimmed (docs/ceph-faults.md). Data pools are not for RBD
  /// alone, so all pools count.
  void CheckSnapTrim(const OsdMapView& map, bool maybe_mirrored) {
    uint64_t left = 0;
    for (const auto& [pool, snapshots] : map.untrimmed) left += snapshots;
    const std::string removed = absl::StrCat(
        left, left == 1 ? " removed snapshot is" : " removed snapshots are",
        " not trimmed yet");
    if (!map.trims_no_snapshots) {
      // A moment's work of any cluster whose images are mirrored.
      Note("cluster.snaptrim", FindingVerdict::kOk, object(),
           left == 0 ? "the OSDs have trimmed all removed snapshots"
                     : absl::StrCat(removed,
                                    "; before a first copy, a resync "
                                    "or a failback of an image with "
                                    "snapshots, wait for them"),
           "");
      return;
    }
    Note("cluster.snaptrim",
         maybe_mirrored ? FindingVerdict::kProblem : FindingVerdict::kWarning,
         object(),
         absl::StrCat("the flag nosnaptrim is set, so space of removed "
                      "snapshots is not given back, and a copy of an image "
                      "with snapshots can lack data; ",
                      removed),
         "ask who has set it, then ceph osd unset nosnaptrim; until then "
         "enable, resync and fail back nothing: "
         "docs/runbooks/untrimmed-snapshot.md");
  }

  /// What the configuration says to the clients of this cluster, where it
  /// matters what others do. On its own connections the daemon has the values
  /// that it needs.
  void CheckOptions() {
    struct Rule {
      const char* option;
      const char* right;
      const char* otherwise;
    };
    static constexpr Rule kRules[] = {
        {"rbd_blocklist_expire_seconds", "0",
         "an rbd-mirror that was evicted, for instance by a promotion by "
         "force, "
         "cannot take locks any more that it had before, so that those volumes "
         "are not copied (Ceph tracker 54613)"},
        {"rbd_blocklist_on_break_lock", "true",
         "a client that was taken for dead may write on when it comes back"},
    };
    auto* const options = dynamic_cast<ClientOptions*>(cluster_.get());
    if (options == nullptr) return;
    std::vector<std::string> wrong;
    std::vector<std::string> remedies;
    for (const Rule& rule : kRules) {
      const auto value = silent() ? absl::StatusOr<std::string>(NotAsked())
                                  : options->ConfiguredOption(rule.option);
      if (absl::IsNotFound(value.status())) continue;
      if (!value.ok()) {
        return Note("cluster.options", Heard(value.status()), object(),
                    std::string(value.status().message()),
                    "look at the options of clients with ceph config dump");
      }
      if (*value == rule.right) continue;
      wrong.push_back(
          absl::StrCat(rule.option, " is ", *value, ": ", rule.otherwise));
      remedies.push_back(absl::StrCat("ceph config rm client ", rule.option));
    }
    Note("cluster.options",
         wrong.empty() ? FindingVerdict::kOk : FindingVerdict::kProblem,
         object(),
         wrong.empty()
             ? "no option of clients is set against what replication needs"
             : absl::StrJoin(wrong, "; "),
         absl::StrCat(absl::StrJoin(remedies, "; "),
                      "; ceph config dump shows in which section it is"));
  }

  /// What a pool overrides holds for every client of its images, this daemon
  /// included.
  void CheckPoolOptions(const RbdPool& rbd_pool, const std::string& object) {
    if (silent()) return;
    // The options of namespaces are those of their pool.
    const auto pool = cluster_->OpenPool(rbd_pool.id, "", Access::kRead);
    if (!pool.ok()) return;
    const auto metadata =
        (*pool)->ReadOmap(kPoolOptionsObject, kPoolOptionPrefix);
    if (!metadata.ok()) return;  // none, or this user may not see them
    const auto overridden = Overridden(*metadata, kPoolOptionPrefix);
    if (overridden.empty()) return;
    Note("pool.options", FindingVerdict::kProblem, object,
         absl::StrCat("it overrides what this daemon needs: ",
                      absl::StrJoin(overridden, ", ")),
         absl::StrCat("rbd config pool remove ", rbd_pool.name,
                      " OPTION; why each is needed: docs/compatibility.md"));
  }

  /// Whether it is mirrored, as far as can be seen.
  bool CheckPool(const RbdPool& rbd_pool) {
    const std::string& name = entry_.rados_namespace;
    const std::string spec =
        absl::StrCat(rbd_pool.name, name.empty() ? "" : "/", name);
    const std::string object =
        absl::StrCat(name.empty() ? "pool '" : "namespace '", spec, "' of ",
                     report_.cluster());
    const auto unseen = [&](const char* id, const absl::Status& status) {
      Note(id, Heard(status), object, std::string(status.message()),
           absl::StrCat("look at the pool with rbd mirror pool info, as this "
                        "user; what it may not it needs for whatever "
                        "replicates volumes of it: give it the OSD capability "
                        "profile rbd pool=",
                        rbd_pool.name));
    };
    const auto unknown = [&](const absl::Status& status) {
      unseen("mirror.mode", status);
      pool_unseen_ = true;
      return false;
    };
    if (silent()) return unknown(NotAsked());
    const auto pool = cluster_->OpenPool(rbd_pool.id, name, Access::kRead);
    if (!pool.ok()) return unknown(pool.status());
    const auto mode = (*pool)->MirrorMode();
    // A pool without the entry's namespace is not for it.
    if (absl::IsNotFound(mode.status()) && !name.empty()) return false;
    if (!mode.ok()) return unknown(mode.status());
    if (*mode == PoolMirrorMode::kDisabled) return false;
    if (*mode != PoolMirrorMode::kImage) {
      Note("mirror.mode", FindingVerdict::kProblem, object,
           "it is mirrored, but not image by image, and enable is refused",
           absl::StrCat("rbd mirror pool enable ", spec, " image"));
      return false;
    }
    Note("mirror.mode", FindingVerdict::kOk, object,
         "it is mirrored image by image", "");
    CheckPoolOptions(rbd_pool, object);
    CheckPoolChanges(*cluster_, rbd_pool, name, object, report_);
    if (const auto peers = (*pool)->MirrorPeers(); !peers.ok()) {
      unseen("mirror.peer", peers.status());
    } else {
      Note("mirror.peer",
           peers->empty() ? FindingVerdict::kProblem : FindingVerdict::kOk,
           object,
           peers->empty()
               ? "it has no peer, so nothing is copied"
               : absl::StrCat("its peer is '", peers->front().site_name, "'"),
           // The pool itself has to be, also where only its namespaces are.
           absl::StrCat("rbd mirror pool enable ", rbd_pool.name,
                        " image && rbd mirror pool peer bootstrap import ",
                        rbd_pool.name, " TOKEN-FILE"));
    }
    CheckPoolMapping(rbd_pool, object);
    const auto statuses =
        silent() ? absl::StatusOr<std::vector<ImageStatuses>>(NotAsked())
                 : (*pool)->MirrorStatuses();
    CheckDaemons(**pool, statuses, object);
    if (statuses.ok()) {
      CheckDataPoolChanges(*cluster_, **pool, *statuses, object, report_);
    }
    ResolvedPlace place;
    place.cluster_id = entry_.cluster_id;
    place.pool_id = rbd_pool.id;
    place.pool_name = rbd_pool.name;
    place.rados_namespace = name;
    place.cluster = cluster_;
    mirrored_.push_back({std::move(place), object, mirrored_.empty()});
    return true;
  }

  /// Volume ids hold the number of the pool, which another site has for another
  /// pool, or not at all.
  void CheckPoolMapping(const RbdPool& pool, const std::string& object) {
    if (config_.MappedClusters(entry_.cluster_id).empty())
      return;  // said of the cluster
    const bool mapped = !config_.Mapped(entry_.cluster_id, pool.id).empty();
    Note("config.pool-mapping",
         mapped ? FindingVerdict::kOk : FindingVerdict::kWarning, object,
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

  void CheckDaemons(Pool& pool,
                    const absl::StatusOr<std::vector<ImageStatuses>>& statuses,
                    const std::string& object) {
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
      // Without an image nobody reports. Those who would are its clients.
      const auto daemons = ListMirrorClients(pool);
      const bool served = daemons.ok() && !daemons->empty();
      Note(
          "mirror.daemon",
          served ? FindingVerdict::kOk : FindingVerdict::kUnclear, object,
          absl::StrCat("no image is mirrored yet, so no rbd-mirror has "
                       "reported",
                       served ? absl::StrCat("; those that serve it are ",
                                             DescribeWatchers(*daemons))
                              : ", and none serves it"),
          daemons.ok() && !served
              ? "start rbd-mirror on this site, if volumes are to be copied to "
                "it; those that serve a pool are its clients"
              : "enable the replication of a volume, then ask again");
      return;
    }
    const auto note = [&](const char* id, const char* whose, size_t reported) {
      Note(id,
           reported == images ? FindingVerdict::kOk
           : reported == 0    ? FindingVerdict::kProblem
                              : FindingVerdict::kWarning,
           object,
           absl::StrCat("rbd-mirror of ", whose, " reports of ", reported,
                        " of ", images, images == 1 ? " image" : " images"),
           absl::StrCat("start it there, and restart one that runs and reports "
                        "nothing; rbd mirror pool status --verbose ",
                        pool.name(), pool.rados_namespace().empty() ? "" : "/",
                        pool.rados_namespace(), " names the images"));
    };
    note("mirror.daemon", "this site", here);
    note("mirror.peer-daemon", "the other site", there);
  }

  const std::shared_ptr<Cluster> cluster_;
  const ClusterConfig& config_;
  const ClusterEntry& entry_;
  ClusterReport report_;
  std::vector<MirroredPlace> mirrored_;
  bool monitors_silent_ = false;
  bool pool_unseen_ = false;  // whether one is mirrored, at least
};

}  // namespace

Findings CheckCluster(ClusterProvider& clusters, const ClusterConfig& config,
                      const ClusterEntry& entry, const CephUserRef& user,
                      const Clock& clock,
                      std::vector<MirroredPlace>* mirrored) {
  const std::string object =
      absl::StrCat("cluster '", entry.cluster_id.text(), "'");
  const SteadyTime begun = clock.Now();
  const auto dead = [&] {
    return Findings{NoMonitorAnswers(entry, object, clock.Now() - begun),
                    NothingElseAsked(object)};
  };
  auto cluster = clusters.Connect({entry.cluster_id, entry.monitors}, user);
  Finding key_type = CheckKeyType(*user, cluster.status(), object);
  if (!cluster.ok()) {
    const absl::Status& status = cluster.status();
    const bool key = absl::IsUnauthenticated(status);
    Findings findings;
    // That no monitor answers is a fault, whoever's it is.
    if (CephErrno(status) == ETIMEDOUT && !key) {
      findings = dead();
    } else {
      findings.push_back(
          {key ? "cluster.key" : kClusterConnect, FindingVerdict::kProblem,
           object, std::string(status.message()),
           key ? "give the daemon a user and key that this cluster takes: ceph "
                 "auth get client.NAME"
               : "compare the monitors in config.json with ceph mon dump, and "
                 "the network between"});
    }
    if (key_type.verdict == FindingVerdict::kProblem) {
      findings.push_back(std::move(key_type));
    }
    return findings;
  }
  Findings findings = {
      {kClusterConnect, FindingVerdict::kOk, object,
       absl::StrCat("its id is ", (*cluster)->fsid()), ""},
      {"cluster.key", FindingVerdict::kOk, object,
       absl::StrCat("it takes the key of '", user->id, "'"), ""},
      std::move(key_type)};
  ClusterCheck check(*std::move(cluster), config, entry, object);
  Findings more = check.Run(absl::FromChrono(clock.WallNow()));
  // What an older connection has told is not how it is now.
  if (check.monitors_silent()) return dead();
  findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  *mirrored = check.mirrored();
  return findings;
}

}  // namespace addons
