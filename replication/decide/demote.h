#ifndef ADDONS_REPLICATION_DECIDE_DEMOTE_H_
#define ADDONS_REPLICATION_DECIDE_DEMOTE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/clock.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "replication/decide/next.h"
#include "replication/look/mirror_view.h"
#include "replication/look/rescue_record.h"

namespace addons {

/// What a demotion's table is about. Nothing is owned.
struct DemoteSeen {
  const MirrorView& view;
  /// The record of the image's rescue image, if there is one.
  const std::optional<RescueRecord>& rescue;
  const SiteNameFn& site_name;
  SteadyDuration settle{0};
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
  // --- what this run has done
  bool begun = false;  // to change something: from then on it goes on
  bool awaited_workload = false;
  Done done{};
};

/// A peer Follows(), or says that it is primary as well. One that has not
/// noticed yet that this site is primary must not lose its chance: when both
/// sides are demoted, nothing is copied any more, and its next promote would
/// return to the state before this site became primary.
bool FollowerSeen(const DemoteSeen& seen);

/// The mark of ceph-csi that says that the volume is published; empty: there is
/// none.
std::string PublishedMark(const std::map<std::string, std::string>& published);

/// "the image is in use by ...", and what to do.
std::string DescribeUse(const std::string& workload, const MirrorView& view);

/// What a demotion notes on the image, for the next promotion here.
OwnDemotionMark MarkOfDemotion(const MirrorView& view);

/// The rows of the table, from top to bottom.
absl::Span<const Rule<DemoteSeen>> DemoteTable();

/// What comes next, from one look; pure.
Next DecideDemote(const DemoteSeen& seen);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_DEMOTE_H_
