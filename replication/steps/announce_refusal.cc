#include "replication/steps/announce_refusal.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "replication/look/move_marks.h"

namespace addons {
namespace {

/// The other site believes a note for ten minutes; it is renewed before.
constexpr std::chrono::minutes kTellAgainAfter{3};
/// A note may wait so long for a mirror snapshot of the manager's: less than
/// the other site waits before it says that it may be forced (takeover_time).
constexpr std::chrono::minutes kManagersTurn{2};

/// A mirror snapshot that was made after the note.
bool HasTravelled(const RefusedDemotion& note, const MirrorView& view) {
  return note.after == 0 || view.info.mode != MirrorMode::kSnapshot ||
         std::any_of(view.snapshots.begin(), view.snapshots.end(),
                     [&](const MirrorSnapshot& snapshot) {
                       return snapshot.id > note.after && snapshot.complete;
                     });
}

/// The note says so already, and is not to be renewed yet.
bool IsNoted(const MirrorView& view, const std::string& workload, int64_t now) {
  if (!view.refused_demotion.has_value()) return false;
  const std::chrono::seconds age(now - view.refused_demotion->told);
  return age >= std::chrono::seconds(0) && age < kTellAgainAfter &&
         view.refused_demotion->workload == workload;
}

int64_t UnixSeconds(WallTime now) {
  return absl::ToUnixSeconds(absl::FromChrono(now));
}

/// Writes it, where it is to be written, and makes what carries it.
absl::Status WriteNote(const Session& session, Image& image,
                       RefusedDemotion note, bool write, bool carry) {
  if (write) {
    // Of a handle that was opened just now: a mirror snapshot that is made from
    // now on, by whomever, has the note.
    ADDONS_ASSIGN_OR_RETURN(const std::vector<MirrorSnapshot> snapshots,
                            image.MirrorSnapshots());
    if (!snapshots.empty()) note.after = snapshots.back().id;
    ADDONS_RETURN_IF_ERROR(image.ChangeMetadata(
        {{kRefusedDemotionKey, FormatRefusedDemotion(note)}}));
  }
  return carry ? MakeMirrorSnapshot(session, image) : absl::OkStatus();
}

/// Whether the moment is waited for in which a mirror snapshot may be made.
bool Waits(const Session& session, const SnapshotTurn& turn, bool first) {
  if (first && turn.ManagerMakesOneWithin(kManagersTurn)) return false;
  OperationContext& context = session.context;
  return !context.mutating() && context.LatestDeadline().has_value() &&
         context.clock().Now() + turn.wait < *context.LatestDeadline();
}

}  // namespace

bool RefusalIsTold(const MirrorView& view, const std::string& workload,
                   WallTime now) {
  return IsNoted(view, workload, UnixSeconds(now)) &&
         HasTravelled(*view.refused_demotion, view);
}

absl::Status AnnounceRefusal(Session& session, const std::string& workload,
                             const absl::Status& refusal, TurnWaits waits) {
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view, Look(session));
  if (!view.enabled() || !view.info.primary) return absl::OkStatus();
  if (view.marked_non_primary) {
    return absl::UnavailableError(
        "the image refuses writes, because an earlier demotion died half-way");
  }
  const WallTime now = session.context.clock().WallNow();
  if (RefusalIsTold(view, workload, now)) return absl::OkStatus();
  RefusedDemotion note{workload, FormatUtc(absl::FromChrono(now)),
                       UnixSeconds(now)};
  const bool write = !IsNoted(view, workload, note.told);
  if (view.refused_demotion.has_value() &&
      !view.refused_demotion->since.empty()) {
    note.since = view.refused_demotion->since;
  }
  bool carry = false;
  if (view.info.mode == MirrorMode::kSnapshot) {
    const SnapshotTurn turn = NextSnapshotTurn(session, view.image_id);
    if (!turn.now() && Waits(session, turn, write)) {
      ADDONS_RETURN_IF_ERROR(
          AwaitSnapshotTurn(session, view.image_id, refusal, waits));
      carry = true;
    } else {
      carry = turn.now();
    }
  }
  if (!write && !carry) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("telling the other site that a workload is still there");
  return ChangeImage(session.volume, [&](Image& image) {
    return WriteNote(session, image, note, write, carry);
  });
}

}  // namespace addons
