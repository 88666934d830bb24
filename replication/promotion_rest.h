#ifndef ADDONS_REPLICATION_PROMOTION_REST_H_
#define ADDONS_REPLICATION_PROMOTION_REST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"

namespace addons {

class Cluster;
class OperationContext;
class Pool;
struct MirrorView;
struct OpenedVolume;
struct ReplicationEnvironment;
struct SeriesClocks;

/// What a promotion has seen that waits for the other site, at its last look,
/// and where; likewise a demotion that a workload keeps from going on. While
/// that stands it rests: it asks for the version of the image's header alone (a
/// demotion: and who watches it), for another look would find the same. It only
/// ever says that a call goes on waiting; whatever else it answers rests on a
/// look of its own. For one thread at a time.
struct PromotionRest {
  /// Empty: of a promotion in journal mode, where the header tells nothing.
  std::string image_id;
  std::optional<uint64_t> header_version;  // before the look
  bool for_workload = false;               // of a demotion
  std::vector<uint64_t> watchers;          // likewise, by client, sorted
  /// When the look began that has found nothing to do yet; nullopt: it has
  /// found something, or there was none.
  std::optional<SteadyTime> looked_at;
  absl::Status pending;  // what those who leave are told

  // Where. A connection that was replaced must be free to end.
  std::weak_ptr<Cluster> cluster;
  int64_t pool_id = 0;
  std::string rados_namespace;

  /// Until when, at the latest, the reports of both sites may be taken from the
  /// listing of the pool that all promotions share, while they say what they
  /// said at the look; nullopt: they may not.
  std::optional<SteadyTime> reports_until;
  size_t reports = 0;  // DigestOf() them
  std::string pool_key;
  std::string timeline_key;
};

/// Notes the version of the header before a look, so that a change during the
/// look counts as one after it. A promotion that has not waited yet asks
/// nothing.
void NoteVersion(Pool& reads, PromotionRest* rest);

/// Notes where a promotion waits, after a look that began at `looked_at`.
void NoteRest(const OpenedVolume& opened, SteadyTime looked_at,
              const absl::Status& pending, PromotionRest* rest);

/// The look has shown a peer that lives and is primary, and a copy that follows
/// it: nothing but the demotion, which comes with a snapshot, or another report
/// of one of the sites changes what the promotion does, until the peer has been
/// primary for the takeover time. Asks nobody.
void NoteSettled(ReplicationEnvironment& environment, const MirrorView& view,
                 const SeriesClocks& clocks, PromotionRest* rest);

/// How long to wait until the next look, and until `answer_by` at the latest.
SteadyDuration UntilNextLook(OperationContext& context,
                             const ReplicationEnvironment& environment,
                             std::optional<SteadyTime> answer_by);

/// Of a call that is run again: rests on, without finding the volume
/// anew, until `answer_by` at the latest. OK: it is time to look.
absl::Status RestOn(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const PromotionRest& rest,
                    std::optional<SteadyTime> answer_by);

}  // namespace addons

#endif  // ADDONS_REPLICATION_PROMOTION_REST_H_
