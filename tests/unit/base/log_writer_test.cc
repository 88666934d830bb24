#include "base/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::TempDir;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Line(int number) { return absl::StrCat("line ", number, "\n"); }

struct Channel {
  UniqueFd read;
  UniqueFd write;
};

Channel Pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  EXPECT_GT(fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Channel SocketPair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// What librados does to a standard error that is a pipe.
void MakeNonBlocking(const UniqueFd& fd) {
  ASSERT_EQ(fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK), 0);
}

// What arrives until there is nothing for a while.
std::string ReadAll(const UniqueFd& fd, milliseconds at_most_idle) {
  std::string text;
  std::array<char, 512> buffer{};
  pollfd event{fd.get(), POLLIN, 0};
  while (poll(&event, 1, static_cast<int>(at_most_idle.count())) == 1) {
    const ssize_t size = read(fd.get(), buffer.data(), buffer.size());
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  return text;
}

std::unique_ptr<LogWriter> Start(int fd, LogWriterOptions options = {}) {
  auto writer = LogWriter::Start(fd, std::move(options));
  EXPECT_OK(writer);
  return writer.ok() ? *std::move(writer) : nullptr;
}

std::string Lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += Line(i);
  return text;
}

TEST(LogWriterTest, WritesToAFileWithoutTheHelpOfAFlush) {
  const TempDir dir;
  const UniqueFd file(
      open(dir.File("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  auto writer = Start(file.get());
  writer->Write("one\n");
  writer.reset();
  EXPECT_EQ(dir.Read("log"), "one\n");
}

TEST(LogWriterTest, FlushWaitsForWhatWasWrittenBefore) {
  const TempDir dir;
  const UniqueFd file(
      open(dir.File("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto writer = Start(file.get());
  for (int i = 0; i < 1000; ++i) writer->Write(Line(i));
  EXPECT_TRUE(writer->Flush(seconds(30)));
  EXPECT_EQ(dir.Read("log"), Lines(1000));
  EXPECT_TRUE(writer->idle());
}

TEST(LogWriterTest, LosesNothingToAPipeThatIsMadeNonBlocking) {
  const Channel channel = Pipe();
  const auto writer = Start(channel.write.get());
  MakeNonBlocking(channel.write);
  for (int i = 0; i < 2000; ++i) writer->Write(Line(i));
  EXPECT_FALSE(writer->Flush(milliseconds(20)));  // the pipe is full
  EXPECT_EQ(ReadAll(channel.read, seconds(1)), Lines(2000));
  EXPECT_EQ(writer->dropped(), 0U);
}

TEST(LogWriterTest, LeavesTheFlagsOfOthersAlone) {
  const Channel channel = Pipe();
  const auto writer = Start(channel.write.get());
  EXPECT_EQ(fcntl(channel.write.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(LogWriterTest, LosesNothingToANonBlockingSocketEither) {
  const Channel channel = SocketPair();
  const auto writer = Start(channel.write.get());
  MakeNonBlocking(channel.write);
  for (int i = 0; i < 50000; ++i) writer->Write(Line(i));
  EXPECT_EQ(ReadAll(channel.read, seconds(1)), Lines(50000));
}

TEST(LogWriterTest, NobodyWaitsForAReaderThatStandsStill) {
  const Channel channel = Pipe();
  const auto writer = Start(channel.write.get(), {.queued_bytes = 10000});
  const auto begin = steady_clock::now();
  for (int i = 0; i < 100000; ++i) writer->Write(Line(i));
  EXPECT_LT(steady_clock::now() - begin, seconds(10));
  EXPECT_GT(writer->dropped(), 90000U);
}

TEST(LogWriterTest, SaysWhereAndHowManyLinesAreMissing) {
  const Channel channel = Pipe();
  const auto writer =
      Start(channel.write.get(),
            {.queued_bytes = 10000, .dropped_line = [](uint64_t dropped) {
               return absl::StrCat("dropped ", dropped, "\n");
             }});
  for (int i = 0; i < 100000; ++i) writer->Write(Line(i));
  const uint64_t dropped = writer->dropped();
  std::string text = ReadAll(channel.read, milliseconds(500));
  writer->Write("after\n");
  text += ReadAll(channel.read, milliseconds(500));
  EXPECT_THAT(text, ::testing::EndsWith("after\n"));
  uint64_t lines = 0;
  uint64_t told = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "line ")) ++lines;
    if (absl::StartsWith(line, "dropped ")) {
      told += std::stoull(std::string(line.substr(8)));
    }
  }
  EXPECT_EQ(told, dropped);
  EXPECT_EQ(lines + told, 100000U);
  EXPECT_EQ(writer->dropped(), dropped);
}

TEST(LogWriterTest, ALineLongerThanAPipeIsWrittenWhole) {
  const Channel channel = Pipe();
  const auto writer = Start(channel.write.get());
  const std::string line = std::string(100000, 'x') + "\n";
  writer->Write(line);
  EXPECT_EQ(ReadAll(channel.read, seconds(1)), line);
}

TEST(LogWriterTest, AReaderThatHasGoneCostsLinesOnly) {
  Channel channel = Pipe();
  const auto writer = Start(channel.write.get());
  channel.read.Reset();
  for (int i = 0; i < 10; ++i) writer->Write(Line(i));
  EXPECT_TRUE(writer->Flush(seconds(30)));
  EXPECT_EQ(writer->dropped(), 10U);
}

TEST(LogWriterTest, WorksWithoutAFile) {
  UniqueFd gone(dup(0));
  const int number = gone.get();
  gone.Reset();
  const auto writer = Start(number);
  writer->Write("one\n");
  EXPECT_TRUE(writer->Flush(seconds(30)));
  EXPECT_EQ(writer->dropped(), 1U);
}

TEST(LogWriterTest, EndsAlthoughNobodyReads) {
  const Channel channel = Pipe();
  auto writer = Start(channel.write.get());
  for (int i = 0; i < 10000; ++i) writer->Write(Line(i));
  const auto begin = steady_clock::now();
  writer.reset();
  EXPECT_LT(steady_clock::now() - begin, seconds(10));
}

TEST(LogWriterTest, ManyThreadsWriteWholeLines) {
  const Channel channel = Pipe();
  const auto writer = Start(channel.write.get());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) writer->Write("0123456789\n");
      });
    }
  }
  const std::string text = ReadAll(channel.read, seconds(1));
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  EXPECT_EQ(lines.size(), 4000U);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "0123456789"), 4000);
}

// SIGTERM is the daemon's: the log begins before the daemon blocks it, and a
// thread that takes it would end the process.
TEST(LogWriterTest, ItsThreadTakesNoSignal) {
  const Channel channel = Pipe();
  const auto writer = Start(channel.write.get());
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  const timespec wait{10, 0};
  EXPECT_EQ(sigtimedwait(&term, nullptr, &wait), SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

}  // namespace
}  // namespace addons
