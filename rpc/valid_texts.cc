#include "rpc/valid_texts.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <utility>
#include <vector>

#include "rpc/text.h"

namespace addons {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void MakeTextsValid(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    }
    if (!field->is_repeated()) {
      if (!text) {
        MakeTextsValid(*reflection.MutableMessage(&message, field));
      } else if (std::string value = reflection.GetString(message, field);
                 MakeValid(&value)) {
        reflection.SetString(&message, field, std::move(value));
      }
      continue;
    }
    const int size = reflection.FieldSize(message, field);
    for (int i = 0; i < size; ++i) {
      if (!text) {
        MakeTextsValid(*reflection.MutableRepeatedMessage(&message, field, i));
      } else if (std::string value =
                     reflection.GetRepeatedString(message, field, i);
                 MakeValid(&value)) {
        reflection.SetRepeatedString(&message, field, i, std::move(value));
      }
    }
  }
}

}  // namespace addons
