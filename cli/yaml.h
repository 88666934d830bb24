#ifndef ADDONS_CLI_YAML_H_
#define ADDONS_CLI_YAML_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace addons {

/// `value` as a YAML document in block style, in the order that it has. Every
/// text that YAML could take for something else (a number, a date, yes) is in
/// quotes, and control characters are escaped, so what reads it finds the same
/// values as in the JSON. Ends with the end of a line.
std::string ToYaml(const nlohmann::ordered_json& value);

}  // namespace addons

#endif  // ADDONS_CLI_YAML_H_
