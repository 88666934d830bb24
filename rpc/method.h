#ifndef ADDONS_RPC_METHOD_H_
#define ADDONS_RPC_METHOD_H_

#include <google/protobuf/message.h>

#include <string>

namespace addons {

/// "replication.Controller/PromoteVolume" for a PromoteVolumeRequest: every
/// request type here belongs to exactly one method (the wire test holds that).
/// Empty for a message that is no request.
std::string MethodOfRequest(const google::protobuf::Message& request);

/// Whether it belongs to the administrators' services, which have a socket of
/// their own.
bool IsForAdministrators(const std::string& method);

/// False for methods that only look (Get..., List..., Probe...).
bool IsMutating(const std::string& method);

/// The objects that a request is about, as log fields: `volume_id=0001-...
/// force=true`. Never holds a secret. Empty when the request names none.
std::string ObjectOfRequest(const google::protobuf::Message& request);

}  // namespace addons

#endif  // ADDONS_RPC_METHOD_H_
