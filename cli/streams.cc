#include "cli/streams.h"

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "rpc/text.h"

namespace addons {

std::string ErrorLine(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ",
                      CleanLine(status.message(), kMaxShownText));
}

int Fail(const absl::Status& status, int exit_code, Streams& streams) {
  streams.err << ErrorLine(status) << "\n";
  return exit_code;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file),
                   std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Failed to read file '", path, "'"));
  }
  if (text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("file '", path, "' is empty"));
  }
  return text;
}

absl::StatusOr<std::string> ReadOptionalFile(const std::string& path) {
  if (path.empty()) return std::string();
  return ReadFile(path);
}

}  // namespace addons
