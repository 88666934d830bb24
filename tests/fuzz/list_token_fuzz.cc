// Tokens of ListVolumeGroups: the input as a token, and as a place ("cluster",
// "pool id", "name", a line each) that becomes one.

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "volumegroup/list_token.h"

namespace addons::testing {
namespace {

void CheckToken(const std::string& token) {
  const auto place = DecodeListToken(token);
  if (!place.ok()) {
    CheckError(place.status(), absl::StatusCode::kAborted);
    return;
  }
  const auto again = DecodeListToken(EncodeListToken(*place));
  CheckThat(again.ok() && *again == *place,
            "the token of a place means the place", token);
}

void CheckPlace(absl::string_view input) {
  const auto [cluster, rest] = SplitInput(input, "\n");
  const auto [pool, name] = SplitInput(rest, "\n");
  ListPosition place{ClusterId(cluster), 0, name};
  if (!absl::SimpleAtoi(pool, &place.pool_id)) return;
  const std::string token = EncodeListToken(place);
  for (const char c : token) {
    CheckThat(absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
                  c == '_' || c == '=' || c == '.',
              "a token is text that needs no escaping", token);
  }
  const auto read = DecodeListToken(token);
  CheckThat(read.ok(), "a token that was given out is taken back", token);
  // Names with broken UTF-8 are none that Ceph has.
  CheckThat(*read == place || !IsUtf8(input),
            "and means the place that it was given out for", token);
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = addons::testing::TextOf(data, size);
  addons::testing::CheckToken(std::string(input));
  addons::testing::CheckPlace(input);
  return 0;
}
