#include "base/keyring.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace addons {

std::vector<KeyringUser> UsersOfKeyring(absl::string_view keyring) {
  std::vector<KeyringUser> users;
  std::optional<std::string> name;  // of the section; nullopt: no client's
  for (absl::string_view line : absl::StrSplit(keyring, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      name.reset();
      if (absl::ConsumePrefix(&line, "[client.") &&
          absl::ConsumeSuffix(&line, "]")) {
        name = std::string(line);
      }
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (!name.has_value() || absl::StripAsciiWhitespace(entry.first) != "key") {
      continue;
    }
    const absl::string_view key = absl::StripAsciiWhitespace(entry.second);
    if (!key.empty()) users.push_back({*name, Secret(key)});
  }
  return users;
}

}  // namespace addons
