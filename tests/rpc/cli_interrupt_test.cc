// Commands that wait: what a person sees meanwhile, and after Ctrl-C. Through
// the socket, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
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

/// A terminal that tells when something stands on it.
class Screen : public std::stringbuf {
 public:
  explicit Screen(std::string awaited) : awaited_(std::move(awaited)) {}
  std::future<void> Shown() { return shown_.get_future(); }

 protected:
  int sync() override {
    // Lines are wrapped.
    if (!told_ && absl::StrContains(absl::StrReplaceAll(str(), {{"\n", " "}}),
                                    awaited_)) {
      shown_.set_value();
      told_ = true;
    }
    return 0;
  }

 private:
  const std::string awaited_;
  std::promise<void> shown_;
  bool told_ = false;
};

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
  /// What a terminal shows of the volume's call until `awaited` stands on it
  /// and the watch ends.
  std::string Watched(const std::string& awaited, size_t columns = 0) {
    Screen screen(awaited);
    std::istringstream in;
    std::ostream shown(&screen);
    Streams streams{in, shown, shown};
    streams.err_is_terminal = true;
    const auto channel = OpenChannel(server_.admin_endpoint());
    EXPECT_OK(channel);
    if (!channel.ok()) return "";
    {
      CallWatch::Options options;
      options.subject = absl::StrCat("volume '", server_.id, "'");
      options.look_every = std::chrono::milliseconds(1);
      options.columns = columns;
      const CallWatch watch(*channel, options, streams);
      EXPECT_EQ(screen.Shown().wait_for(std::chrono::minutes(1)),
                std::future_status::ready);
    }
    return screen.str();
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
  EXPECT_THAT(err_.str(), HasSubstr("; Ctrl-C is safe\n"));
}

TEST_F(CliInterruptTest, AWaitForASilentSiteTellsItsClockWholeAtAnyWidth) {
  server_.a.SetClusterUp(false);
  server_.a.SetMirrorDaemon(DaemonState::kDown);
  server_.world.Advance(std::chrono::minutes(3));
  server_.Start();
  EXPECT_NE(Run({"promote", server_.id, "--timeout", "3"}), 0);
  // No terminal: a line that is whole.
  EXPECT_THAT(err_.str(),
              AllOf(StartsWith("no sign of site 'site-a' for "),
                    HasSubstr(" s of 90 s while calls wait (last report "),
                    HasSubstr(" s ago); forcing is offered at about "),
                    HasSubstr(" UTC if nothing changes; Ctrl-C is safe\n")));

  auto run = std::async(std::launch::async, [&] {
    return Run({"promote", server_.id, "--timeout", "8"});
  });
  const std::string text = Watched("if nothing changes; Ctrl-C is safe", 40);
  EXPECT_NE(run.get(), 0);
  EXPECT_THAT(absl::StrReplaceAll(text, {{"\n", " "}}),
              HasSubstr("if nothing changes; Ctrl-C is safe"));
  EXPECT_THAT(text, EndsWith("\r\x1b[K")) << "it takes the lines away";
  EXPECT_THAT(text, HasSubstr("\r\x1b[K\x1b[A\r\x1b[K"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t begin = line.rfind("\x1b[K");
    EXPECT_LT(line.size() - (begin == absl::string_view::npos ? 0 : begin + 3),
              40U)
        << line;
  }
}

TEST_F(CliInterruptTest, AWaitForAFollowerTellsItsClock) {
  server_.a.Demote(server_.image);
  server_.world.Advance(std::chrono::minutes(2));
  server_.a.SetMirrorDaemon(DaemonState::kDown);
  server_.b.Promote(server_.image, Force::kNo);
  server_.Start();
  EXPECT_NE(Run({"demote", server_.id, "--timeout", "8"}), 0);
  EXPECT_THAT(err_.str(),
              AllOf(StartsWith("waiting until the peer follows this site, "
                               "since "),
                    HasSubstr("; the call is answered at about "),
                    HasSubstr(" if nothing changes; Ctrl-C is safe\n")));
}

TEST_F(CliInterruptTest, WhatHasChangedNothingEnds) {
  server_.Hold("rbd.mirror_image_status_get");
  server_.Start();
  EXPECT_EQ(Interrupted({"demote", server_.id}), kCliInterrupted);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr(absl::StrCat("nothing goes on with volume '",
                                           server_.id, "'")),
                    Not(HasSubstr("goes on: "))));
  server_.Release();
}

TEST_F(CliInterruptTest, WhatEndsIsNamedAsItWasTyped) {
  server_.Hold("rbd.mirror_image_status_get");
  server_.Start();
  const std::string name = absl::StrCat("replicapool/", server_.image);
  EXPECT_EQ(Interrupted({"demote", name}), kCliInterrupted);
  EXPECT_THAT(err_.str(), HasSubstr(absl::StrCat(
                              "nothing goes on with volume '", name, "'")));
  server_.Release();
}

TEST_F(CliInterruptTest, AQuestionIsInterrupted) {
  server_.Hold("rbd_mirror_image_get_info");
  server_.Start();
  EXPECT_EQ(Interrupted({"explain", server_.id}), kCliInterrupted);
  EXPECT_THAT(err_.str(), HasSubstr("interrupted; "));
  server_.Release();
}

TEST_F(CliInterruptTest, WhatTheDaemonDoesIsShownWhileACallWaits) {
  server_.a.Demote(server_.image);
  server_.world.Advance(std::chrono::minutes(2));
  server_.Hold("rbd_mirror_image_promote");
  server_.Start();
  auto run = std::async(std::launch::async, [&] {
    return Run({"promote", server_.id});
  });
  server_.AwaitHeld();
  const std::string text = Watched("promote, ");
  EXPECT_THAT(text, StartsWith("\r\x1b[Kpromote, "));
  EXPECT_THAT(text, EndsWith("\r\x1b[K"));
  server_.Release();
  EXPECT_EQ(run.get(), 0) << err_.str();
}

}  // namespace
}  // namespace addons::testing
