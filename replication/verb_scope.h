#ifndef ADDONS_REPLICATION_VERB_SCOPE_H_
#define ADDONS_REPLICATION_VERB_SCOPE_H_

namespace addons {

/// Whether a verb works on a volume for itself or as a member of a group.
enum class VerbScope { kVolume, kGroupMember };

}  // namespace addons

#endif  // ADDONS_REPLICATION_VERB_SCOPE_H_
