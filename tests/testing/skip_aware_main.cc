// The main program of tests that may have to be skipped, some or all of them.
// GoogleTest's own ends with 0 when everything was skipped, and when no test
// has the wanted name; and ctest, which sees the program as one test, would
// not hear of single tests that were skipped: they are appended to the file
// RBD_ADDONS_TEST_SKIPS, a line each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

class SkipCollector final : public ::testing::EmptyTestEventListener {
 public:
  explicit SkipCollector(std::vector<std::string>* lines) : lines_(*lines) {}

  void OnTestEnd(const ::testing::TestInfo& test) override {
    const ::testing::TestResult& result = *test.result();
    if (!result.Skipped()) return;
    std::string line = std::string(test.test_suite_name()) + "." + test.name();
    for (int i = 0; i < result.total_part_count(); ++i) {
      if (!result.GetTestPartResult(i).skipped()) continue;
      line += std::string(": ") + result.GetTestPartResult(i).message();
    }
    lines_.push_back(line.substr(0, line.find('\n')));
  }

 private:
  std::vector<std::string>& lines_;
};

void Append(const std::vector<std::string>& lines) {
  const char* const path = std::getenv("RBD_ADDONS_TEST_SKIPS");
  if (path == nullptr || lines.empty()) return;
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  std::ofstream(path, std::ios::app) << text;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in cmake/Targets.cmake
  ::testing::InitGoogleMock(&argc, argv);
  const bool list_only = ::testing::GTEST_FLAG(list_tests);
  std::vector<std::string> skipped;
  ::testing::UnitTest& run = *::testing::UnitTest::GetInstance();
  // Owned by GoogleTest.
  run.listeners().Append(new SkipCollector(&skipped));
  const int result = RUN_ALL_TESTS();
  if (!list_only && result == 0) {
    if (run.test_to_run_count() == 0) {
      std::cerr << "no test has this name" << std::endl;
      return 1;
    }
    if (run.successful_test_count() == 0 && run.skipped_test_count() > 0) {
      return kSkipped;
    }
  }
  Append(skipped);
  return result;
}
