#ifndef ADDONS_REPLICATION_LOOK_MIRROR_VIEW_H_
#define ADDONS_REPLICATION_LOOK_MIRROR_VIEW_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "replication/look/known_proofs.h"
#include "replication/look/local_record.h"
#include "replication/look/move_marks.h"
#include "replication/look/report.h"
#include "replication/look/timeline.h"
#include "volume/resolved.h"

namespace addons {

/// librbd keeps a resync request under such a metadata key until the image is
/// replaced.
inline constexpr char kResyncKeyPrefix[] = ".rbd_mirror.";
/// What this daemon remembers in the metadata of an image begins so: the first
/// arrives on the peer site with a mirror snapshot, the second stays here.
inline constexpr char kSharedMarkPrefix[] = "rbd-addons.";
inline constexpr char kLocalMarkPrefix[] = ".rbd-addons.";
/// Written by ceph-csi: who staged the volume. The leading dot keeps it on this
/// site.
inline constexpr char kPublishPrefix[] = ".rbd.csi.ceph.com/";

/// One site's entry with what can be said about its age.
struct SiteView {
  SiteStatus status;
  Says says = Says::kUnclear;
  /// At least so old. Never computed from this host's wall clock.
  SteadyDuration age{0};
  /// It was rewritten within kJustReported.
  bool rewritten = false;
  /// How often this process has seen it rewritten since it saw the image in its
  /// present role first.
  int rewrites = 0;
  /// The same since the present call did so: see ReportWatch. 0 outside of one.
  int rewrites_in_call = 0;
  /// The stamp of the report before this one, of a peer; nullopt: this process
  /// has seen none. rbd-mirror ran then, so what it says now is no older than a
  /// minute before that.
  std::optional<int64_t> reported_before = std::nullopt;
  /// This process has seen a peer's report that WentOn() in the present term.
  bool went_on = false;

  /// Names the report among all of its site: another one is a newer one.
  std::string Stamp() const { return std::to_string(status.last_update); }
  /// When it was written, RFC 3339 in UTC, by this site's cluster.
  std::string ReportedAt() const;
};

/// Names the pool and namespace of a volume among all clusters.
std::string PoolKey(const ResolvedVolume& volume);
/// Names the pool, whatever its namespaces: rbd-mirror copies all of them in
/// one queue.
std::string WholePoolKey(const ResolvedVolume& volume);
std::string WholePoolKey(absl::string_view fsid, int64_t pool_id);

/// Everything that one look from this site shows of a mirrored image.
///
/// The life of an image on one site. What has no verb beside it is the work of
/// rbd-mirror, after something happened on the peer site:
///
// clang-format off
///                                                               ┌─────────┐
///   off ────────────────────── Enable() ───────────────────────>│         │
///    │  the peer's image is enabled                             │         │
///    v                                                          │         │
///   first copy                                                  │         │
///    │  it is whole                                             │         │
///    v                                                          │         │
///   whole copy ─────────────── Promote() by force ─────────────>│         │
///    │  ^  the peer's next snapshot                             │         │
///    v  │                                                       │ primary │
///   mid copy ───────────────── Promote() by force, Rescue ─────>│         │
///    │  it was the peer's demotion, and is whole                │         │
///    v                                                          │         │
///   demotion arrived ───────── Promote() ──────────────────────>│         │
///    v  the peer is promoted again                              │         │
///   mid copy                                                    │         │
///                                                               │         │
///   own demotion <──────────── Demote() ────────────────────────│         │
///    │ └────────────────────── Promote(), followers ───────────>│         │
///    v  the peer is promoted                                    └─────────┘
///   mid copy, or split brain where the peer did not have the demotion whole
///
///   Disable()   primary, or by force a copy ──> off; the peer's copy is removed
///   Resync()    a split brain, by force ──> resync requested ──> absent ──> first copy
///
///   state               how it is seen
///
///   off                 not enabled()
///   first copy          InMidCopy() without a RescueSnapshot(); first_copy_pending
///   mid copy            RescueSnapshot()                replication/look/rescue_record.h
///   whole copy          Newest() is LastComplete()
///   demotion arrived    DemotionArrived()               replication/look/peers.h
///   own demotion        OwnDemotion(); own.demotion
///   primary             info.primary
///   split brain         SplitBrain()
///   resync requested    resync_requested
///   copy made anew      CopyRunning()                   replication/steps/resync.h,
///                                         replication/decide/resync.h
///
///   Journal mode has no mid copy: EntriesBehind() tells what is missing.
///
///   what a crash left                   who makes up for it
///
///   HalfEnabled()                       Enable(), Disable()
///                                         replication/look/leftover.h, replication/steps/enable.h
///   disabling                           Disable(): DisableOnceMore()
///                                         replication/steps/disable.h
///   OwnHalfDemotion()                   Demote(): Repair(); Promote()
///                                         replication/steps/demote.h
///   primary and marked_non_primary      MakeWritable(), before the verb
///   primary with HalfCopies()           Promote(): RemoveHalfCopies()
///   primary, Newest() not complete      Promote(): CompleteHalfDone()
///                                         replication/steps/promotion_cleanup.h
///   primary with own.demotion           Promote(): FollowersOf()
///                                         replication/decide/promote.h
///                                         replication/steps/promote.h
///   AwaitsRestore()                     Promote(): RestoreLastComplete()
///   half a demotion, given up by        Promote(): ResumeDemotionCopy()
///   an rbd-mirror that began anew         replication/steps/ceph_faults/demotion_copy.h
// clang-format on
struct MirrorView {
  std::string image_id;
  Timestamp created;
  ImageSize size;
  MirrorImageInfo info;
  std::vector<MirrorSnapshot> snapshots;  // ascending
  /// The copy that librbd calls complete because a rescue has marked it. In
  /// `snapshots` it is not (ShowMarked()).
  std::optional<uint64_t> marked_complete_id;
  /// Snapshots of users and groups, ascending; empty while mirroring is off.
  std::vector<ImageSnapshot> other_snapshots;
  std::optional<SiteView> local;
  std::vector<SiteView> peers;
  /// Where no peer's report is there, although the rbd-mirror of one is known
  /// to this pool: how long this process has seen it so. Of a secondary, and of
  /// a primary that has noted a demotion of its own.
  std::optional<SteadyDuration> silent_peer_age;
  std::optional<ImageParent> parent;
  std::map<std::string, std::string> marks;  // metadata that this daemon wrote
  /// Metadata that ceph-csi has while the volume is published: kPublishPrefix.
  std::map<std::string, std::string> published;
  /// Metadata of ceph-csi's NVMe-oF driver: kNvmeofPrefix.
  std::map<std::string, std::string> exported;
  /// What is to be noted of the volume's entry in the journal, VolumeNoteDue().
  std::string volume_note_due;
  /// "namespace/name" of the volume's claim in Kubernetes, as ceph-csi notes it
  /// in the metadata (--setmetadata), which arrives on the peer site with a
  /// snapshot; empty: it has not.
  std::string claim;
  bool resync_requested = false;
  /// Journal mode, on a secondary: the first copy of the image is not whole,
  /// see JournalReplayBegan().
  bool first_copy_pending = false;
  bool marked_non_primary = false;  // refuses all writes, whatever its role
  /// How many snapshots it may have, of all kinds; nullopt: any number. Only
  /// where limit_known, of a look that did not open the image. For others:
  /// ReadSnapshotRoom().
  std::optional<uint64_t> snapshot_limit;
  bool limit_known = false;
  /// On a secondary: the peer has told that it wants to be demoted and cannot.
  std::optional<RefusedDemotion> refused_demotion;
  /// Since this process has seen that, in its present words.
  SteadyDuration refused_demotion_age{0};
  /// What a comparison with a point has found of this copy, where that was read
  /// (AddProof()); without a name: nothing.
  KnownProof proof;
  LocalRecord own;       // what this site has noted of the image for itself
  std::string pool_key;  // WholePoolKey()
  std::string timeline_key;
  /// How long ago this process saw the image turn primary; nullopt: it is not,
  /// or was so all along.
  std::optional<SteadyDuration> primary_for;
  /// How long nothing was copied onto this site, seen by this process.
  SteadyDuration quiet_for{0};

  bool enabled() const {
    return info.state == MirrorImageState::kEnabled ||
           info.state == MirrorImageState::kCreating;
  }
  const MirrorSnapshot* Newest() const;
  /// The newest snapshot is a demotion of this site's own.
  bool OwnDemotion() const;
  /// The last demotion was this site's own. In journal mode only the mark tells
  /// whose it was.
  bool LastDemotionIsOwn() const;
  /// This site was demoted again because a peer had been promoted meanwhile,
  /// and still has its content of before. In journal mode, where nothing shows
  /// what came later, until the image is made anew.
  bool Yielded() const;
  /// The same, and nobody was told meanwhile that this site is primary: what
  /// matters is on the peer.
  bool GaveRoleBackUntold() const;
  /// The last demotion is this site's own, and not one to take back, because
  /// a peer went on from another content: the role was given back for that, or
  /// a resync was requested, or the last word of this site's rbd-mirror is that
  /// there is a split brain.
  bool PeerDiverged() const;
  /// The newest complete one: what a forced promote returns to.
  const MirrorSnapshot* LastComplete() const;

  /// When this site's image became primary, by its cluster's clock, or a later
  /// time when older snapshots had been dropped before that was noted
  /// (record.h); nullopt: it is not primary, or in journal mode.
  std::optional<int64_t> PrimarySince() const;

  /// The local rbd-mirror has an entry and its daemon is up.
  bool LocalDaemonUp() const;
  /// A peer has reported within `settle`, or none has for less than that.
  bool AnyFreshPeer(SteadyDuration settle) const;
  /// No rbd-mirror of a peer has ever reported on this image or called at this
  /// pool: the local one's own report stands for life.
  bool OneWay() const { return peers.empty() && !silent_peer_age.has_value(); }
  bool SplitBrain() const;
  /// The clock of this cluster, unix seconds, as far as reports have told it;
  /// nullopt: there is none.
  std::optional<int64_t> ToldNow() const;
  /// A report, not older than `settle`, with a state that this build does not
  /// know: what that site is doing is unclear. Empty text: there is none.
  std::string UnclearReport(SteadyDuration settle) const;

  /// Snapshot mode: when the primary was in the state that the last complete
  /// snapshot holds, by its own clock; nullopt: rbd-mirror does not say, or
  /// there is none.
  std::optional<int64_t> RestoreTime() const;
  /// When the newest snapshot of the primary that is known here was taken, by
  /// its own clock; nullopt: rbd-mirror does not say.
  std::optional<int64_t> NewestOnPrimary() const;
  /// "the state of 2026-11-20T03:00:00Z", or "nothing: no complete snapshot".
  std::string RestorePoint() const;
  /// Journal mode: entries that the local rbd-mirror knows of and has not
  /// replayed yet; 0 when it does not say.
  int64_t EntriesBehind() const;
  /// Changes whenever rbd-mirror has copied something onto this site.
  std::string Progress() const;
  /// "12 of 64 objects copied", empty when nothing is being copied.
  std::string CopyProgress() const;
};

/// Reads more from the image that a look has open, as opening it again is what
/// costs most. The view is not complete yet: it has what the image itself
/// holds, and nothing of the sites' reports.
using AlsoRead = std::function<absl::Status(Image&, const MirrorView&)>;

/// Opens the image read-only, reads what MirrorView holds, and what `also`
/// reads if there is one, closes it. `pool` is a read pool of the volume.
/// NOT_FOUND: no such image. UNAVAILABLE: its state, mode or a mirror snapshot
/// is of a kind that this build does not know. An error of `also` ends the
/// look.
absl::StatusOr<MirrorView> LookAt(const ResolvedVolume& volume, Pool& pool,
                                  Timeline& timeline,
                                  const AlsoRead& also = nullptr);

/// LookAt() at a fraction of its cost: what the pool notes of the image is read
/// where librbd writes it. Opens the image where that does not tell: in journal
/// mode, of a clone, of one whose mirroring is being made or removed, and where
/// something is not written as up to Ceph 20.
absl::StatusOr<MirrorView> LookWithoutOpening(const ResolvedVolume& volume,
                                              Pool& pool, Timeline& timeline);

/// LookAt() through a handle that is open already, of the image that `volume`
/// names; it stays open. What it shows is as old as that handle. `reports`,
/// where given, are what a listing of the pool has just told of the image; they
/// are not read again.
absl::StatusOr<MirrorView> LookAt(const ResolvedVolume& volume, Pool& pool,
                                  Image& image,
                                  const std::vector<SiteStatus>* reports,
                                  Timeline& timeline);

/// "site 'site-a'" by mirror uuid, "the peer site" when its name is not known.
std::string SiteName(Pool& pool, const std::string& mirror_uuid);
std::string SiteName(const std::vector<MirrorPeer>& peers,
                     const std::string& mirror_uuid);
/// What a listing of the pool shows of an image: its reports, with their ages.
MirrorView ViewOfListed(const ImageStatuses& listed, Timeline& timeline);

/// Whether these are the same mirror snapshots, copied as far.
bool SameSnapshots(const std::vector<MirrorSnapshot>& one,
                   const std::vector<MirrorSnapshot>& other);

/// SiteName() for who has neither, because it only decides.
using SiteNameFn = std::function<std::string(const std::string& mirror_uuid)>;
/// SiteName() of `pool`, which is not owned: an operation for each name.
SiteNameFn SiteNamesOf(Pool& pool);
/// Empty names, where nobody reads them.
const SiteNameFn& NoSiteNames();

/// RFC 3339 in UTC.
std::string FormatUnixSeconds(int64_t seconds);

/// A status of a read or mutation after the volume was found. NOT_FOUND would
/// mean something else to the caller by now and becomes UNAVAILABLE.
absl::Status AfterResolve(const absl::Status& status,
                          const ResolvedVolume& volume);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_MIRROR_VIEW_H_
