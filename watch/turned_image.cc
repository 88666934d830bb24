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

void AddDamage(WatchedImage* image) {
  const auto add = [image](const std::string& text) {
    image->health = ReplicationHealth::kError;
    image->copy = CopyState::kBroken;
    image->message = image->message.empty()
                         ? text
                         : absl::StrCat(text, "; ", image->message);
  };
  if (image->lacks_parent) {
    add("the copy lacks what the image had from its parent: rbd-addons explain "
        "has the remedy");
  }
  if (image->awaits_restore) {
    add("a forced promotion in the middle of a copy waits for a decision: "
        "rbd-addons rescue shows it");
  }
  if (image->rolls_back) {
    add("a rollback to a point has not ended, so start no workload: rbd-addons "
        "explain has the way out");
  }
  if (!image->proof.whole()) {
    add(absl::StrCat("the copy is ", DescribeProof(image->proof),
                     ": copy it anew here (rbd mirror image resync)"));
  }
}

void AddAwaitedReport(const RoleTurn& turn, const MirrorView& view,
                      SteadyTime now, WatchedImage* image) {
  // Of a primary the other sites tell how its copies are.
  if (image->role == WatchedRole::kPrimary) return;
  const std::string awaited = absl::StrCat(
      "rbd-mirror of this site has not reported since",
      now - turn.at < kReportsAwaited ? "; that takes up to a minute" : "");
  std::string text;
  switch (turn.to.as) {
    case SeenAs::kDemoted:
      text = SaysPrimarySince(view, turn)
                 ? awaited
                 : absl::StrCat(kNoPrimary, "; ", awaited);
      break;
    case SeenAs::kMadeAnew:
      text =
          "a resync is requested: rbd-mirror of this site deletes this copy "
          "and makes it anew";
      break;
    case SeenAs::kPrimary:
    case SeenAs::kSecondary:
      text = absl::StrCat("a call has found the image here changed; ", awaited);
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
  known.rolls_back = image->rolls_back;
  known.role = RoleOf(turn);
  // A comparison is of the content, and a demotion changes none.
  if (known.role == WatchedRole::kSecondary &&
      turn.to.as != SeenAs::kMadeAnew) {
    known.proof = image->proof;
  }
  known.health = ReplicationHealth::kDegraded;
  known.message = absl::StrCat(
      turn.to.as == SeenAs::kDemoted
          ? kNoPrimary
          : "a call has changed the image here, or has found it changed",
      "; the last look was before that");
  AddDamage(&known);
  *image = std::move(known);
  Count(*image, true, pool);
}

}  // namespace addons
