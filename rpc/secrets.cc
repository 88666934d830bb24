#include "rpc/secrets.h"

#include <google/protobuf/descriptor.h>
#include <openssl/crypto.h>

namespace addons {

std::map<std::string, Secret> TakeSecrets(
    const google::protobuf::Map<std::string, std::string>& secrets) {
  std::map<std::string, Secret> taken;
  for (const auto& [key, value] : secrets) taken.emplace(key, Secret(value));
  return taken;
}

void WipeText(const std::string& text) {
  OPENSSL_cleanse(const_cast<char*>(text.data()), text.size());
}

void WipeSecrets(
    const google::protobuf::Message& request, const char* field,
    const google::protobuf::Map<std::string, std::string>& secrets) {
  for (const auto& [key, value] : secrets) WipeText(value);
  const auto* const map = request.GetDescriptor()->FindFieldByName(field);
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  for (int i = 0; i < reflection.FieldSize(request, map); ++i) {
    const google::protobuf::Message& entry =
        reflection.GetRepeatedMessage(request, map, i);
    std::string copy;
    const std::string& value = entry.GetReflection()->GetStringReference(
        entry, map->message_type()->map_value(), &copy);
    WipeText(value);
  }
}

}  // namespace addons
