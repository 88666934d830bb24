#ifndef ADDONS_TESTS_ORCHESTRATOR_CLEANUP_RULE_H_
#define ADDONS_TESTS_ORCHESTRATOR_CLEANUP_RULE_H_

#include "tests/orchestrator/volume_replication.h"

namespace addons::testing {

/// Whether an orchestrator of disaster recovery takes the secondary for settled
/// and deletes its VolumeReplication, after which nobody calls Resync again:
/// the demotion is completed, and either the copy is in step, or a resync has
/// begun, which is believed to end by itself.
///
///   Completed  Degraded  Resyncing
///   True       False     False      in step
///   True       True      True       begun
bool SecondaryMayBeCleanedUp(const VolumeReplication& object);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_CLEANUP_RULE_H_
