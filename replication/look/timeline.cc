#include "replication/look/timeline.h"

#include <algorithm>

#include "replication/look/mirror_view.h"
#include "replication/look/peers.h"

namespace addons {
namespace {

constexpr std::chrono::minutes kForgetAfter{30};
constexpr std::chrono::minutes kDisturbedFor{2};

}  // namespace

Timeline::Image& Timeline::Touch(const std::string& key) {
  const SteadyTime now = clock_.Now();
  if (now - swept_at_ > kForgetAfter) {
    swept_at_ = now;
    std::erase_if(images_, [&](const auto& entry) {
      return now - entry.second.used_at > kForgetAfter;
    });
  }
  Image& image = images_[key];
  image.used_at = now;
  return image;
}

SteadyDuration Timeline::AgeOf(Image& image, const SiteStatus& entry,
                               const SiteStatus* local) const {
  const SteadyTime now = clock_.Now();
  Report& report = image.reports[entry.mirror_uuid];
  const Held<int64_t> before = report.stamp;
  const bool changed = report.stamp.See(entry.last_update, now);
  if (changed) {
    report.before = before.value;
    report.written_after = before.seen_at;
  }
  if (changed || !before.seen) ++report.rewrites;
  SteadyDuration age = now - report.stamp.since;
  // Both stamps come from one OSD's clock. Ours is at most as new as now, so
  // the difference is a lower bound, also when our own daemon has stopped
  // since.
  if (local != nullptr && local->last_update > entry.last_update) {
    age = std::max<SteadyDuration>(
        age, std::chrono::seconds(local->last_update - entry.last_update));
  }
  return age;
}

void Timeline::NoteReports(Image& image, MirrorView* view) const {
  const SiteStatus* const local =
      view->local.has_value() ? &view->local->status : nullptr;
  if (view->local.has_value()) {
    view->local->age = AgeOf(image, view->local->status, nullptr);
    const auto& after =
        image.reports[view->local->status.mirror_uuid].written_after;
    view->local->rewritten =
        after.has_value() && clock_.Now() - *after < kJustReported;
  }
  for (SiteView& peer : view->peers) {
    peer.age = AgeOf(image, peer.status, local);
    Report& report = image.reports[peer.status.mirror_uuid];
    peer.reported_before = report.before;
    if (peer.says == Says::kPrimary) {
      report.claim = peer.status;
    } else if (peer.says != Says::kUnclear) {
      report.claim.reset();
    }
  }
}

void Timeline::NoteRole(Image& image, bool primary, MirrorView* view) const {
  const SteadyTime now = clock_.Now();
  const bool first = !image.primary.seen;
  // What is new in the look that sees the turn may be older than it. Between
  // two looks the image may have been demoted and promoted again.
  const std::optional<int64_t> term = view->PrimarySince();
  if (image.primary.See(primary, now) || first || image.term != term) {
    for (auto& [uuid, report] : image.reports) {
      report.rewrites = 0;
      report.went_on = false;
      // What was copied while another site was primary is no copy of this one.
      report.numbers.reset();
    }
  }
  image.term = term;
  for (SiteView& peer : view->peers) {
    peer.rewrites = image.reports[peer.status.mirror_uuid].rewrites;
  }
  view->primary_for.reset();
  if (primary && image.primary.changes > 0) {
    view->primary_for = now - image.primary.since;
  }
}

void Timeline::Note(MirrorView* view) {
  MutexLock lock(mutex_);
  Image& image = Touch(view->timeline_key);
  NoteReports(image, view);
  NoteRole(image, view->enabled() && view->info.primary, view);
  for (SiteView& peer : view->peers) {
    bool& went_on = image.reports[peer.status.mirror_uuid].went_on;
    went_on |= WentOn(peer, *view);
    peer.went_on = went_on;
  }
  if (!view->peers.empty()) image.Of(Since::kSilent) = {};
  Held<std::string>& copied = image.Of(Since::kCopied);
  copied.See(view->Progress(), clock_.Now());
  view->quiet_for = copied.seen_at - copied.since;
}

void Timeline::NoteListed(MirrorView* view) {
  MutexLock lock(mutex_);
  NoteReports(Touch(view->timeline_key), view);
}

void Timeline::NoteRole(bool primary, MirrorView* view) {
  MutexLock lock(mutex_);
  NoteRole(Touch(view->timeline_key), primary, view);
}

SteadyDuration Timeline::OldestAge(const std::string& key,
                                   const std::vector<SiteStatus>& sites) {
  const auto local =
      std::find_if(sites.begin(), sites.end(),
                   [](const SiteStatus& site) { return site.local(); });
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  SteadyDuration oldest{0};
  for (const SiteStatus& site : sites) {
    const bool other = local != sites.end() && !site.local();
    oldest = std::max(oldest, AgeOf(image, site, other ? &*local : nullptr));
  }
  return oldest;
}

std::optional<SiteView> Timeline::LastClaim(const std::string& key,
                                            const std::string& mirror_uuid,
                                            const SiteStatus* local) {
  MutexLock lock(mutex_);
  Image& image = Touch(key);
  const auto report = image.reports.find(mirror_uuid);
  if (report == image.reports.end() || !report->second.claim.has_value()) {
    return std::nullopt;
  }
  SiteView site;
  site.status = *report->second.claim;
  site.status.up = false;
  site.says = Says::kPrimary;
  site.age = AgeOf(image, site.status, local);
  site.rewrites = report->second.rewrites;
  return site;
}

Held<std::string> Timeline::See(const std::string& key, Since what,
                                const std::string& value, Counts counts) {
  MutexLock lock(mutex_);
  Held<std::string>& kept = Touch(key).Of(what);
  Held<std::string> held = kept;
  held.See(value, clock_.Now());
  if (counts == Counts::kYes) kept = held;
  return held;
}

SteadyDuration Timeline::HeldFor(const std::string& key, Since what,
                                 const std::string& value) {
  const Held<std::string> held = See(key, what, value);
  return held.seen_at - held.since;
}

std::optional<SteadyDuration> Timeline::SinceSeen(const std::string& key,
                                                  Since what) {
  MutexLock lock(mutex_);
  const Held<std::string>& held = Touch(key).Of(what);
  if (!held.seen) return std::nullopt;
  return clock_.Now() - held.seen_at;
}

void Timeline::Forget(const std::string& key, Since what) {
  MutexLock lock(mutex_);
  Touch(key).Of(what) = {};
}

void Timeline::NoteDisturbance(const std::string& fsid) {
  MutexLock lock(mutex_);
  disturbed_[fsid] = clock_.Now();
}

bool Timeline::Disturbed(const std::string& fsid) {
  MutexLock lock(mutex_);
  const auto it = disturbed_.find(fsid);
  return it != disturbed_.end() && clock_.Now() - it->second < kDisturbedFor;
}

void Timeline::KeepNumbers(const std::string& key, const SiteView& site,
                           const SyncNumbers& numbers) {
  MutexLock lock(mutex_);
  Touch(key).reports[site.status.mirror_uuid].numbers =
      Numbers{numbers, clock_.Now(), site.status.last_update};
}

void Timeline::ForgetNumbers(const std::string& key,
                             const std::string& mirror_uuid) {
  MutexLock lock(mutex_);
  Touch(key).reports[mirror_uuid].numbers.reset();
}

std::optional<Timeline::LastGood> Timeline::LastNumbers(
    const std::string& key, const std::string& mirror_uuid) {
  MutexLock lock(mutex_);
  const auto image = images_.find(key);
  if (image == images_.end()) return std::nullopt;
  const auto report = image->second.reports.find(mirror_uuid);
  if (report == image->second.reports.end() ||
      !report->second.numbers.has_value()) {
    return std::nullopt;
  }
  const Numbers& kept = *report->second.numbers;
  return LastGood{kept.numbers, clock_.Now() - kept.at, kept.reported};
}

}  // namespace addons
