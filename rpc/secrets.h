#ifndef ADDONS_RPC_SECRETS_H_
#define ADDONS_RPC_SECRETS_H_

#include <google/protobuf/map.h>
#include <google/protobuf/message.h>

#include <map>
#include <string>

#include "base/secret.h"

namespace addons {

/// A request's secrets in the form that the rest of the program takes them. The
/// request itself is gRPC's and dies with the call.
std::map<std::string, Secret> TakeSecrets(
    const google::protobuf::Map<std::string, std::string>& secrets);

/// Overwrites a text of a request, as WipeSecrets() does.
void WipeText(const std::string& text);

/// Overwrites the values of `secrets`, the map `field` of `request`, and the
/// copies that reflection made of them, with zeros of the same number. For a
/// request that has been served and is about to die; gRPC hands it out as
/// const, although it is not.
void WipeSecrets(
    const google::protobuf::Message& request, const char* field,
    const google::protobuf::Map<std::string, std::string>& secrets);

}  // namespace addons

#endif  // ADDONS_RPC_SECRETS_H_
