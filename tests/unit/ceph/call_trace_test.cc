#include "ceph/librados/call_trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(CallTraceTest, AddsEachCallToTheEndOfTheFile) {
  const testing::TempDir dir;
  const std::string path = dir.File("trace");
  CallTrace(path.c_str()).Arrive("rados_connect");
  const CallTrace trace(path.c_str());
  trace.Arrive("rbd_open");
  trace.Arrive("rbd_close");
  EXPECT_EQ(TextOf(path), "rados_connect\nrbd_open\nrbd_close\n");
}

TEST(CallTraceTest, NoFileIsNoTrace) {
  const CallTrace none(nullptr);
  EXPECT_NO_FATAL_FAILURE(none.Arrive("rbd_open"));
}

TEST(CallTraceDeathTest, AFileThatCannotBeWrittenEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(CallTrace("/proc/no such folder/trace"), "");
}

}  // namespace
}  // namespace addons
