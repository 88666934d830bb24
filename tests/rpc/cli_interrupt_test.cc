// Commands that wait: what a person sees meanwhile, and after Ctrl-C. Through
// the socket, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/call_watch.h"
#include "cli/channel.h"
#include "cli/interrupt.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliInterruptTest : public CliVerbTest {
 protected:
  CliInterruptTest() : CliVerbTest("b") {
    server_.AddMirrored();
    server_.id = server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
    server_.UseRealTime();
  }
  /// In the middle of the call that is held.
  int Interrupted(const std::vector<std::string>& arguments) {
    auto run = std::async(std::launch::async, [&] { return Run(arguments); });
    server_.AwaitHeld();
    EXPECT_EQ(std::raise(SIGINT), 0);
    return run.get();
  }
};

TEST_F(CliInterruptTest, WhatHasBegunGoesOnAndIsSaid) {
  server_.a.Demote(server_.image);
  server_.world.Advance(std::chrono::minutes(2));
  server_.Hold("rbd_mirror_image_promote");
  server_.Start();
  EXPECT_EQ(Interrupted({"promote", server_.id}), kCliInterrupted);
  EXPECT_THAT(
      err_.str(),
      AllOf(HasSubstr("interrupted: nothing was cancelled\n"),
            HasSubstr(absl::StrCat("goes on: promote of volume '", server_.id)),
            HasSubstr("the same command goes on where this one ended")));
  EXPECT_EQ(out_.str(), "");
  server_.Release();
  EXPECT_EQ(Run({"promote", server_.id}), 0) << err_.str();
  EXPECT_TRUE(server_.b.Info(server_.image).primary);
}

TEST_F(CliInterruptTest, AWaitSaysThatItMayBeInterrupted) {
  server_.Start();
  EXPECT_NE(Run({"promote", server_.id, "--timeout", "3"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("nothing is changed while it waits: "
                                    "Ctrl-C is safe\n"));
}

TEST_F(CliInterruptTest, WhatHasChangedNothingEnds) {
  server_.Hold("rbd_mirror_image_get_info");
  server_.Start();
  EXPECT_EQ(Interrupted({"demote", server_.id}), kCliInterrupted);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr(absl::StrCat("nothing goes on with volume '",
                                           server_.id, "'")),
                    Not(HasSubstr("goes on: "))));
  server_.Release();
}

TEST_F(CliInterruptTest, AQuestionIsInterrupted) {
  server_.Hold("rbd_mirror_image_get_info");
  server_.Start();
  EXPECT_EQ(Interrupted({"explain", server_.id}), kCliInterrupted);
  EXPECT_THAT(err_.str(), HasSubstr("interrupted; "));
  server_.Release();
}

/// Tells when something was flushed.
class Screen : public std::stringbuf {
 public:
  std::future<void> Flushed() { return flushed_.get_future(); }

 protected:
  int sync() override {
    if (!told_) flushed_.set_value();
    told_ = true;
    return 0;
  }

 private:
  std::promise<void> flushed_;
  bool told_ = false;
};

TEST_F(CliInterruptTest, WhatTheDaemonDoesIsShownWhileACallWaits) {
  server_.a.Demote(server_.image);
  server_.world.Advance(std::chrono::minutes(2));
  server_.Hold("rbd_mirror_image_promote");
  server_.Start();
  auto run = std::async(std::launch::async, [&] {
    return Run({"promote", server_.id});
  });
  server_.AwaitHeld();
  Screen screen;
  std::istringstream in;
  std::ostream shown(&screen);
  Streams streams{in, shown, shown};
  streams.err_is_terminal = true;
  const auto channel = OpenChannel(server_.admin_endpoint());
  ASSERT_OK(channel);
  {
    CallWatch::Options options;
    options.subject = absl::StrCat("volume '", server_.id, "'");
    options.look_every = std::chrono::milliseconds(1);
    const CallWatch watch(*channel, options, streams);
    EXPECT_EQ(screen.Flushed().wait_for(std::chrono::minutes(1)),
              std::future_status::ready);
  }
  EXPECT_THAT(screen.str(), StartsWith("\r\x1b[Kpromote, "));
  EXPECT_THAT(screen.str(), EndsWith("\r\x1b[K"));
  server_.Release();
  EXPECT_EQ(run.get(), 0) << err_.str();
}

}  // namespace
}  // namespace addons::testing
