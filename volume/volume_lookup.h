#ifndef ADDONS_VOLUME_VOLUME_LOOKUP_H_
#define ADDONS_VOLUME_VOLUME_LOOKUP_H_

#include <cstdint>
#include <string>
#include <variant>

#include "ceph/cluster.h"
#include "volume/cluster_config.h"
#include "volume/resolver.h"

namespace addons {

/// What a handle stands for; it does not say so itself.
enum class HandleKind { kVolume, kGroup };

/// "volume", "volume group".
const char* NameOf(HandleKind kind);

/// What one cluster says about a volume or group.
struct LookupOutcome {
  enum class Verdict {
    kPending,      // nothing yet
    kFound,        // `found` is complete
    kAbsent,       // no such pool or journal entry
    kOtherKind,    // the id stands for something else
    kRefused,      // the user may not connect or look
    kUnreachable,  // it could not be asked
  };
  Verdict verdict = Verdict::kPending;
  bool cluster_answered = false;  // be it with an error
  bool blocklisted = false;
  std::string text;  // why it was not found, for messages
  /// Of the kind that was looked for.
  std::variant<ResolvedVolume, ResolvedGroup> found;
};

/// One place where a volume or group may be.
struct LookupTarget {
  HandleKind kind;
  const ClusterEntry& entry;
  int64_t pool_id = 0;
  const std::string& id;
  const std::string& uuid;
};

/// Looks in one place; tries again once when the connection turns
/// out to be blocklisted. Blocks as long as Ceph's timeouts allow. Writes
/// nothing.
LookupOutcome LookUp(ClusterProvider& clusters, const LookupTarget& target,
                     const CephUser& user);

}  // namespace addons

#endif  // ADDONS_VOLUME_VOLUME_LOOKUP_H_
