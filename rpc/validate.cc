#include "rpc/validate.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "csi/csi.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kMaxNameBytes = 128;
constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxMapBytes = size_t{1} << 20U;

enum class TextKind { kName, kPath, kSecret };

TextKind KindOf(const FieldDescriptor& field) {
  if (field.options().GetExtension(csi::v1::csi_secret))
    return TextKind::kSecret;
  if (absl::EndsWith(field.name(), "path") || field.name() == "mount_flags") {
    return TextKind::kPath;
  }
  return TextKind::kName;
}

absl::Status CheckSize(absl::string_view field, size_t size, size_t limit) {
  if (size <= limit) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("is ", size, " bytes long; at most ",
                                          limit, " are allowed"));
}

absl::Status CheckControls(absl::string_view field, absl::string_view text) {
  while (!text.empty()) {
    const Rune rune = FirstRune(text);
    if (!rune.valid) return InvalidField(field, "is not valid UTF-8");
    if (IsControl(rune.value)) {
      return InvalidField(field, "has a control character in it");
    }
    text.remove_prefix(rune.size);
  }
  return absl::OkStatus();
}

absl::Status CheckText(TextKind kind, absl::string_view field,
                       absl::string_view text) {
  switch (kind) {
    case TextKind::kName:
      ADDONS_RETURN_IF_ERROR(CheckSize(field, text.size(), kMaxNameBytes));
      return CheckControls(field, text);
    case TextKind::kPath:
      ADDONS_RETURN_IF_ERROR(CheckSize(field, text.size(), kMaxPathBytes));
      if (absl::StrContains(text, '\0')) {
        return InvalidField(field, "has a NUL byte in it");
      }
      return absl::OkStatus();
    case TextKind::kSecret:
      return absl::OkStatus();  // bounded by the size of the whole message
  }
  return absl::OkStatus();
}

absl::Status CheckMap(const Message& message, const FieldDescriptor& field,
                      absl::string_view path) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* key_field = field.message_type()->map_key();
  const FieldDescriptor* value_field = field.message_type()->map_value();
  size_t bytes = 0;
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const std::string key = entry.GetReflection()->GetString(entry, key_field);
    ADDONS_RETURN_IF_ERROR(CheckControls(absl::StrCat("a key of ", path), key));
    bytes += key.size();
    std::string scratch;  // not filled: no copy of what may be a secret
    bytes += entry.GetReflection()
                 ->GetStringReference(entry, value_field, &scratch)
                 .size();
  }
  return CheckSize(path, bytes, kMaxMapBytes);
}

absl::Status CheckMessage(const Message& message, absl::string_view prefix);

absl::Status CheckElement(const Message& message, const FieldDescriptor& field,
                          absl::string_view path, int index) {
  const Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return CheckMessage(
        field.is_repeated()
            ? reflection.GetRepeatedMessage(message, &field, index)
            : reflection.GetMessage(message, &field),
        absl::StrCat(path, "."));
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING)
    return absl::OkStatus();
  return CheckText(KindOf(field), path,
                   field.is_repeated()
                       ? reflection.GetRepeatedString(message, &field, index)
                       : reflection.GetString(message, &field));
}

absl::Status CheckMessage(const Message& message, absl::string_view prefix) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (field->is_map()) {  // all maps of the contract are string to string
      ADDONS_RETURN_IF_ERROR(CheckMap(message, *field, path));
      continue;
    }
    if (!field->is_repeated()) {
      ADDONS_RETURN_IF_ERROR(CheckElement(message, *field, path, 0));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      ADDONS_RETURN_IF_ERROR(
          CheckElement(message, *field, absl::StrCat(path, "[", i, "]"), i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateRequest(const Message& request) {
  return CheckMessage(request, "");
}

absl::Status InvalidField(absl::string_view field, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", reason));
}

absl::Status Require(absl::string_view field, absl::string_view value) {
  if (!value.empty()) return absl::OkStatus();
  return InvalidField(field, "is missing");
}

absl::Status RequireAbsolute(absl::string_view field, absl::string_view value) {
  if (value.empty() || value.front() == '/') return absl::OkStatus();
  return InvalidField(field, "is not an absolute path");
}

}  // namespace addons
