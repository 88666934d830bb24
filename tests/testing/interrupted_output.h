#ifndef ADDONS_TESTS_TESTING_INTERRUPTED_OUTPUT_H_
#define ADDONS_TESTS_TESTING_INTERRUPTED_OUTPUT_H_

#include <csignal>
#include <ostream>
#include <sstream>
#include <string>

namespace addons::testing {

/// A command's output during which a person presses Ctrl-C, at a flush that is
/// counted from 1: `--watch` flushes after each look. By the thread that
/// writes.
class InterruptedOutput final : private std::stringbuf, public std::ostream {
 public:
  explicit InterruptedOutput(int at_flush)
      : std::ostream(static_cast<std::stringbuf*>(this)), left_(at_flush) {}

  std::string text() const { return std::stringbuf::str(); }

 private:
  int sync() override {
    if (--left_ == 0) std::raise(SIGINT);
    return 0;
  }

  int left_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_INTERRUPTED_OUTPUT_H_
