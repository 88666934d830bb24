#ifndef ADDONS_REPLICATION_STEPS_TAKE_BACK_H_
#define ADDONS_REPLICATION_STEPS_TAKE_BACK_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/look/peers.h"
#include "replication/session.h"

namespace addons {

/// The second half of a promotion that has taken this site's own demotion back.
/// A peer that has that demotion may be promoted at any moment, until it has
/// noticed that this site is primary again; so nobody is told that this site is
/// primary before each living peer follows it.
///
// clang-format off
///   AwaitFollowers()
///     ├─ by force ──> ByForce(): JudgeFollowers()
///     │    ├─ a peer has said since that it is primary ──> UNAVAILABLE
///     │    └─ else ──────────────────────────────────────> OK, one that does not follow is logged
///     └─ JudgeFollowers()
///          ├─ all follow ────────────────────────────────> OK
///          ├─ not yet ──> wait() ────────────────────────> UNAVAILABLE in the end
///          └─ a peer is primary, or has parted
///               ├─ another program promoted this site ───> UNAVAILABLE
///               └─ Yield()
///                    ├─ a workload is here ──────────────> UNAVAILABLE
///                    └─ BeginCorrection(), "demoting again" ─> UNAVAILABLE
// clang-format on
class TakeBack {
 public:
  /// Nothing is owned.
  explicit TakeBack(Session& session)
      : context_(session.context),
        environment_(session.environment),
        session_(session) {}

  /// Tells callers why it waits, and waits a moment; its error ends it all.
  using WaitFn =
      std::function<absl::Status(const MirrorView&, const std::string& reason)>;

  /// `view` is a look at the image as primary, and is replaced by newer ones.
  ///
  /// Force does not wait: who forces has decided that this site is the primary,
  /// and a peer that is promoted later is not seen. What has been seen is said:
  /// a peer that claims to be primary since is UNAVAILABLE, and stays so until
  /// one of the two sites is demoted; nothing is demoted here against a force.
  absl::Status AwaitFollowers(Force force, const WaitFn& wait,
                              MirrorView* view);

 private:
  absl::Status ByForce(const MirrorView& view);
  absl::Status Yield(const MirrorView& view, const std::string& reason);
  absl::Status Refuse(const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  Session& session_;
};

// What it answers, without its object, about the peer of a verdict, which
// `site` names.

/// The peer does not follow yet, or has parted.
std::string DescribeAwaitedFollower(const FollowerVerdict& verdict,
                                    const std::string& site);
/// The peer has been silent for the settle time: whether it was promoted
/// meanwhile is for a person, or an operator, to decide.
std::string DescribeSilentFollower(const std::string& site);
/// The peer is primary as well. The site that was promoted last by this daemon,
/// and not by force, gives the role back.
std::string DescribeTaken(const MirrorView& view, Force force,
                          const std::string& site);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_TAKE_BACK_H_
