#include "rpc/secrets.h"

namespace addons {

std::map<std::string, Secret> TakeSecrets(
    const google::protobuf::Map<std::string, std::string>& secrets) {
  std::map<std::string, Secret> taken;
  for (const auto& [key, value] : secrets) taken.emplace(key, Secret(value));
  return taken;
}

}  // namespace addons
