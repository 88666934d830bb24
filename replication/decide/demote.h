#ifndef ADDONS_REPLICATION_DECIDE_DEMOTE_H_
#define ADDONS_REPLICATION_DECIDE_DEMOTE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "replication/look/mirror_view.h"
#include "replication/look/move_marks.h"
#include "replication/look/rescue_record.h"

namespace addons {

/// What a demotion does next.
enum class DemoteAction {
  kRefuse,         // with the code of the decision
  kSecondary,      // nothing to demote
  kRepair,         // an own demotion that is half-done: promote it first
  kAwaitFollower,  // no peer has noticed yet that this site is primary
  kAwaitWorkload,  // published, and nobody has it open: look once more
  kDemote,
};

/// Written by ceph-csi: who staged the volume. The leading dot keeps it on this
/// site.
inline constexpr char kPublishPrefix[] = ".rbd.csi.ceph.com/";

/// What a decision rests on. Nothing is owned.
struct DemoteEvidence {
  const MirrorView& view;
  /// The record of the image's rescue image, if there is one.
  const std::optional<RescueRecord>& rescue;
  /// "pool/image", and its rescue image likewise.
  std::string spec;
  std::string rescue_spec;
  ImageName image;
  // --- of a primary
  /// Who has it open for writing.
  const std::vector<Watcher>& workloads;
  /// A peer's rbd-mirror has it open, to copy from it.
  bool open_by_mirror = false;
  /// Metadata that begins with kPublishPrefix.
  const std::map<std::string, std::string>& published;
  /// The pool has no peer; only read where FollowerSeen() is not enough.
  bool no_peers = false;
  // --- what this call has done
  bool begun = false;  // to change something: from then on it goes on
  bool awaited_workload = false;
};

struct DemoteDecision {
  DemoteAction action = DemoteAction::kRefuse;
  /// Of an answer that is given now.
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  /// For a person: what is seen, what is missing, what to do.
  std::string reason;
  /// The workload that it is refused for; empty: for something else.
  std::string workload;
  /// Of kDemote: what is noted of this demotion, for the next promotion here.
  OwnDemotionMark mark = {};
};

/// A peer Follows(), or says that it is primary as well. One that has not
/// noticed yet that this site is primary must not lose its chance: when both
/// sides are demoted, nothing is copied any more, and its next promote would
/// return to the state before this site became primary.
bool FollowerSeen(const DemoteEvidence& seen);

/// The mark of ceph-csi that says that the volume is published; empty: there is
/// none.
std::string PublishedMark(const std::map<std::string, std::string>& published);

/// "the image is in use by ...", and what to do.
std::string DescribeUse(const std::string& workload);

/// Decides from one look; a pure function. `site_name` gives a peer's name.
DemoteDecision DecideDemote(const DemoteEvidence& seen, SteadyDuration settle,
                            const SiteNameFn& site_name);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_DEMOTE_H_
