// The simulated rbd-mirror: what it copies, creates and deletes, and what it
// says.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/fakes/model.h"

namespace addons::model {
namespace {

using std::chrono::seconds;

// A change of state is told after this time, numbers at the next interval.
constexpr SteadyDuration kReportDelay = seconds(5);
// Until it looks at an image again that was primary here, each report says
// that it still is.
constexpr SteadyDuration kLookInterval = seconds(30);
constexpr SteadyDuration kCreateDelay = seconds(2);
// From its word that it replays to the first entry of the journal: longer than
// until it has said so.
constexpr SteadyDuration kFirstEntryDelay = seconds(7);
constexpr SteadyDuration kDeleteDelay = seconds(3);
constexpr SteadyDuration kLetGoDelay = seconds(1);
// A split brain is looked at once more after each kLookInterval, with both
// images open for so long.
constexpr SteadyDuration kLookTime = seconds(2);

// The snapshot of `image`, on `site`, that stands for the same state as `other`
// of the peer's image: one of the two was copied from the other.
std::optional<size_t> FindSame(const Site& site, const Image& image,
                               const Site& other_site,
                               const MirrorSnapshot& other) {
  const auto origin = [](const Site& where, const MirrorSnapshot& snapshot) {
    return snapshot.copied() ? std::pair(snapshot.primary_mirror_uuid,
                                         snapshot.primary_snapshot_id)
                             : std::pair(where.mirror_uuid, snapshot.id);
  };
  const auto wanted = origin(other_site, other);
  if (wanted.first.empty()) return std::nullopt;  // an orphan
  for (size_t i = 0; i < image.snapshots.size(); ++i) {
    if (origin(site, image.snapshots[i].info) == wanted) return i;
  }
  return std::nullopt;
}

// The next snapshot of `remote` to copy; nullopt: none, or it is not complete.
std::optional<size_t> NextTarget(const Image& remote,
                                 std::optional<size_t> base) {
  for (size_t i = base ? *base + 1 : 0; i < remote.snapshots.size(); ++i) {
    const MirrorSnapshot& info = remote.snapshots[i].info;
    if (info.copied()) continue;
    if (info.complete) return i;
    return std::nullopt;
  }
  return std::nullopt;
}

int64_t UnixSeconds(const Snapshot& snapshot) {
  return std::chrono::duration_cast<seconds>(
             snapshot.info.created.time_since_epoch())
      .count();
}

bool IsOrphaned(const Image& image) {
  const Snapshot* const newest = image.newest();
  return newest != nullptr &&
         newest->info.kind == MirrorSnapshotKind::kNonPrimary &&
         newest->info.primary_mirror_uuid.empty();
}

bool HasHalfACopy(const Image& image) {
  return std::any_of(image.snapshots.begin(), image.snapshots.end(),
                     [](const Snapshot& snapshot) {
                       return snapshot.info.copied() && !snapshot.info.complete;
                     });
}

bool SiteLocalKey(absl::string_view key) {
  return absl::StartsWith(key, ".rbd");
}

}  // namespace

struct Model::Pair {
  Site& site;
  PoolState& pool;
  const std::string& space_name;
  Namespace& local;
  Namespace& remote;
};

bool Model::DaemonWorks(const Site& site) const {
  return site.daemon.exists && site.daemon.state == DaemonState::kRunning &&
         site.up && now_ >= site.daemon.blocklisted_until;
}

int64_t Model::ClockOf(const Site& site) const {
  return std::chrono::duration_cast<seconds>(
             (wall_ + site.clock_skew).time_since_epoch())
      .count();
}

void Model::RunDaemon(Site& site, double passed) {
  if (!DaemonWorks(site)) return;
  Daemon& daemon = site.daemon;
  daemon.seen_locally = now_;
  if (std::exchange(daemon.begins_locally, false)) RemoveDownStatuses(site);
  if (Reachable(site)) {
    daemon.seen_by_peer = now_;
    daemon.has_called_peer = true;
    if (std::exchange(daemon.begins_at_peer, false)) {
      RemoveDownStatuses(*site.peer);
    }
  }
  if (site.peer == nullptr || now_ < daemon.ready_at) return;
  const bool report = now_ >= daemon.next_report;
  ForEachPair(site,
              [&](const Pair& pair) { ReplayPair(pair, passed, report); });
  if (report) daemon.next_report = now_ + kStatusInterval;
}

void Model::RemoveDownStatuses(Site& site) {
  for (auto& [pool_id, pool] : site.pools) {
    for (auto& [name, space] : pool.namespaces) {
      for (auto& [global_id, entries] : space.statuses) {
        std::erase_if(entries, [&](const auto& entry) {
          return !MirrorWatches(site, entry.second.instance);
        });
      }
    }
  }
}

// What was not replayed says nothing new (16.2.15).
void Model::EndDaemon(Site& site) {
  Daemon& daemon = site.daemon;
  if (!DaemonWorks(site)) {
    if (StandsStill(daemon.state)) daemon.died_at = now_;
    return;
  }
  if (site.peer != nullptr) {
    ForEachPair(site, [&](const Pair& pair) {
      for (auto& [global_id, replayer] : daemon.replayers) {
        if (replayer.kind != ReplayKind::kReplaying) continue;
        WriteStatus(pair, global_id,
                    {MirrorStatusState::kStopped, "stopped", 0, 0});
      }
    });
  }
  for (auto& [global_id, replayer] : daemon.replayers) {
    replayer.holds_image = false;
  }
  daemon.seen_locally = now_ - kWatchTimeout;
  if (Reachable(site)) daemon.seen_by_peer = now_ - kWatchTimeout;
}

void Model::ForEachPair(Site& site,
                        const std::function<void(const Pair&)>& visit) {
  for (auto& [pool_id, pool] : site.pools) {
    for (auto& [peer_pool_id, peer_pool] : site.peer->pools) {
      if (peer_pool.name != pool.name) continue;
      for (auto& [space_name, local] : pool.namespaces) {
        visit(
            {site, pool, space_name, local, peer_pool.namespaces[space_name]});
      }
    }
  }
}

void Model::ReplayPair(const Pair& pair, double passed, bool report) {
  std::set<std::string> global_ids;
  for (const Namespace* space : {&pair.local, &pair.remote}) {
    for (const auto& [name, image] : space->images) {
      if (!image->global_id.empty() &&
          (image->mode == MirrorMode::kSnapshot || replays_journals)) {
        global_ids.insert(image->global_id);
      }
    }
  }
  for (const std::string& global_id : global_ids) {
    Replay(pair, global_id, passed);
    ReportIfDue(pair, global_id, report);
  }
}

bool Model::LooksAgain(const Replayer& replayer) const {
  return replayer.kind == ReplayKind::kSplitBrain &&
         (now_ - replayer.kind_since) % kLookInterval < kLookTime;
}

void Model::SetKind(Replayer& replayer, ReplayKind kind) {
  const bool looks = kind == replayer.kind && LooksAgain(replayer);
  if (kind == ReplayKind::kReplaying || kind == ReplayKind::kSyncing || looks) {
    replayer.holds_image = true;
    replayer.lets_go_at.reset();
  } else if (replayer.holds_image && !replayer.lets_go_at) {
    replayer.lets_go_at = now_ + kLetGoDelay;
  }
  if (replayer.lets_go_at && now_ >= *replayer.lets_go_at) {
    replayer.holds_image = false;
    replayer.lets_go_at.reset();
  }
  if (replayer.kind == kind && replayer.kind_since != SteadyTime{}) return;
  if (replayer.kind == ReplayKind::kLocalPrimary) replayer.demoted_at = now_;
  replayer.kind = kind;
  replayer.kind_since = now_;
}

void Model::Replay(const Pair& pair, const std::string& global_id,
                   double passed) {
  const auto local = FindByGlobalId(pair.local, global_id);
  const auto remote = FindByGlobalId(pair.remote, global_id);
  Replayer& replayer = pair.site.daemon.replayers[global_id];
  replayer.budget += pair.site.daemon.objects_per_second * passed;
  if (local != nullptr && local->primary()) {
    SetKind(replayer, ReplayKind::kLocalPrimary);
    return;
  }
  if (!pair.site.receives) return;
  if (local != nullptr && local->mirror_state == MirrorImageState::kDisabling) {
    return;
  }
  if (local != nullptr && IsOrphaned(*local)) {
    // A forced promotion asks for the image. A copy from a peer that does not
    // answer is not interrupted.
    if (Reachable(pair.site) || !HasHalfACopy(*local)) {
      SetKind(replayer, ReplayKind::kStarting);
    }
    return;
  }
  if (!Reachable(pair.site)) return;
  if (remote == nullptr) {
    if (local != nullptr) HandleAbsentRemote(pair, *local, replayer);
    return;
  }
  if (local == nullptr) {
    CreateLocal(pair, *remote, replayer);
    return;
  }
  replayer.create_at.reset();
  replayer.delete_at.reset();
  if (local->mirror_state == MirrorImageState::kCreating) {
    local->mirror_state = MirrorImageState::kEnabled;
  }
  if (HandleResync(pair, local, *remote, replayer)) return;
  SetKind(replayer, Follow(pair.site, *local, *remote, replayer));
}

ReplayKind Model::Follow(Site& site, Image& local, Image& remote,
                         Replayer& replayer) {
  const Snapshot* const newest = local.newest();
  if (newest != nullptr &&
      newest->info.kind == MirrorSnapshotKind::kPrimaryDemoted &&
      !newest->info.complete) {
    return ReplayKind::kIncompletePrimary;
  }
  const bool journal = local.mode == MirrorMode::kJournal;
  if (!journal && remote.newest() == nullptr) return replayer.kind;
  const bool rested = replayer.kind == ReplayKind::kRemoteDemoted ||
                      replayer.kind == ReplayKind::kRemoteNotPrimary;
  if (rested && remote.primary()) {
    // Its replayer has stopped; the image is looked at once in a while.
    if (!replayer.notices_at) {
      replayer.notices_at = now_ + site.daemon.notice_delay;
    }
    if (now_ < *replayer.notices_at) return replayer.kind;
  }
  replayer.notices_at.reset();
  if (journal) return FollowJournal(site, local, remote, replayer);
  // What it has demoted itself it does not compare with such a peer.
  const bool own_demotion =
      newest != nullptr &&
      newest->info.kind == MirrorSnapshotKind::kPrimaryDemoted;
  if (remote.newest()->info.copied() || (own_demotion && !remote.primary())) {
    return ReplayKind::kRemoteNotPrimary;
  }
  const Snapshot* const complete = local.newest_complete();
  if (complete != nullptr &&
      !FindSame(*site.peer, remote, site, complete->info).has_value()) {
    return ReplayKind::kSplitBrain;
  }
  // rbd-mirror that begins anew takes the half copy of a demotion for a
  // demotion of this site's own (16.2.15).
  const bool began_anew =
      std::exchange(replayer.looks_as, site.daemon.local_instance) !=
      site.daemon.local_instance;
  if (newest != nullptr &&
      newest->info.kind == MirrorSnapshotKind::kNonPrimaryDemoted &&
      !newest->info.complete && !remote.primary() &&
      (began_anew || replayer.kind == ReplayKind::kRemoteNotPrimary)) {
    return ReplayKind::kRemoteNotPrimary;
  }
  while (CopyNext(site, local, remote, replayer)) {
  }
  const bool copying =
      !local.snapshots.empty() && !local.newest()->info.complete;
  if (copying) return ReplayKind::kReplaying;
  replayer.budget = 0;
  return remote.newest()->info.demoted() ? ReplayKind::kRemoteDemoted
                                         : ReplayKind::kReplaying;
}

ReplayKind Model::FollowJournal(Site& site, Image& local, const Image& remote,
                                Replayer& replayer) {
  if (local.first_copy && !GoOnWithFirstCopy(site, local, replayer)) {
    return local.first_copy->objects < local.content.size()
               ? ReplayKind::kSyncing
               : ReplayKind::kReplaying;
  }
  size_t common = 0;
  while (common < local.journal.size() && common < remote.journal.size() &&
         local.journal[common].id == remote.journal[common].id) {
    ++common;
  }
  if (common < local.journal.size()) {
    // The peer has not replayed what was recorded here, or cannot any more.
    return remote.primary() ? ReplayKind::kSplitBrain
                            : ReplayKind::kRemoteNotPrimary;
  }
  const auto cost = static_cast<double>(local.size.objects);
  while (common < remote.journal.size() && replayer.budget >= cost) {
    replayer.budget -= cost;
    const JournalEvent& event = remote.journal[common++];
    if (event.kind == JournalEvent::Kind::kWrite) local.Fill(event.value);
    local.journal.push_back(event);
  }
  if (common < remote.journal.size()) return ReplayKind::kReplaying;
  replayer.budget = 0;
  // Changes of metadata are entries, too; a request of this site's own is not
  // replaced.
  const std::string request = absl::StrCat(".rbd_mirror.", site.mirror_uuid);
  std::erase_if(local.metadata,
                [&](const auto& entry) { return entry.first != request; });
  for (const auto& [key, value] : remote.metadata) {
    if (!absl::StartsWith(key, ".rbd_mirror.")) local.metadata[key] = value;
  }
  return remote.primary() ? ReplayKind::kReplaying : ReplayKind::kRemoteDemoted;
}

// false: it has no end yet. When all is copied rbd-mirror says that it replays,
// and then reads the first entry.
bool Model::GoOnWithFirstCopy(Site& site, Image& local, Replayer& replayer) {
  JournalCopy& copy = *local.first_copy;
  const uint64_t total = local.content.size();
  if (copy.objects == total && replayer.kind == ReplayKind::kReplaying &&
      now_ - replayer.kind_since >= kFirstEntryDelay) {
    local.journal = std::move(copy.journal);
    local.first_copy.reset();
    SetJournalTags(site, local, 2);
    return true;
  }
  const auto step =
      std::min(total - copy.objects, static_cast<uint64_t>(replayer.budget));
  replayer.budget -= static_cast<double>(step);
  std::copy_n(
      copy.content.begin() + static_cast<std::ptrdiff_t>(copy.objects), step,
      local.content.begin() + static_cast<std::ptrdiff_t>(copy.objects));
  copy.objects += step;
  return false;
}

void Model::SetJournalTags(Site& site, const Image& image, char tags) {
  site.pools[image.pool_id]
      .namespaces[image.rados_namespace]
      .omap[absl::StrCat("journal.", image.id)]["next_tag_tid"] =
      std::string(1, tags) + std::string(7, '\0');
}

namespace {

/// Their names are there before their data are.
void BeginUserSnapshots(Image& local, const Image& remote, uint64_t wanted) {
  for (const ImageSnapshot& snapshot : remote.other_snapshots) {
    if (snapshot.kind == SnapshotKind::kUser && snapshot.id < wanted &&
        remote.held.contains(snapshot.id)) {
      local.AddUserSnapshot(snapshot.name);
    }
  }
}

/// `base` is what the copy was made from; null: all was copied.
void FinishUserSnapshots(Image& local, const Image& remote,
                         const Snapshot* base, uint64_t wanted) {
  std::erase_if(local.other_snapshots, [&](const ImageSnapshot& snapshot) {
    const bool gone = snapshot.kind == SnapshotKind::kUser &&
                      remote.FindSnapshot(snapshot.name) == nullptr;
    if (gone) local.held.erase(snapshot.id);
    return gone;
  });
  for (const ImageSnapshot& snapshot : local.other_snapshots) {
    const ImageSnapshot* const there = remote.FindSnapshot(snapshot.name);
    if (there == nullptr || there->id > wanted ||
        !remote.held.contains(there->id) || !local.held.contains(snapshot.id) ||
        (base != nullptr && there->id < base->info.id)) {
      continue;  // it came with an earlier copy
    }
    const Snapshot& source = remote.held.at(there->id);
    Snapshot& copy = local.held.at(snapshot.id);
    copy.size = source.size;
    copy.content.resize(source.content.size());
    for (uint64_t object = 0; object < source.content.size(); ++object) {
      if (base != nullptr && remote.LeavesOut(*base, source, object)) continue;
      copy.content[object] = source.content[object];
    }
  }
}

}  // namespace

// Copies as much of the next snapshot as the budget allows. true: there may be
// more.
bool Model::CopyNext(Site& site, Image& local, Image& remote,
                     Replayer& replayer) {
  const Snapshot* const complete = local.newest_complete();
  std::optional<size_t> base;
  if (complete != nullptr)
    base = FindSame(*site.peer, remote, site, complete->info);
  const std::optional<size_t> target = NextTarget(remote, base);
  if (!target) return false;
  const MirrorSnapshot& wanted = remote.snapshots[*target].info;
  const uint64_t client = site.daemon.local_instance;
  const bool goes_on = std::exchange(replayer.copies_as, client) != client &&
                       !local.snapshots.empty() &&
                       !local.newest()->info.complete;
  if (goes_on && complete != nullptr &&
      local.newest()->info.last_copied_object == 0) {
    local.snapshots.pop_back();  // it may not be whole, and is made anew
  }
  if (local.snapshots.empty() || local.newest()->info.complete) {
    BeginUserSnapshots(local, remote, wanted.id);
    Snapshot& copy =
        AddSnapshot(site, local,
                    wanted.demoted() ? MirrorSnapshotKind::kNonPrimaryDemoted
                                     : MirrorSnapshotKind::kNonPrimary);
    copy.info.complete = false;
    copy.info.primary_mirror_uuid = site.peer->mirror_uuid;
    copy.info.primary_snapshot_id = wanted.id;
    if (wanted.demoted() && site.peer->receives) {
      copy.info.unsynced_peer_uuids = {site.peer_uuid};
      copy.info.lists_peers = true;
    }
    replayer.sync_started = now_;
    replayer.sync_changes = local.content != remote.snapshots[*target].content;
    local.Resize(remote.snapshots[*target].size.bytes);
  }
  MirrorSnapshot& copy = local.snapshots.back().info;
  const Snapshot& source = remote.snapshots[*target];
  const uint64_t total = source.size.objects;
  // The number counts what was copied, and one that goes on takes it for the
  // last object that was (16.2.15).
  if (goes_on && copy.last_copied_object > 0 &&
      copy.last_copied_object < total) {
    ++copy.last_copied_object;
  }
  const auto step = std::min(total - std::min(total, copy.last_copied_object),
                             static_cast<uint64_t>(replayer.budget));
  replayer.budget -= static_cast<double>(step);
  for (uint64_t end = copy.last_copied_object + step;
       copy.last_copied_object < end; ++copy.last_copied_object) {
    const uint64_t object = copy.last_copied_object;
    if (base && remote.LeavesOut(remote.snapshots[*base], source, object)) {
      continue;
    }
    local.content[object] = source.content[object];
  }
  if (copy.last_copied_object == 0 && total > 0 && replayer.budget > 0) {
    local.content.front() = source.content.front();  // written, not yet noted
  }
  if (copy.last_copied_object < total) return false;
  FinishUserSnapshots(local, remote, base ? &remote.snapshots[*base] : nullptr,
                      wanted.id);
  FinishCopy(site, local, remote, *target,
             !base || remote.snapshots[*base].info.complete, replayer);
  return true;
}

void Model::FinishCopy(Site& site, Image& local, Image& remote, size_t target,
                       bool base_complete, Replayer& replayer) {
  const Snapshot& source = remote.snapshots[target];
  Snapshot& copy = local.snapshots.back();
  if (!base_complete) {
    // The other side was promoted from half a demotion: only what was written
    // after that comes over, on top of content that was never there.
    local.content.front() = UINT64_MAX;
  }
  copy.info.complete = true;
  local.snapshot_limit = remote.snapshot_limit;
  const bool empty = std::all_of(source.content.begin(), source.content.end(),
                                 [](uint64_t object) { return object == 0; });
  replayer.last_sync_bytes =
      replayer.sync_changes && !empty ? source.size.bytes : 0;
  replayer.last_sync_seconds =
      std::chrono::duration_cast<seconds>(now_ - replayer.sync_started).count();
  std::erase_if(local.metadata,
                [](const auto& entry) { return !SiteLocalKey(entry.first); });
  std::copy_if(remote.metadata.begin(), remote.metadata.end(),
               std::inserter(local.metadata, local.metadata.end()),
               [](const auto& entry) { return !SiteLocalKey(entry.first); });
  const uint64_t copied = copy.info.id;
  local.RemoveSnapshots([&](const Snapshot& snapshot) {
    return snapshot.info.id < copied && snapshot.info.copied() &&
           snapshot.info.unsynced_peer_uuids.empty();
  });
  // The newest one that was copied keeps its peer: it is the base of the next
  // copy.
  for (size_t i = 0; i < target; ++i) {
    std::erase(remote.snapshots[i].info.unsynced_peer_uuids,
               site.peer->peer_uuid);
  }
}

// true: the local image is gone.
bool Model::HandleResync(const Pair& pair, std::shared_ptr<Image> local,
                         const Image& remote, Replayer& replayer) {
  const std::string key = absl::StrCat(".rbd_mirror.", pair.site.mirror_uuid);
  if (!local->metadata.contains(key)) return false;
  const bool follows = replayer.kind == ReplayKind::kReplaying;
  // One that does not follow looks whether the other one is primary, first.
  if (!follows && !remote.primary()) return false;
  // A copy under way is finished first.
  const bool copying =
      !local->snapshots.empty() && !local->newest()->info.complete && follows;
  if (copying && remote.primary()) return false;
  DeleteLocal(pair, *local);
  replayer.create_at = now_ + pair.site.daemon.absence_on_resync;
  replayer.deleted = std::move(local);
  return true;
}

void Model::HandleAbsentRemote(const Pair& pair, Image& local,
                               Replayer& replayer) {
  const Snapshot* const newest = local.newest();
  const bool copied_from_there =
      local.mode == MirrorMode::kJournal
          ? !local.journal_demoted()
          : newest == nullptr ||
                (newest->info.kind == MirrorSnapshotKind::kNonPrimary &&
                 newest->info.primary_mirror_uuid ==
                     pair.site.peer->mirror_uuid);
  if (!copied_from_there) return SetKind(replayer, ReplayKind::kNoRemote);
  if (!replayer.delete_at) replayer.delete_at = now_ + kDeleteDelay;
  if (now_ < *replayer.delete_at) return;
  replayer.delete_at.reset();
  DeleteLocal(pair, local);
}

void Model::DeleteLocal(const Pair& pair, Image& image) {
  ForgetStatus(pair.local, image);
  const auto peer_entries = pair.remote.statuses.find(image.global_id);
  if (peer_entries != pair.remote.statuses.end()) {
    peer_entries->second.erase(pair.site.mirror_uuid);
  }
  Replayer& replayer = pair.site.daemon.replayers[image.global_id];
  replayer.holds_image = false;
  replayer.lets_go_at.reset();
  replayer.reported.reset();
  SetKind(replayer, ReplayKind::kStarting);
  image.removed = true;
  pair.local.images.erase(image.name);
}

void Model::CreateLocal(const Pair& pair, const Image& remote,
                        Replayer& replayer) {
  if (!remote.primary()) return;
  if (pair.local.images.contains(remote.name)) {
    SetKind(replayer, ReplayKind::kSplitBrain);
    return;
  }
  if (replayer.deleted != nullptr && replayer.deleted->open_by_this_process()) {
    replayer.create_at = now_ + pair.site.daemon.absence_on_resync;
    return;
  }
  if (!replayer.create_at) replayer.create_at = now_ + kCreateDelay;
  if (now_ < *replayer.create_at) return;
  replayer.deleted.reset();
  const auto image = CreateImage(pair.site, pair.pool, pair.space_name,
                                 remote.name, remote.size.bytes);
  image->made_by_mirror = true;
  image->marked_non_primary = remote.mode == MirrorMode::kSnapshot;
  image->mirror_state = MirrorImageState::kCreating;
  image->mode = remote.mode;
  image->global_id = remote.global_id;
  if (remote.mode == MirrorMode::kJournal) {
    image->first_copy = {remote.content, remote.journal};
    SetJournalTags(pair.site, *image, 1);
  }
  replayer.budget = 0;
  SetKind(replayer, ReplayKind::kStarting);
}

// --- statuses

void Model::ReportIfDue(const Pair& pair, const std::string& global_id,
                        bool periodic) {
  Site& site = pair.site;
  Replayer& replayer = site.daemon.replayers[global_id];
  if (replayer.kind_since == SteadyTime{}) return;  // knows nothing yet
  const auto local = FindByGlobalId(pair.local, global_id);
  if (local == nullptr && replayer.kind != ReplayKind::kSplitBrain) return;
  ReplayKind kind = replayer.kind;
  // It finds out again after it has begun, and says so meanwhile. With a
  // journal it finds out before.
  if (local != nullptr && local->mode == MirrorMode::kSnapshot &&
      LooksAgain(replayer)) {
    const auto since = (now_ - replayer.kind_since) % kLookInterval;
    kind =
        since < kLookTime / 2 ? ReplayKind::kStarting : ReplayKind::kReplaying;
  }
  const bool news = replayer.reported != kind;
  // That the local image was demoted is noticed at the next interval only.
  const bool begins = kind == ReplayKind::kLocalPrimary &&
                      replayer.reported != ReplayKind::kLocalPrimary &&
                      replayer.reported != ReplayKind::kStarting;
  const bool begun = kind == ReplayKind::kLocalPrimary &&
                     replayer.reported == ReplayKind::kStarting;
  const bool soon = !replayer.reported || begun ||
                    (replayer.reported != ReplayKind::kLocalPrimary &&
                     now_ - replayer.kind_since >= kReportDelay);
  if (!periodic && !(news && soon)) return;
  const bool noticed = replayer.reported != ReplayKind::kLocalPrimary ||
                       now_ - replayer.demoted_at >= kLookInterval;
  // The role is not known before the replayer has begun.
  const ReplayKind begin = begins ? ReplayKind::kStarting : kind;
  const ReplayKind told = noticed ? begin : ReplayKind::kLocalPrimary;
  const auto remote = FindByGlobalId(pair.remote, global_id);
  WriteStatus(pair, global_id,
              Describe(pair, local.get(), remote.get(), told, replayer));
  replayer.reported = told;
}

void Model::WriteStatus(const Pair& pair, const std::string& global_id,
                        StatusEntry entry) {
  const Site& site = pair.site;
  if (FindByGlobalId(pair.local, global_id) != nullptr) {
    entry.last_update = ClockOf(site);
    entry.instance = site.daemon.local_instance;
    pair.local.statuses[global_id][""] = entry;
  }
  if (Reachable(site) && FindByGlobalId(pair.remote, global_id) != nullptr) {
    entry.last_update = ClockOf(*site.peer);
    entry.instance = site.daemon.peer_instance;
    pair.remote.statuses[global_id][site.mirror_uuid] = entry;
  }
}

std::string Model::DescribeFirstCopy(const Image* local) {
  if (local == nullptr || !local->first_copy ||
      local->first_copy->objects == 0) {
    return "bootstrapping, IMAGE_SYNC/CREATE_SYNC_POINT";
  }
  return absl::StrCat("bootstrapping, IMAGE_SYNC/COPY_IMAGE ",
                      100 * local->first_copy->objects / local->content.size(),
                      "%");
}

StatusEntry Model::Describe(const Pair& pair, const Image* local,
                            const Image* remote, ReplayKind told,
                            Replayer& replayer) const {
  switch (told) {
    case ReplayKind::kStarting:
      return {MirrorStatusState::kStartingReplay, "starting replay", 0, 0};
    case ReplayKind::kLocalPrimary:
      return {MirrorStatusState::kStopped, "local image is primary", 0, 0};
    case ReplayKind::kSyncing:
      return {MirrorStatusState::kSyncing, DescribeFirstCopy(local), 0, 0};
    case ReplayKind::kRemoteDemoted:
      return {MirrorStatusState::kUnknown, "remote image demoted", 0, 0};
    case ReplayKind::kRemoteNotPrimary:
      return {MirrorStatusState::kUnknown, "remote image is not primary", 0, 0};
    case ReplayKind::kSplitBrain:
      // Without a local image: its name is taken by one that is not mirrored.
      return {MirrorStatusState::kError,
              local != nullptr && local->mode == MirrorMode::kSnapshot
                  ? "split-brain"
                  : "split-brain detected",
              0, 0};
    case ReplayKind::kIncompletePrimary:
      return {MirrorStatusState::kError, "incomplete local primary snapshot", 0,
              0};
    case ReplayKind::kNoRemote:
      return {MirrorStatusState::kError, "error bootstrapping replay", 0, 0};
    case ReplayKind::kReplaying:
      break;
  }
  if (Reachable(pair.site) && local != nullptr && remote != nullptr &&
      local->mode == MirrorMode::kJournal) {
    const size_t behind =
        remote->journal.size() -
        std::min(remote->journal.size(), local->journal.size());
    nlohmann::json json;
    json["bytes_per_second"] = 0.0;
    json["entries_behind_primary"] = behind;
    json["entries_per_second"] = 0.0;
    json["non_primary_position"] = nlohmann::json::object();
    if (!local->first_copy) {
      json["non_primary_position"]["entry_tid"] = local->journal.size();
    }
    json["primary_position"]["entry_tid"] = remote->journal.size();
    replayer.last_replaying = absl::StrCat("replaying, ", json.dump());
  } else if (Reachable(pair.site) && local != nullptr && remote != nullptr &&
             remote->newest_complete() != nullptr) {
    nlohmann::json json;
    json["bytes_per_second"] = 0.0;
    json["bytes_per_snapshot"] = static_cast<double>(replayer.last_sync_bytes);
    json["last_snapshot_bytes"] = replayer.last_sync_bytes;
    json["last_snapshot_sync_seconds"] = replayer.last_sync_seconds;
    json["remote_snapshot_timestamp"] = UnixSeconds(*remote->newest_complete());
    const Snapshot* const complete = local->newest_complete();
    if (complete != nullptr) {
      const auto same =
          FindSame(*pair.site.peer, *remote, pair.site, complete->info);
      if (same)
        json["local_snapshot_timestamp"] =
            UnixSeconds(remote->snapshots[*same]);
    }
    const bool syncing =
        !local->snapshots.empty() && !local->newest()->info.complete;
    json["replay_state"] = syncing ? "syncing" : "idle";
    if (syncing) {
      json["syncing_snapshot_timestamp"] =
          UnixSeconds(*remote->newest_complete());
      json["syncing_percent"] = 100 * local->newest()->info.last_copied_object /
                                std::max<uint64_t>(1, remote->size.objects);
    }
    replayer.last_replaying = absl::StrCat("replaying, ", json.dump());
  }
  return {MirrorStatusState::kReplaying, replayer.last_replaying, 0, 0};
}

}  // namespace addons::model
