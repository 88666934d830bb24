#include "node/rbd_nbd_command.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace addons {
namespace {

// Options whose value is an argument of its own unless it follows "=". An
// option that is missing here makes the command line ambiguous, not wrong.
constexpr std::array<absl::string_view, 33> kWithValue = {
    "--admin-socket",
    "--cluster",
    "--conf",
    "--cookie",
    "--device",
    "--encryption-format",
    "--encryption-passphrase-file",
    "--id",
    "--io-timeout",
    "--key",
    "--keyfile",
    "--keyring",
    "--log-file",
    "--log_file",
    "--max_part",
    "--mon-host",
    "--mon_host",
    "--name",
    "--namespace",
    "--nbds_max",
    "--options",
    "--pid-file",
    "--pool",
    "--quiesce-hook",
    "--reattach-timeout",
    "--snap-id",
    "--timeout",
    "--user",
    "-K",
    "-c",
    "-k",
    "-m",
    "-n"};

bool TakesValue(absl::string_view option) {
  return std::find(kWithValue.begin(), kWithValue.end(), option) !=
         kWithValue.end();
}

std::vector<absl::string_view> Positionals(
    const std::vector<absl::string_view>& arguments) {
  std::vector<absl::string_view> positionals;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!absl::StartsWith(arguments[i], "-")) {
      positionals.push_back(arguments[i]);
    } else if (TakesValue(arguments[i])) {
      ++i;
    }
  }
  return positionals;
}

absl::string_view BaseName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::optional<RbdNbdImage> ParseRbdNbdCommand(absl::string_view command_line) {
  std::vector<absl::string_view> arguments = absl::StrSplit(command_line, '\0');
  if (!arguments.empty() && arguments.back().empty()) arguments.pop_back();
  if (arguments.empty() || BaseName(arguments.front()) != "rbd-nbd") {
    return std::nullopt;
  }
  const std::vector<absl::string_view> positionals = Positionals(arguments);
  if (positionals.size() != 2 ||
      (positionals[0] != "map" && positionals[0] != "attach")) {
    return std::nullopt;
  }
  absl::string_view spec = positionals[1];
  spec = spec.substr(0, spec.find('@'));  // a snapshot of the image
  const std::vector<std::string> parts = absl::StrSplit(spec, '/');
  if (std::any_of(parts.begin(), parts.end(),
                  [](const std::string& part) { return part.empty(); })) {
    return std::nullopt;
  }
  const bool encrypted = std::any_of(
      arguments.begin(), arguments.end(), [](absl::string_view argument) {
        return absl::StartsWith(argument, "--encryption-format");
      });
  switch (parts.size()) {
    case 2:
      return RbdNbdImage{parts[0], "", ImageName(parts[1]), encrypted};
    case 3:
      return RbdNbdImage{parts[0], parts[1], ImageName(parts[2]), encrypted};
    default:  // without a pool it is in one that the configuration names
      return std::nullopt;
  }
}

}  // namespace addons
