#ifndef ADDONS_TESTS_FUZZ_FUZZ_TARGET_H_
#define ADDONS_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

// The functions that libFuzzer knows by name. replay_main.cc takes its place
// where the compiler has none.

/// A target: checks its promises on one input. 0, or -1 for an input that is
/// not worth keeping.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/// Optional, of a target: changes an input in place, which may grow up to
/// `max_size`; returns its new size.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed);

/// For a custom mutator: the usual changes of bytes.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace addons::testing {

inline absl::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// What stands before the first `separator`, and what stands behind it.
inline std::pair<std::string, std::string> SplitInput(
    absl::string_view input, absl::string_view separator) {
  const size_t at = input.find(separator);
  if (at == absl::string_view::npos) return {std::string(input), ""};
  return {std::string(input.substr(0, at)),
          std::string(input.substr(at + separator.size()))};
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FUZZ_FUZZ_TARGET_H_
