#include "cli/call.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/methods.h"
#include "rpc/redact.h"

namespace addons {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
namespace util = google::protobuf::util;

constexpr size_t kShownName = 64;

// The parser quotes what it chokes on, which may be a secret.
absl::Status NotJson(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is not a JSON object of the expected form"));
}

std::string Named(const std::string& path, const std::string& name) {
  return absl::StrCat("'", path, path.empty() ? "" : ".",
                      absl::CHexEscape(name.substr(0, kShownName)), "'");
}

bool Fits(const nlohmann::json& value, const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return value.is_object() ||
             field.message_type()->file()->package() == "google.protobuf";
    case FieldDescriptor::CPPTYPE_BOOL:
      return value.is_boolean();
    case FieldDescriptor::CPPTYPE_STRING:
      return value.is_string();
    case FieldDescriptor::CPPTYPE_ENUM:
      return value.is_string() || value.is_number_integer();
    default:  // numbers, which may stand in quotes
      return value.is_number() || value.is_string();
  }
}

/// The first field of `json` that a message of `type` does not have, or has
/// with another kind of value; empty: none. Names only, no value.
std::string WrongField(const nlohmann::json& json,
                       const google::protobuf::Descriptor& type,
                       const std::string& path) {
  for (const auto& [name, value] : json.items()) {
    const FieldDescriptor* field = type.FindFieldByName(name);
    if (field == nullptr) field = type.FindFieldByCamelcaseName(name);
    if (field == nullptr) {
      std::vector<std::string> known;
      for (int i = 0; i < type.field_count(); ++i) {
        known.push_back(type.field(i)->name());
      }
      return absl::StrCat("there is no field ", Named(path, name), ", but ",
                          absl::StrJoin(known, ", "));
    }
    const std::string here =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (field->is_map()) {
      if (!value.is_object()) {
        return absl::StrCat("field '", here, "' is no JSON object");
      }
      for (const auto& [key, text] : value.items()) {
        if (!Fits(text, *field->message_type()->map_value())) {
          return absl::StrCat("the value of ", Named(here, key),
                              " is of another type");
        }
      }
      continue;
    }
    if (field->is_repeated() && !value.is_array()) {
      return absl::StrCat("field '", here, "' is no JSON array");
    }
    const nlohmann::json one = nlohmann::json::array({value});
    for (const nlohmann::json& element : field->is_repeated() ? value : one) {
      if (!Fits(element, *field)) {
        return absl::StrCat("field '", here,
                            "' is of another type: ", field->type_name(),
                            " is expected");
      }
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
          !element.is_object()) {
        continue;
      }
      if (std::string wrong = WrongField(element, *field->message_type(), here);
          !wrong.empty()) {
        return wrong;
      }
    }
  }
  return "";
}

/// Why the text is no request of this type.
std::string WhyNot(absl::string_view text,
                   const google::protobuf::Descriptor& type) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return "it is not JSON";
  if (!json.is_object()) return "it is no JSON object";
  return WrongField(json, type, "");
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
      const absl::Status status =
          NotJson(absl::StrCat("the request for ", MethodName(method)));
      const std::string why = WhyNot(json, *method.input_type());
      if (why.empty()) return status;
      return absl::InvalidArgumentError(
          absl::StrCat(status.message(), ": ", why));
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

}  // namespace addons
