#include "cli/input_end.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>

#include "base/unique_fd.h"

namespace addons {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    out = UniqueFd(ends[0]);
    in = UniqueFd(ends[1]);
  }
  UniqueFd out;
  UniqueFd in;
};

TEST(InputEndTest, IsSaidWhenTheWriterIsGone) {
  Pipe pipe;
  std::promise<void> said;
  const InputEnd end(pipe.out.get(), [&said] { said.set_value(); });
  pipe.in.Reset();
  EXPECT_EQ(said.get_future().wait_for(std::chrono::seconds(60)),
            std::future_status::ready);
}

TEST(InputEndTest, IsNotData) {
  Pipe pipe;
  std::atomic<bool> said{false};
  {
    const InputEnd end(pipe.out.get(), [&said] { said = true; });
    EXPECT_EQ(write(pipe.in.get(), "yes\n", 4), 4);
    // Nothing was taken of it.
    std::array<char, 5> read{};
    EXPECT_EQ(::read(pipe.out.get(), read.data(), 4), 4);
    EXPECT_STREQ(read.data(), "yes\n");
  }
  EXPECT_FALSE(said);
}

TEST(InputEndTest, DataThatNobodyReadsIsNoHindrance) {
  Pipe pipe;
  EXPECT_EQ(write(pipe.in.get(), "yes\n", 4), 4);
  std::promise<void> said;
  const InputEnd end(pipe.out.get(), [&said] { said.set_value(); });
  pipe.in.Reset();
  EXPECT_EQ(said.get_future().wait_for(std::chrono::seconds(60)),
            std::future_status::ready);
}

TEST(InputEndTest, AFileHasNone) {
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::atomic<bool> said{false};
  {
    const InputEnd end(file.get(), [&said] { said = true; });
  }
  EXPECT_FALSE(said);
}

}  // namespace
}  // namespace addons
