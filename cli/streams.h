#ifndef ADDONS_CLI_STREAMS_H_
#define ADDONS_CLI_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace addons {

/// Wrong use of the command line (EX_USAGE); all other exit codes are 0 or the
/// number of the gRPC code that the call ended with.
inline constexpr int kCliUsage = 64;

/// How much is shown of what somebody else wrote, in bytes.
inline constexpr size_t kMaxShownName = 512;
inline constexpr size_t kMaxShownText = 4096;

/// The form of a command's result.
enum class OutputFormat { kText, kJson, kYaml };

/// What the daemon told beside its last answer, where it did: rpc/trailers.h.
struct Trailers {
  std::string request_id;
  std::optional<int64_t> asked_bytes;
  std::optional<int64_t> without_schedule;  // volumes
};

/// What a command reads and prints, and how. The streams are not owned.
struct Streams {
  Streams(std::istream& input, std::ostream& output, std::ostream& errors)
      : in(input), out(output), err(errors) {}

  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  OutputFormat format = OutputFormat::kText;
  bool wide = false;     // text with more columns and all rows
  bool verbose = false;  // say the ids of requests that succeed
  bool in_is_terminal = false;
  bool out_is_terminal = false;  // a person looks at it
  bool err_is_terminal = false;
  bool color = false;  // `out` shows them
  Trailers trailers;
  /// What the person has typed for volumes, by the ids that were found.
  std::map<std::string, std::string> typed_names;
};

/// "CODE: message" as one line of clean text.
std::string ErrorLine(const absl::Status& status);

/// Prints ErrorLine() and returns `exit_code`.
int Fail(const absl::Status& status, int exit_code, Streams& streams);

/// All of a file that is not empty. INVALID_ARGUMENT otherwise.
absl::StatusOr<std::string> ReadFile(const std::string& path);
/// ReadFile(), or nothing where `path` is empty: of an option that is not
/// given.
absl::StatusOr<std::string> ReadOptionalFile(const std::string& path);

}  // namespace addons

#endif  // ADDONS_CLI_STREAMS_H_
