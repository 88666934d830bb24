#include "cli/call.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/methods.h"
#include "rpc/redact.h"

namespace addons {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
namespace util = google::protobuf::util;

// The parser quotes what it chokes on, which may be a secret.
absl::Status NotJson(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is not a JSON object of the expected form"));
}

absl::Status AddSecrets(absl::string_view json, Message& request) {
  google::protobuf::Struct object;
  if (!util::JsonStringToMessage({json.data(), json.size()}, &object).ok()) {
    return NotJson("the secrets file");
  }
  const FieldDescriptor* field =
      request.GetDescriptor()->FindFieldByName("secrets");
  if (field == nullptr) {
    return absl::InvalidArgumentError("the method takes no secrets");
  }
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  for (const auto& [key, value] : object.fields()) {
    if (value.kind_case() != google::protobuf::Value::kStringValue) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the value of '", key, "' in the secrets file is no string"));
    }
    Message* entry = reflection.AddMessage(&request, field);
    const google::protobuf::Descriptor& type = *entry->GetDescriptor();
    entry->GetReflection()->SetString(entry, type.map_key(), key);
    entry->GetReflection()->SetString(entry, type.map_value(),
                                      value.string_value());
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor& type) {
  const Message* prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(
          &type);
  return std::unique_ptr<Message>(prototype->New());
}

absl::StatusOr<std::unique_ptr<Message>> MakeRequest(
    const google::protobuf::MethodDescriptor& method, absl::string_view json,
    TextSource source, absl::string_view secrets_json) {
  std::unique_ptr<Message> request = NewMessage(*method.input_type());
  if (!json.empty()) {
    const util::Status parsed =
        util::JsonStringToMessage({json.data(), json.size()}, request.get());
    if (!parsed.ok()) {
      return NotJson(absl::StrCat("the request for ", MethodName(method)));
    }
    if (source == TextSource::kCommandLine && HoldsSecrets(*request)) {
      return absl::InvalidArgumentError(
          "secrets on the command line are seen by everybody; use "
          "--secrets-file");
    }
  }
  if (!secrets_json.empty()) {
    ADDONS_RETURN_IF_ERROR(AddSecrets(secrets_json, *request));
  }
  return request;
}

absl::StatusOr<std::string> ToJson(const Message& message) {
  std::unique_ptr<Message> shown(message.New());
  shown->CopyFrom(message);
  RedactInPlace(*shown);
  util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!util::MessageToJsonString(*shown, &json, options).ok()) {
    return absl::InternalError("Failed to print the answer as JSON");
  }
  return json;
}

int PrintJson(const Message& message, Streams& streams) {
  const absl::StatusOr<std::string> json = ToJson(message);
  if (!json.ok()) return Fail(json.status(), json.status().raw_code(), streams);
  streams.out << *json;
  return 0;
}

}  // namespace addons
