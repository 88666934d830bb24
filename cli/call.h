#ifndef ADDONS_CLI_CALL_H_
#define ADDONS_CLI_CALL_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/streams.h"

namespace addons {

/// Where a request's text came from: what stands on a command line is seen by
/// every user of the machine.
enum class TextSource { kCommandLine, kInput };

/// An empty message of a type that the program knows.
std::unique_ptr<google::protobuf::Message> NewMessage(
    const google::protobuf::Descriptor& type);

/// `method`'s request with the fields of `json`, an object or empty, and the
/// secrets of `secrets_json`, an object of strings or empty. INVALID_ARGUMENT
/// for unknown fields, for secrets on the command line, and for secrets where
/// the method takes none. Messages never repeat a value.
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeRequest(
    const google::protobuf::MethodDescriptor& method, absl::string_view json,
    TextSource source, absl::string_view secrets_json);

/// `message` as indented JSON, unset fields included, secrets as ***.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

}  // namespace addons

#endif  // ADDONS_CLI_CALL_H_
