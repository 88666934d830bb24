#include "rpc/redact.h"

#include <google/protobuf/descriptor.h>

#include <array>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "csi/csi.pb.h"

namespace addons {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr absl::string_view kHidden = "***";
constexpr size_t kShownBytes = 256;
constexpr std::array<absl::string_view, 8> kSecretEndings = {
    "key",    "token",   "passphrase", "password",
    "secret", "secrets", "credential", "credentials"};

bool IsSecret(const FieldDescriptor& field) {
  return field.options().GetExtension(csi::v1::csi_secret) ||
         LooksSecret(field.name());
}

std::string ShownString(absl::string_view text) {
  const bool cut = text.size() > kShownBytes;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kShownBytes)),
                      cut ? "...\"" : "\"");
}

std::vector<const FieldDescriptor*> SetFields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

bool IsSecretEntry(const Message& entry) {
  const FieldDescriptor* key = entry.GetDescriptor()->map_key();
  return key->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
         LooksSecret(entry.GetReflection()->GetString(entry, key));
}

// One value: of a singular field (index < 0), or one element of a repeated one.
std::string ShownValue(const Message& message, const FieldDescriptor& field,
                       int index) {
  const Reflection& from = *message.GetReflection();
  const bool one = index < 0;
  const FieldDescriptor* f = &field;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(one ? from.GetInt32(message, f)
                              : from.GetRepeatedInt32(message, f, index));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(one ? from.GetInt64(message, f)
                              : from.GetRepeatedInt64(message, f, index));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(one ? from.GetUInt32(message, f)
                              : from.GetRepeatedUInt32(message, f, index));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(one ? from.GetUInt64(message, f)
                              : from.GetRepeatedUInt64(message, f, index));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat(one ? from.GetDouble(message, f)
                              : from.GetRepeatedDouble(message, f, index));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return absl::StrCat(one ? from.GetFloat(message, f)
                              : from.GetRepeatedFloat(message, f, index));
    case FieldDescriptor::CPPTYPE_BOOL:
      return (one ? from.GetBool(message, f)
                  : from.GetRepeatedBool(message, f, index))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value =
          one ? from.GetEnum(message, f)
              : from.GetRepeatedEnum(message, f, index);
      return value->name();
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return ShownString(one ? from.GetString(message, f)
                             : from.GetRepeatedString(message, f, index));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Redacted(one ? from.GetMessage(message, f)
                          : from.GetRepeatedMessage(message, f, index));
  }
  return "?";
}

std::string ShownEntry(const Message& entry) {
  const google::protobuf::Descriptor& type = *entry.GetDescriptor();
  return absl::StrCat(ShownValue(entry, *type.map_key(), -1), ": ",
                      IsSecretEntry(entry)
                          ? std::string(kHidden)
                          : ShownValue(entry, *type.map_value(), -1));
}

std::string ShownField(const Message& message, const FieldDescriptor& field) {
  if (IsSecret(field)) return std::string(kHidden);
  if (!field.is_repeated()) return ShownValue(message, field, -1);
  const Reflection& reflection = *message.GetReflection();
  std::vector<std::string> elements;
  const int size = reflection.FieldSize(message, &field);
  elements.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    elements.push_back(
        field.is_map()
            ? ShownEntry(reflection.GetRepeatedMessage(message, &field, i))
            : ShownValue(message, field, i));
  }
  return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
}

void HideStrings(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) {
    reflection.SetString(&message, &field, std::string(kHidden));
    return;
  }
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    reflection.SetRepeatedString(&message, &field, i, std::string(kHidden));
  }
}

// `all`: every value of the map is secret, whatever its key.
void HideMapValues(Message& message, const FieldDescriptor& field, bool all) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* value = field.message_type()->map_value();
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    Message* entry = reflection.MutableRepeatedMessage(&message, &field, i);
    if (value->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
        (all || IsSecretEntry(*entry))) {
      entry->GetReflection()->SetString(entry, value, std::string(kHidden));
    }
  }
}

void RedactField(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const bool secret = IsSecret(field);
  if (field.is_map()) {
    HideMapValues(message, field, secret);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    if (secret) HideStrings(message, field);
  } else if (secret) {
    reflection.ClearField(&message, &field);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const int size =
        field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
    for (int i = 0; i < size; ++i) {
      RedactInPlace(
          field.is_repeated()
              ? *reflection.MutableRepeatedMessage(&message, &field, i)
              : *reflection.MutableMessage(&message, &field));
    }
  }
}

}  // namespace

bool LooksSecret(absl::string_view name) {
  for (const absl::string_view ending : kSecretEndings) {
    if (absl::EndsWithIgnoreCase(name, ending)) return true;
  }
  return false;
}

std::string Redacted(const Message& message) {
  std::vector<std::string> fields;
  for (const FieldDescriptor* field : SetFields(message)) {
    fields.push_back(
        absl::StrCat(field->name(), ": ", ShownField(message, *field)));
  }
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

void RedactInPlace(Message& message) {
  message.GetReflection()->MutableUnknownFields(&message)->Clear();
  for (const FieldDescriptor* field : SetFields(message)) {
    RedactField(message, *field);
  }
}

bool HoldsSecrets(const Message& message) {
  for (const FieldDescriptor* field : SetFields(message)) {
    if (field->options().GetExtension(csi::v1::csi_secret)) return true;
  }
  return false;
}

}  // namespace addons
