#ifndef ADDONS_VOLUME_VOLUME_LOOKUP_H_
#define ADDONS_VOLUME_VOLUME_LOOKUP_H_

#include <cstdint>
#include <string>

#include "ceph/cluster.h"
#include "volume/cluster_config.h"
#include "volume/resolver.h"

namespace addons {

/// What one cluster says about a volume.
struct LookupOutcome {
  enum class Verdict {
    kPending,      // nothing yet
    kFound,        // `volume` is complete
    kAbsent,       // no such pool or journal entry
    kOtherKind,    // the id is that of a snapshot or a volume group
    kRefused,      // the user may not connect or look
    kUnreachable,  // it could not be asked
  };
  Verdict verdict = Verdict::kPending;
  bool cluster_answered = false;  // be it with an error
  bool blocklisted = false;
  std::string text;  // why it was not found, for messages
  ResolvedVolume volume;
};

/// One place where a volume may be.
struct LookupTarget {
  const ClusterEntry& entry;
  int64_t pool_id = 0;
  const std::string& volume_id;
  const std::string& uuid;
};

/// Looks for a volume in one place; tries again once when the connection turns
/// out to be blocklisted. Blocks as long as Ceph's timeouts allow. Writes
/// nothing.
LookupOutcome LookUpVolume(ClusterProvider& clusters,
                           const LookupTarget& target, const CephUser& user);

}  // namespace addons

#endif  // ADDONS_VOLUME_VOLUME_LOOKUP_H_
