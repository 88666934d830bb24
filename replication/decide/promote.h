#ifndef ADDONS_REPLICATION_DECIDE_PROMOTE_H_
#define ADDONS_REPLICATION_DECIDE_PROMOTE_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "ceph/image.h"
#include "replication/decide/next.h"
#include "replication/look/mirror_view.h"
#include "replication/look/peers.h"
#include "replication/look/promote_series.h"
#include "replication/look/rescue_record.h"
#include "replication/options.h"
#include "replication/verb_scope.h"

namespace addons {

/// What a promotion's table is about. Nothing is owned.
struct PromoteSeen {
  const MirrorView& view;
  /// The record of the image's rescue image, if there is one.
  const std::optional<RescueRecord>& rescue;
  const ReplicationOptions& options;
  const SiteNameFn& site_name;
  Force force = Force::kNo;
  VerbScope scope = VerbScope::kVolume;
  /// ReplicationParameters::restore_point
  std::string restore_point{};
  // --- of a secondary, see NeedsClocks()
  SeriesClocks clocks{};
  /// rbd-mirror of this site was blocklisted by us a moment ago.
  bool disturbed = false;
  /// How often the primary takes mirror snapshots, if the caller said so.
  std::optional<std::chrono::minutes> interval{};
  // --- of a primary
  /// csi.imageid of the journal's entry; nullopt: it is not asked for.
  std::optional<std::string> journal_image_id{};
  /// Journal mode: rbd-mirror of this site has it open, and since when;
  /// nullopt: that was not read before this look.
  std::optional<bool> open_by_mirror{};
  SteadyDuration open_for{0};
  // --- what this run has done
  bool was_primary = false;  // a look of it has shown the image as primary
  bool begun = false;        // to end the copying, or to promote
  bool took_back = false;    // it has promoted after this site's own demotion
  Done done{};
};

/// Whether the clocks of a series count for such a call: a forced one rests on
/// none of that, and must not fail for it.
bool NeedsClocks(const MirrorView& view, Force force);

/// What the series is told of a look.
PromoteSeries::Seen SeenInSeries(const MirrorView& view,
                                 const std::string& rados_namespace,
                                 bool disturbed,
                                 const ReplicationOptions& options);

/// How the peers stand, where this site may have to wait for them: it has taken
/// its own demotion back. nullopt: nobody is waited for.
std::optional<FollowerVerdict> FollowersOf(const PromoteSeen& seen);

/// The rows of the table, from top to bottom.
absl::Span<const Rule<PromoteSeen>> PromoteTable();

/// What comes next, from one look; pure. FAILED_PRECONDITION makes the operator
/// promote by force at once, so a row answers so only where that is right.
/// Of a step the reason says what it leaves, for a person who asks before.
Next DecidePromote(const PromoteSeen& seen);

/// What it comes to, for a person who asks before: of a primary the steps that
/// only tidy up are passed, and named in the reason of its OK.
Next ForecastPromote(const PromoteSeen& seen);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_PROMOTE_H_
