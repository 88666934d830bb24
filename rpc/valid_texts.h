#ifndef ADDONS_RPC_VALID_TEXTS_H_
#define ADDONS_RPC_VALID_TEXTS_H_

#include <google/protobuf/message.h>

namespace addons {

/// Makes each text of `message`, and of the messages in it, valid UTF-8: what
/// is not becomes '?'. Names in Ceph are bytes, and gRPC sends no answer in
/// which one of them is no UTF-8. Bytes fields are left alone.
void MakeTextsValid(google::protobuf::Message& message);

}  // namespace addons

#endif  // ADDONS_RPC_VALID_TEXTS_H_
