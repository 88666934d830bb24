#include "watch/turned_image.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

constexpr char kNoPrimary[] =
    "no site is known to be primary: a call has found a demotion here";

/// Adds the image to the numbers of its pool, or takes it out of them.
void Count(const WatchedImage& image, bool add, WatchedPool* pool) {
  const auto change = [add](size_t& number) {
    if (add) {
      ++number;
    } else if (number > 0) {
      --number;
    }
  };
  for (size_t i = 0; i < kBrokenCopies; ++i) {
    if (image.Is(static_cast<BrokenCopy>(i))) change(pool->broken.at(i));
  }
  change(pool->by_role.at(static_cast<size_t>(image.role)));
  change(pool->by_health.at(static_cast<size_t>(image.health)));
  change(pool->by_copy.at(static_cast<size_t>(image.copy)));
}

}  // namespace

WatchedRole RoleOf(const RoleTurn& turn) {
  return turn.to.as == SeenAs::kPrimary ? WatchedRole::kPrimary
                                        : WatchedRole::kSecondary;
}

void AddAwaitedReport(const RoleTurn& turn, WatchedImage* image) {
  // Of a primary the other sites tell how its copies are.
  if (image->role == WatchedRole::kPrimary) return;
  constexpr char kAwaited[] =
      "rbd-mirror of this site has not reported since; that takes up to a "
      "minute";
  std::string text;
  switch (turn.to.as) {
    case SeenAs::kDemoted:
      text = absl::StrCat(kNoPrimary, "; ", kAwaited);
      break;
    case SeenAs::kMadeAnew:
      text =
          "a resync is requested: rbd-mirror of this site deletes this copy "
          "and makes it anew";
      break;
    case SeenAs::kPrimary:
    case SeenAs::kSecondary:
      text =
          absl::StrCat("a call has found the image here changed; ", kAwaited);
      break;
  }
  if (!image->message.empty()) absl::StrAppend(&text, "; ", image->message);
  image->message = std::move(text);
  image->health = std::max(image->health, ReplicationHealth::kDegraded);
  image->copy = CopyState::kUnknown;
}

void LeaveOutLook(const RoleTurn& turn, WatchedPool* pool,
                  WatchedImage* image) {
  Count(*image, false, pool);
  WatchedImage known;
  known.image_id = image->image_id;
  known.image = image->image;
  known.volume_id = image->volume_id;
  known.volume_name = image->volume_name;
  known.claim = image->claim;
  known.group = image->group;
  known.lacks_parent = image->lacks_parent;
  known.awaits_restore = image->awaits_restore;
  known.role = RoleOf(turn);
  known.health = ReplicationHealth::kDegraded;
  known.message = absl::StrCat(
      turn.to.as == SeenAs::kDemoted
          ? kNoPrimary
          : "a call has changed the image here, or has found it changed",
      "; the last look was before that, and the next one comes within half a "
      "minute");
  *image = std::move(known);
  Count(*image, true, pool);
}

}  // namespace addons
