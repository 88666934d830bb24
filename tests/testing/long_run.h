#ifndef ADDONS_TESTS_TESTING_LONG_RUN_H_
#define ADDONS_TESTS_TESTING_LONG_RUN_H_

#include <cstdint>
#include <cstdlib>

namespace addons::testing {

/// The number in an environment variable, `otherwise` without it: how often a
/// long test does something, or the seed of a run that is to be repeated.
inline uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  // Nothing writes it.
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_LONG_RUN_H_
