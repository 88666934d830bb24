#include "rpc/method.h"

#include <google/protobuf/descriptor.h>

#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/log.h"

namespace addons {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::Reflection;
using google::protobuf::ServiceDescriptor;

constexpr int kShownElements = 4;
constexpr std::array<absl::string_view, 6> kObjectFields = {
    "volume_id", "volume_ids", "volume_group_id",
    "name",      "cidr",       "replication_id"};

bool NamesObject(const FieldDescriptor& field) {
  for (const absl::string_view name : kObjectFields) {
    if (field.name() == name) return true;
  }
  return false;
}

std::string ShownStrings(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated())
    return Quoted(reflection.GetString(message, &field));
  std::vector<std::string> shown;
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size && i < kShownElements; ++i) {
    shown.push_back(Quoted(reflection.GetRepeatedString(message, &field, i)));
  }
  if (size > kShownElements) {
    shown.push_back(absl::StrCat("+", size - kShownElements));
  }
  return absl::StrJoin(shown, ",");
}

void AddObjects(const Message& message, std::vector<std::string>& fields);

void AddSubMessages(const Message& message, const FieldDescriptor& field,
                    std::vector<std::string>& fields) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) {
    AddObjects(reflection.GetMessage(message, &field), fields);
    return;
  }
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size && i < kShownElements; ++i) {
    AddObjects(reflection.GetRepeatedMessage(message, &field, i), fields);
  }
  if (size > kShownElements) {
    fields.push_back(absl::StrCat(field.name(), "=+", size - kShownElements));
  }
}

void AddObjects(const Message& message, std::vector<std::string>& fields) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->is_map()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddSubMessages(message, *field, fields);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
               NamesObject(*field)) {
      fields.push_back(
          absl::StrCat(field->name(), "=", ShownStrings(message, *field)));
    } else if (field->name() == "force") {
      fields.emplace_back("force=true");  // proto3 lists it only when it is set
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64 &&
               field->name() == "operation_id") {
      fields.push_back(absl::StrCat(
          "operation_id=", message.GetReflection()->GetUInt64(message, field)));
    }
  }
}

}  // namespace

std::string MethodOfRequest(const Message& request) {
  const Descriptor* type = request.GetDescriptor();
  for (int s = 0; s < type->file()->service_count(); ++s) {
    const ServiceDescriptor& service = *type->file()->service(s);
    for (int m = 0; m < service.method_count(); ++m) {
      const MethodDescriptor& method = *service.method(m);
      if (method.input_type() == type) {
        return absl::StrCat(service.full_name(), "/", method.name());
      }
    }
  }
  return "";
}

bool IsForAdministrators(const std::string& method) {
  return absl::StartsWith(method, "rbdaddons.admin.");
}

bool IsMutating(const std::string& method) {
  const absl::string_view name =
      absl::string_view(method).substr(method.rfind('/') + 1);
  for (const absl::string_view reader :
       {"Get", "List", "Probe", "ControllerGet"}) {
    if (absl::StartsWith(name, reader)) return false;
  }
  return true;
}

std::string ObjectOfRequest(const Message& request) {
  std::vector<std::string> fields;
  AddObjects(request, fields);
  return absl::StrJoin(fields, " ");
}

}  // namespace addons
