#ifndef ADDONS_TESTS_FAKES_DIE_H_
#define ADDONS_TESTS_FAKES_DIE_H_

#include <cstdio>
#include <cstdlib>
#include <string>

namespace addons {

/// Ends the test, which asked the model for something that is not there.
[[noreturn]] inline void Die(const std::string& text) {
  std::fprintf(stderr, "mistake in the test: %s\n", text.c_str());
  std::abort();
}

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_DIE_H_
