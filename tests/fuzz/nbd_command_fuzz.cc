// Command lines of rbd-nbd, an argument a line: an image is named by one of the
// arguments, and a plain command line of it names the same one.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "node/rbd_nbd_command.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

void Check(std::string input) {
  // As /proc has it.
  std::replace(input.begin(), input.end(), '\n', '\0');
  const auto found = ParseRbdNbdCommand(input);
  if (!found.has_value()) return;
  for (const std::string* part :
       {&found->pool, &found->rados_namespace, &found->image.text()}) {
    CheckThat(!absl::StrContains(*part, '/') &&
                  !absl::StrContains(*part, '@') &&
                  !absl::StrContains(*part, '\0'),
              "names are without separators", input);
  }
  CheckThat(!found->pool.empty() && !found->image.empty(),
            "pool and image have names", input);
  const std::string spec =
      RbdSpec(found->pool, found->rados_namespace, found->image.text());
  const std::vector<std::string> arguments = absl::StrSplit(input, '\0');
  CheckThat(std::any_of(arguments.begin(), arguments.end(),
                        [&spec](const std::string& argument) {
                          return argument == spec ||
                                 absl::StartsWith(argument, spec + "@");
                        }),
            "the image is one of the arguments", input);
  std::string plain = absl::StrCat("rbd-nbd\nmap\n", spec, "\n");
  std::replace(plain.begin(), plain.end(), '\n', '\0');
  if (absl::StartsWith(spec, "-")) return;  // would be an option
  auto without_options = found;
  without_options->encrypted = false;
  CheckThat(ParseRbdNbdCommand(plain) == without_options,
            "a plain command line names the same image", input);
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(std::string(addons::testing::TextOf(data, size)));
  return 0;
}
