#ifndef ADDONS_CLI_OUTPUT_H_
#define ADDONS_CLI_OUTPUT_H_

#include <google/protobuf/message.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "cli/streams.h"

namespace addons {

/// `message` as ToJson() has it.
absl::StatusOr<nlohmann::ordered_json> JsonOf(
    const google::protobuf::Message& message);

/// Prints what a verb has found or done in the form that was asked for:
/// `result`, or `text` for people. All verbs end here. Returns 0.
int Yield(const nlohmann::ordered_json& result, const std::string& text,
          Streams& streams);

/// Yield() of an answer of the daemon. Returns the exit code.
int YieldMessage(const google::protobuf::Message& answer,
                 const std::string& text, Streams& streams);

/// Yield() of something that was changed: `result` gets the id of the request,
/// as the daemon's log has it, and the fields of the answer. Returns the exit
/// code.
int YieldChange(nlohmann::ordered_json result,
                const google::protobuf::Message& answer,
                const std::string& text, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_OUTPUT_H_
