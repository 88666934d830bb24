#ifndef ADDONS_REPLICATION_LOOK_JOURNAL_H_
#define ADDONS_REPLICATION_LOOK_JOURNAL_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/pool.h"

namespace addons {

/// Whether rbd-mirror has begun to replay the peer's journal onto the image
/// with this internal id, which is mirrored in journal mode and not primary
/// here. It begins when the first copy of the whole image has ended; until then
/// the image is half empty, also when the primary has died meanwhile and
/// nothing will be copied any more.
///
/// The journal's header "journal.<image id>" counts the tags of the journal
/// ("next_tag_tid", 64 bits, little-endian). rbd-mirror creates a copy with
/// one, and allocates the next when it meets the first entry; there always is
/// one, because the snapshot that the copy was made from is removed through the
/// journal. An image that was primary here has had more of them. Measured on
/// 16.2.15: 1 during the first copy and for ever when that is interrupted, 2
/// when the replay has begun, also of an image that nobody has ever written to.
/// An image without such a journal, or with one of another shape, has replayed
/// nothing. One small read.
absl::StatusOr<bool> JournalReplayBegan(Pool& pool,
                                        const std::string& image_id);

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

#endif  // ADDONS_REPLICATION_LOOK_JOURNAL_H_
