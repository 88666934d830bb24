#include "server/page/view.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/shell_command.h"
#include "server/page/html.h"
#include "watch/copy_state.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

/// Equal for texts that differ in numbers only (FNV-1a over the rest).
uint64_t KeyWithoutNumbers(absl::string_view text, uint64_t key) {
  constexpr uint64_t kPrime = 0x100000001B3;
  for (const char c : text) {
    if (c >= '0' && c <= '9') continue;
    key = (key ^ static_cast<uint8_t>(c)) * kPrime;
  }
  return std::max<uint64_t>(key, 1);
}

bool MissesSnapshots(const WatchedImage& image) {
  return image.missed_snapshots.value_or(0) > 0;
}

uint64_t WhyKeyOf(const WatchedImage& image, CopyState state) {
  const bool missed = MissesSnapshots(image);
  if (!missed && (image.message.empty() ||
                  (state == CopyState::kInStep &&
                   image.health == ReplicationHealth::kHealthy))) {
    return 0;
  }
  constexpr uint64_t kBasis = 0xCBF29CE484222325;
  return KeyWithoutNumbers(image.message, missed ? kBasis + 1 : kBasis);
}

/// `lower` is the text that is looked for, in lower case.
bool HasText(const PageVolume& volume, const std::string& lower) {
  const WatchedImage& image = *volume.image;
  const auto has = [&lower](absl::string_view whole) {
    return absl::StrContains(absl::AsciiStrToLower(whole), lower);
  };
  return has(volume.name) || has(image.image) || has(image.volume_name) ||
         has(image.volume_id) || has(image.message) ||
         has(PlaceOf(*volume.pool));
}

bool Before(PageQuery::Sort sort, const PageVolume& a, const PageVolume& b) {
  const auto by_name = [](const PageVolume& volume) {
    return std::tie(volume.name, volume.pool->cluster_id, volume.pool->pool,
                    volume.pool->rados_namespace, volume.image->image);
  };
  switch (sort) {
    case PageQuery::Sort::kTrouble:
      if (a.state != b.state) return a.state > b.state;
      if (a.image->split_brain != b.image->split_brain) {
        return a.image->split_brain;
      }
      // What most have stands first; nothing to say is 0.
      if (a.same_why != b.same_why) return a.same_why > b.same_why;
      if (a.why_key != b.why_key) return a.why_key < b.why_key;
      break;
    case PageQuery::Sort::kAge:
      if (a.age != b.age) return a.age > b.age;
      break;
    case PageQuery::Sort::kLeft:
      if (a.image->bytes_remaining != b.image->bytes_remaining) {
        return a.image->bytes_remaining > b.image->bytes_remaining;
      }
      break;
    case PageQuery::Sort::kName:
      break;
  }
  return by_name(a) < by_name(b);
}

PageVolume VolumeOf(const WatchedPool& pool, const WatchedImage& image,
                    SteadyTime now, std::deque<std::string>* names) {
  PageVolume volume;
  volume.pool = &pool;
  volume.image = &image;
  volume.state = CopyStateAt(pool, image, now);
  volume.age = CopyAgeAt(pool, image, now);
  volume.name = !image.claim.empty() ? image.claim
                : !image.volume_name.empty()
                    ? image.volume_name
                    : names->emplace_back(SpecOf(pool, image));
  volume.why_key = WhyKeyOf(image, volume.state);
  return volume;
}

void Count(const WatchedPool& pool, SteadyTime now, PageTotals* totals) {
  totals->volumes += pool.total;
  totals->kept += pool.images.size();
  if (!pool.unseen.empty()) totals->stale += pool.total;
  totals->primary +=
      pool.by_role.at(static_cast<size_t>(WatchedRole::kPrimary));
  const CopyStateCounts counts = CountStatesAt(pool, now);
  for (size_t i = 0; i < kCopyStates; ++i) {
    totals->by_state.at(i) += counts.at(i);
  }
}

}  // namespace

std::string PageVolume::Why() const {
  if (why_key == 0) return "";
  if (!MissesSnapshots(*image)) return image->message;
  return absl::StrCat(
      image->message, image->message.empty() ? "" : "; ",
      *image->missed_snapshots,
      *image->missed_snapshots == 1 ? " snapshot is" : " snapshots are",
      " missing: see `rbd mirror snapshot schedule status`");
}

std::optional<int64_t> PageVolume::SecondsLeft() const {
  const int64_t left = image->bytes_remaining.value_or(0);
  const int64_t speed = image->bytes_per_second.value_or(0);
  if (left <= 0 || speed <= 0) return std::nullopt;
  return left / speed;
}

PageView ViewOf(const StatusPage& page) {
  PageView view;
  view.query = PageQuery::Parse(page.query);
  const std::string text = absl::AsciiStrToLower(view.query.text);
  std::unordered_map<uint64_t, size_t> same_why;
  for (const WatchedPool& pool : page.watch->pools) {
    Count(pool, page.now, &view.totals);
    for (const WatchedImage& image : pool.images) {
      PageVolume volume = VolumeOf(pool, image, page.now, &view.names);
      if (volume.age > view.totals.oldest_age) {
        view.totals.oldest_age = volume.age;
        view.totals.oldest_name = std::string(volume.name);
      }
      if (!view.query.Shows(image.role, volume.state)) continue;
      if (!text.empty() && !HasText(volume, text)) continue;
      if (volume.why_key != 0) ++same_why[volume.why_key];
      view.volumes.push_back(volume);
    }
  }
  for (PageVolume& volume : view.volumes) {
    if (volume.why_key != 0) volume.same_why = same_why[volume.why_key];
  }
  std::sort(view.volumes.begin(), view.volumes.end(),
            [sort = view.query.sort](const PageVolume& a, const PageVolume& b) {
              return Before(sort, a, b);
            });
  return view;
}

std::optional<int64_t> SilentSeconds(const StatusPage& page,
                                     const std::string& cluster_id) {
  if (page.watch == nullptr) return std::nullopt;
  for (const WatchedFences& cluster : page.watch->fences) {
    if (cluster.cluster_id == cluster_id && cluster.silent_since.has_value()) {
      return std::max<int64_t>(0,
                               SecondsBetween(*cluster.silent_since, page.now));
    }
  }
  return std::nullopt;
}

std::optional<int64_t> PeerSilentSeconds(const StatusPage& page,
                                         const WatchedPool& pool) {
  if (pool.peer_mirror_up != false || !pool.peer_heard_at.has_value()) {
    return std::nullopt;
  }
  return std::max<int64_t>(0, SecondsBetween(*pool.peer_heard_at, page.now));
}

std::string ArgumentFor(const WatchedPool& pool, const WatchedImage& image) {
  return ShellWord(image.volume_name.empty() ? SpecOf(pool, image)
                                             : image.volume_name);
}

}  // namespace addons
