#ifndef ADDONS_REPLICATION_LOOK_JOURNAL_REPLAY_H_
#define ADDONS_REPLICATION_LOOK_JOURNAL_REPLAY_H_

#include <string>

#include "absl/status/statusor.h"
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

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_JOURNAL_REPLAY_H_
