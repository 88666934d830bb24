#ifndef ADDONS_TESTS_ORCHESTRATOR_RESYNC_EVIDENCE_H_
#define ADDONS_TESTS_ORCHESTRATOR_RESYNC_EVIDENCE_H_

#include <cstdint>
#include <string>

namespace addons::testing {

/// What a cluster shows of a resync of one image, without asking the daemon.
struct ResyncEvidence {
  bool absent = false;     // no such image: it is being made anew
  bool requested = false;  // the request stands in the metadata
  std::string image_id;
  int64_t newest_id = -1;  // of the mirror snapshots; -1: there is none
  bool copying = false;    // the newest one is a copy, and not whole
  bool syncing = false;    // rbd-mirror says so: the first copy
  /// The newest one is this site's own demotion, and nobody is primary.
  bool demotion_is_copied = false;
};

/// Reads it from what `rbd info`, `rbd image-meta list`, `rbd snap ls --all`
/// and `rbd mirror image status` print as JSON; empty texts where a command
/// failed.
ResyncEvidence ReadResyncEvidence(const std::string& info,
                                  const std::string& metadata,
                                  const std::string& snapshots,
                                  const std::string& status,
                                  bool other_site_is_primary);

/// Whether "OK, ready=false", answered between the two looks, was true: a
/// request is durable, a copy runs, or this site's own demotion is being
/// copied; or one of these was, and has just ended.
bool ResyncHasBegun(const ResyncEvidence& before, const ResyncEvidence& after);

std::string Describe(const ResyncEvidence& evidence);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_RESYNC_EVIDENCE_H_
