#include "base/start_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <future>
#include <string>

namespace addons {
namespace {

std::string OwnName() {
  std::array<char, 32> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

TEST(StartThreadTest, RunsUnderItsName) {
  std::promise<std::string> name;
  const auto thread =
      StartThread("op-control", [&] { name.set_value(OwnName()); });
  ASSERT_TRUE(thread.has_value());
  EXPECT_EQ(name.get_future().get(), "op-control");
}

TEST(StartThreadTest, CutsALongName) {
  std::promise<std::string> name;
  const auto thread =
      StartThread("a name of many bytes", [&] { name.set_value(OwnName()); });
  ASSERT_TRUE(thread.has_value());
  EXPECT_EQ(name.get_future().get(), "a name of many ");
}

TEST(StartThreadTest, IsJoinedWhenItsObjectDies) {
  bool ended = false;
  {
    const auto thread = StartThread("test", [&] { ended = true; });
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace addons
