#ifndef ADDONS_RPC_REDACT_H_
#define ADDONS_RPC_REDACT_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// The only way to turn a message into text: protobuf's own printers show
/// secrets.
///
/// One line. Fields with the option csi.v1.csi_secret, and fields and map
/// values whose name or key looks like one of a secret, are shown as ***.
/// Strings are escaped and cut at 256 bytes, and unknown fields left out.
std::string Redacted(const google::protobuf::Message& message);

/// Puts *** in place of the same values inside `message`.
void RedactInPlace(google::protobuf::Message& message);

/// True for a field or map key that by its name holds a secret: it ends with
/// key, token, passphrase, password, secret(s) or credential(s), in any case.
bool LooksSecret(absl::string_view name);

/// True where a request sent in the open (for instance on a command line) would
/// give a secret away.
bool HoldsSecrets(const google::protobuf::Message& message);

}  // namespace addons

#endif  // ADDONS_RPC_REDACT_H_
