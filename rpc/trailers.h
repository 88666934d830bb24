#ifndef ADDONS_RPC_TRAILERS_H_
#define ADDONS_RPC_TRAILERS_H_

namespace addons {

// What answers tell in their trailing metadata, beside their messages.
// CSI-Addons knows none of it.

/// The id of the request, in each answer: what the log has as req=.
inline constexpr char kRequestIdTrailer[] = "rbd-addons-request-id";
/// Bytes that a filesystem asked its device to discard, by its own count, where
/// a trim cannot tell what became free.
inline constexpr char kAskedBytesTrailer[] = "rbd-addons-asked-bytes";
/// Of a promotion: how many volumes were seen to be primary since without any
/// mirror snapshot schedule. Absent: none was seen to be.
inline constexpr char kWithoutScheduleTrailer[] = "rbd-addons-without-schedule";

}  // namespace addons

#endif  // ADDONS_RPC_TRAILERS_H_
