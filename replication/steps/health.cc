#include "replication/steps/health.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "replication/look/peers.h"
#include "replication/schedule_store.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"

namespace addons {
void HealthReport::Add(ReplicationHealth health, std::string text) {
  health_ = std::max(health_, health);
  if (!text.empty()) texts_.push_back(std::move(text));
}

void HealthReport::Numbers(const SyncNumbers& numbers) {
  if (!numbers.local_snapshot_time.has_value()) return;
  if (info_.last_sync_time.has_value() &&
      *info_.last_sync_time <= *numbers.local_snapshot_time) {
    return;
  }
  info_.last_sync_time = numbers.local_snapshot_time;
  info_.last_sync_bytes = numbers.last_snapshot_bytes;
  info_.last_sync_seconds = numbers.last_snapshot_seconds;
}

std::string HealthReport::text() const { return absl::StrJoin(texts_, "; "); }

ReplicationInfo HealthReport::Take() {
  info_.health = health_;
  info_.message = text();
  return std::move(info_);
}

bool AddNumbers(Timeline& timeline, const MirrorView& view,
                const SiteView& site, const std::string& name,
                HealthReport* report) {
  // It tells which step it is at in place of them.
  if (CopiesAll(site.status)) return true;
  const std::string& uuid = site.status.mirror_uuid;
  const auto numbers = ParseSyncNumbers(site.status.description);
  if (!numbers.ok()) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("the report of ", name,
                             " cannot be read: ", numbers.status().message()));
  } else if (numbers->has_value() &&
             (*numbers)->local_snapshot_time.has_value()) {
    timeline.KeepNumbers(view.timeline_key, site, **numbers);
    report->Numbers(**numbers);
    return true;
  }
  // What was copied while another site was primary is no copy of this one.
  const auto last = timeline.LastNumbers(view.timeline_key, uuid);
  if (last.has_value() && last->reported >= view.PrimarySince().value_or(0)) {
    report->Numbers(last->numbers);
    report->Add(ReplicationHealth::kHealthy,
                absl::StrCat("numbers of ", name, " are from ",
                             WholeSeconds(last->age), " s ago"));
  }
  return numbers.ok();
}

std::string DescribeCopyOfAll(const SiteView& site) {
  return absl::StrCat("copies all of it ('", site.status.description,
                      "'); until that ends it has nothing to promote");
}

void AddPeer(const MirrorView& view, const SiteView& peer,
             const std::string& name, SteadyDuration settle,
             HealthReport* report) {
  const std::string text = DescriptionText(peer.status.description);
  if (!peer.status.up || peer.age >= settle) {
    report->Add(
        ReplicationHealth::kDegraded,
        absl::StrCat(name, " is unreachable: its rbd-mirror ",
                     DescribeSilence(peer.age),
                     "; check rbd-mirror and the network of that site"));
    return;
  }
  if (WordOf(peer, view) <= Word::kBefore) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat(name,
                             " has not reported since this site became "
                             "primary; that takes up to half a minute"));
    return;
  }
  switch (peer.says) {
    case Says::kSecondary:
      if (CopiesAll(peer.status)) {
        report->Add(ReplicationHealth::kDegraded,
                    absl::StrCat(name, " ", DescribeCopyOfAll(peer)));
        return;
      }
      report->Add(ReplicationHealth::kHealthy,
                  absl::StrCat(name, " is ", text));
      return;
    case Says::kPrimary:
      if (MayBePrimary(peer, view)) {
        report->Add(ReplicationHealth::kDegraded,
                    absl::StrCat(name,
                                 " says that it is primary as well, which may "
                                 "be a report from before a move; the next "
                                 "ones tell"));
        return;
      }
      report->Add(
          ReplicationHealth::kError,
          absl::StrCat("split brain: ", name,
                       " is primary as well; demote one site, then resync "
                       "it by force"));
      return;
    case Says::kSplitBrain:
      report->Add(ReplicationHealth::kError,
                  absl::StrCat("split brain: ", name, " reports '", text,
                               "'; resync it by force"));
      return;
    case Says::kError:
      report->Add(ReplicationHealth::kError,
                  absl::StrCat(name, " reports an error: ", text));
      return;
    case Says::kNotPrimary:
      report->Add(ReplicationHealth::kDegraded,
                  absl::StrCat(name, " does not replicate yet: '", text,
                               "' (this may change within half a minute of a "
                               "promotion)"));
      return;
    case Says::kUnclear:
      break;
  }
  report->Add(ReplicationHealth::kDegraded,
              absl::StrCat(name, " reports '", text, "' (",
                           Name(peer.status.state), ")"));
}

void AddLocal(const MirrorView& view, const std::string& sent_away,
              HealthReport* report) {
  if (!view.local.has_value()) {
    // One-way mirroring has no rbd-mirror on the primary site.
    return;
  }
  const std::string text = DescriptionText(view.local->status.description);
  if (!view.local->status.up) {
    report->Add(ReplicationHealth::kDegraded,
                sent_away.empty() ? "rbd-mirror of this site is down: start it "
                                    "before a failback"
                                  : sent_away);
  } else if (view.local->says == Says::kSplitBrain) {
    report->Add(ReplicationHealth::kError,
                absl::StrCat("split brain: this site reports '", text,
                             "'; decide which side is right, demote the other "
                             "and resync it by force"));
  } else if (view.local->says == Says::kError) {
    report->Add(
        ReplicationHealth::kError,
        absl::StrCat("rbd-mirror of this site reports an error: ", text));
  } else if (view.local->status.state == MirrorStatusState::kUnrecognized) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("rbd-mirror of this site reports '", text,
                             "' with a state that this build does not know"));
  }
}

std::string EveryText(const SnapshotSchedule& schedule) {
  std::string from = schedule.start_time;
  if (schedule.start.has_value() && schedule.start->in_utc) {
    const absl::CivilSecond moment = schedule.start->Utc();
    from = absl::StrFormat("%02d:%02d UTC", moment.hour(), moment.minute());
    if (absl::CivilDay(moment) != absl::CivilDay()) {
      from = absl::StrCat(absl::FormatCivilTime(absl::CivilDay(moment)), " ",
                          from);
    }
  }
  return absl::StrCat("every ", schedule.interval_text,
                      from.empty() ? "" : " from ", from);
}

std::string EveryText(const std::vector<SnapshotSchedule>& schedules) {
  return absl::StrJoin(schedules, ", ",
                       [](std::string* out, const SnapshotSchedule& schedule) {
                         absl::StrAppend(out, EveryText(schedule));
                       });
}

std::string DescribePause(const SchedulePause& pause) {
  const std::string since = FormatUnixSeconds(pause.since);
  const std::string kept = EveryText(KeptSchedules(pause));
  const std::string schedules =
      kept.empty() ? "" : absl::StrCat(" (", kept, ")");
  switch (pause.step) {
    case PauseStep::kPausing:
      return absl::StrCat("a pause of mirror snapshots was begun at ", since,
                          ", and the manager may still have the schedule",
                          schedules, "; `rbd-addons pause` goes on with it");
    case PauseStep::kResuming:
      return absl::StrCat("the pause of mirror snapshots since ", since,
                          " is over, and the schedule", schedules,
                          " is not back yet; the daemon sets it as soon as the "
                          "manager answers");
    case PauseStep::kPaused:
      break;
  }
  return absl::StrCat("mirror snapshots are paused since ", since,
                      ", so what is written is copied by a sync alone; "
                      "`rbd-addons resume` puts the schedule back",
                      schedules);
}

const SnapshotSchedule& Shortest(
    const std::vector<SnapshotSchedule>& schedules) {
  return *std::min_element(
      schedules.begin(), schedules.end(),
      [](const auto& a, const auto& b) { return a.interval < b.interval; });
}

std::optional<int64_t> SyncAge(const MirrorView& view, int64_t last_sync) {
  const std::optional<int64_t> now = view.ToldNow();
  if (!now.has_value()) return std::nullopt;
  return *now - last_sync;
}

void AddSyncAge(const MirrorView& view, const SnapshotSchedule& schedule,
                HealthReport* report) {
  if (!report->has_numbers()) return;
  const std::optional<int64_t> age = SyncAge(view, *report->last_sync());
  if (!age.has_value() || *age <= 2 * WholeSeconds(schedule.interval)) return;
  report->Add(
      ReplicationHealth::kDegraded,
      absl::StrCat("the last copy is the state of ",
                   FormatUnixSeconds(*report->last_sync()),
                   ", older than two intervals (", EveryText(schedule),
                   "); see `rbd mirror snapshot schedule status` here and "
                   "rbd-mirror of the other site"));
}

void AddSnapshotLimit(const MirrorView& view, absl::string_view spec,
                      HealthReport* report) {
  const SnapshotRoom room = RoomOf(view);
  if (view.info.mode != MirrorMode::kSnapshot || !view.info.primary ||
      room.For(1)) {
    return;
  }
  report->Add(ReplicationHealth::kDegraded,
              absl::StrCat("nothing that is written is copied, and it cannot "
                           "be demoted: ",
                           DescribeNoRoom(room, "a mirror snapshot is", spec)));
}

void AddNoSchedule(HealthReport* report) {
  report->Add(ReplicationHealth::kDegraded,
              "no mirror snapshot schedule applies to the image, neither "
              "its own nor one of its namespace, pool or cluster, so "
              "nothing that is written is copied; set the parameter "
              "schedulingInterval of the VolumeReplicationClass");
}

}  // namespace addons
