#ifndef ADDONS_CEPH_LIBRADOS_HEADER_ENCODING_H_
#define ADDONS_CEPH_LIBRADOS_HEADER_ENCODING_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"

namespace addons {

// What librbd and its class on the OSDs write, from Ceph 16 to 20, where no
// call of theirs tells it without opening the image. nullopt: it is written in
// another version, older or newer, whose meaning is librbd's to know.

/// All entries of an image's header. nullopt also: it is striped, and so only
/// librbd knows how many objects it has.
std::optional<ImageHeader> DecodeImageHeader(const OmapValues& entries);

/// The record of a copied mirror snapshot (cls::rbd::SnapshotInfo) with another
/// kind, kNonPrimary or kNonPrimaryDemoted, and nothing else changed. nullopt
/// also: it is no copied one.
std::optional<std::string> EncodeCopyOfKind(absl::string_view record,
                                            MirrorSnapshotKind kind);

/// Ceph's cls::rbd::MirrorImage, which does not have the role.
std::optional<MirrorImageInfo> DecodeMirrorRecord(absl::string_view bytes);

/// Ceph's cls::rbd::MirrorImageStatus; the local site first, and none that
/// nobody wrote.
std::optional<std::vector<SiteStatus>> DecodeSiteStatuses(
    absl::string_view bytes);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_HEADER_ENCODING_H_
