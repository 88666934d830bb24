#ifndef ADDONS_RPC_REQUEST_ID_H_
#define ADDONS_RPC_REQUEST_ID_H_

namespace addons {

/// The name under which each answer tells the id of its request, in its
/// trailing metadata: what the log has as req=. CSI-Addons does not know it.
inline constexpr char kRequestIdHeader[] = "rbd-addons-request-id";

}  // namespace addons

#endif  // ADDONS_RPC_REQUEST_ID_H_
