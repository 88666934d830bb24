#ifndef ADDONS_REPLICATION_LOOK_JOURNAL_RESYNC_H_
#define ADDONS_REPLICATION_LOOK_JOURNAL_RESYNC_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/pool.h"

namespace addons {

// In journal mode librbd keeps the request for a resync as a flag of the
// image's own client of its journal, and the C API does not tell it. It stands
// in the omap of the journal's header object "journal.<image id>", in the value
// of "client_" (the own client has an empty name), which is encoded as
// cls::journal::Client, with a librbd::journal::ClientData inside.

/// Where the flag stands in such a value; nullopt: it is not of that shape.
std::optional<size_t> ResyncFlagOffset(absl::string_view client);

/// Whether a resync of the image with this id is requested. An image without a
/// journal: no. `pool` is not owned. Blocks as Pool.
absl::StatusOr<bool> JournalResyncRequested(Pool& pool,
                                            const std::string& image_id);

/// Takes the request back, in one atomic step. OK also when there is none.
/// ABORTED: the journal is being written to. `pool` is a mutation pool.
absl::Status ClearJournalResync(Pool& pool, const std::string& image_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_JOURNAL_RESYNC_H_
