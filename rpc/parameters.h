#ifndef ADDONS_RPC_PARAMETERS_H_
#define ADDONS_RPC_PARAMETERS_H_

#include <google/protobuf/map.h>

#include <map>
#include <string>

namespace addons {

/// A request's parameters in the form that the rest of the program takes them.
inline std::map<std::string, std::string> TakeParameters(
    const google::protobuf::Map<std::string, std::string>& parameters) {
  return {parameters.begin(), parameters.end()};
}

}  // namespace addons

#endif  // ADDONS_RPC_PARAMETERS_H_
