#ifndef ADDONS_VOLUME_VOLUME_LOOKUP_H_
#define ADDONS_VOLUME_VOLUME_LOOKUP_H_

#include <cstdint>
#include <string>
#include <variant>

#include "ceph/cluster.h"
#include "volume/cluster_config.h"
#include "volume/csi_handle.h"
#include "volume/resolved.h"

namespace addons {

/// What one cluster says about a volume or group.
struct LookupOutcome {
  enum class Verdict {
    kPending,      // nothing yet
    kFound,        // `found` is complete
    kAbsent,       // no such pool or journal entry
    kOtherPool,    // its journal entry is in a pool that is not mapped
    kOtherKind,    // the id stands for something else
    kRefused,      // the user may not connect or look
    kUnreachable,  // it could not be asked
  };
  Verdict verdict = Verdict::kPending;
  bool cluster_answered = false;  // true also when the answer was an error
  bool blocklisted = false;
  std::string text;           // why it was not found, for messages
  int64_t other_pool_id = 0;  // kOtherPool
  /// Of the kind that was looked for.
  std::variant<ResolvedVolume, ResolvedGroup> found;
};

inline bool SaysBlocklisted(const LookupOutcome& outcome) {
  return outcome.blocklisted;
}

/// One place where a volume or group may be.
struct LookupTarget {
  HandleKind kind = HandleKind::kVolume;
  const ClusterEntry& entry;
  int64_t pool_id = 0;
  bool pool_mapped = true;  // false: nobody says which pool it is there
  const std::string& text;  // of the handle
  const std::string& uuid;
};

/// Looks in one place, and when it is not there in the other pools of that
/// cluster, because the sites may have different pool ids; tries again once
/// when the connection turns out to be blocklisted. Blocks as long as Ceph's
/// timeouts allow. Writes nothing.
LookupOutcome LookUp(ClusterProvider& clusters, const LookupTarget& target,
                     const CephUserRef& user);

}  // namespace addons

#endif  // ADDONS_VOLUME_VOLUME_LOOKUP_H_
