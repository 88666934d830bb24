#ifndef ADDONS_TESTS_FUZZ_CHECK_H_
#define ADDONS_TESTS_FUZZ_CHECK_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons::testing {

/// Ends the process, which is how a fuzzer learns of a finding, unless
/// `promise` is kept. `seen` is printed, escaped.
void CheckThat(bool kept, absl::string_view promise,
               absl::string_view seen = "");

/// Well-formed UTF-8; a decoder of its own, so that it can judge others.
bool IsUtf8(absl::string_view text);

/// One line for people: not empty, UTF-8, no control characters, and at most
/// `max_bytes` long.
void CheckLine(absl::string_view text, size_t max_bytes);

/// That `error` has this code, and a message as CheckLine() wants it.
void CheckError(const absl::Status& error, absl::StatusCode code,
                size_t max_bytes = 1024);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FUZZ_CHECK_H_
