#ifndef ADDONS_REPLICATION_TELL_REFUSAL_H_
#define ADDONS_REPLICATION_TELL_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/session.h"

namespace addons {

/// Tells the other site that `workload` keeps the image, which is primary, from
/// being demoted: writes a note into its metadata and, in snapshot mode, takes
/// the mirror snapshot that it travels with. Changes nothing when the note is
/// of the last minutes and names the same workload, or when the image is not
/// primary any more.
absl::Status TellRefusal(Session& session, const std::string& workload);

}  // namespace addons

#endif  // ADDONS_REPLICATION_TELL_REFUSAL_H_
