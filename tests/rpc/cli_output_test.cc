// The forms of a result, secrets, and repeated looks, on the command line,
// through the socket, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/palette.h"
#include "cli/secrets.h"
#include "cli/watch.h"
#include "tests/rpc/cli_fixture.h"
#include "tests/testing/interrupted_output.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class CliOutputTest : public CliVerbTest {
 protected:
  /// Without --secrets-file.
  int RunWith(std::vector<std::string> arguments) {
    const std::vector<std::string> sockets = SocketArguments(
        arguments.front(), server_.endpoint(), server_.admin_endpoint());
    arguments.insert(arguments.begin(), "rbd-addons");
    arguments.insert(arguments.end(), sockets.begin(), sockets.end());
    std::istringstream in;
    out_.str("");
    err_.str("");
    return RunCli(arguments, in, out_, err_);
  }
  nlohmann::json Json() const { return ParseJson(out_.str()); }
};

/// A variable of the environment, until the end of the test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~ScopedVariable() { unsetenv(name_); }  // NOLINT(concurrency-mt-unsafe)
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* const name_;
};

TEST_F(CliOutputTest, AChangeHasThreeForms) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"enable", server_.id, "--output", "json"}), 0) << err_.str();
  EXPECT_EQ(Json()["verb"], "enable");
  EXPECT_EQ(Json()["volume_id"], server_.id);
  EXPECT_EQ(Json()["result"], "replication is enabled");
  const std::string request = Json()["request_id"];
  EXPECT_THAT(request, Not(IsEmpty()));
  EXPECT_THAT(server_.log(), HasSubstr("req=" + request));
  EXPECT_EQ(Run({"promote", server_.id, "-o", "yaml"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("verb: promote\nvolume_id: \""),
                                HasSubstr("\nresult: this site is primary\n")));
  EXPECT_EQ(Run({"promote", server_.id, "--output=text"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "this site is primary\n");
}

TEST_F(CliOutputTest, TheIdOfTheRequestIsSaidWhereItIsAskedFor) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"enable", server_.id, "--verbose"}), 0);
  ASSERT_THAT(err_.str(), StartsWith("request "));
  const std::string request = err_.str().substr(8, err_.str().find('\n') - 8);
  EXPECT_THAT(server_.log(), HasSubstr("req=" + request));
  EXPECT_EQ(Run({"enable", server_.id}), 0);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CliOutputTest, InfoOfSeveralVolumesIsATable) {
  server_.AddMirroredGroup();
  server_.Start();
  const std::string other =
      server_.pair.VolumeId(server_.a, ReplicationServer::kSecondUuid);
  EXPECT_EQ(Run({"info", server_.id, other}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("VOLUME "), HasSubstr("\n" + other),
                                HasSubstr("\n" + server_.id)));
  const std::string none =
      server_.pair.VolumeId(server_.a, "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(Run({"info", none, server_.id, "-o", "json"}), grpc::NOT_FOUND)
      << err_.str();
  ASSERT_EQ(Json()["items"].size(), 2U) << out_.str();
  EXPECT_EQ(Json()["items"][0]["code"], "NOT_FOUND");
  EXPECT_EQ(Json()["items"][1]["volume_id"], server_.id);
  EXPECT_TRUE(Json()["items"][1].contains("status"));
}

TEST_F(CliOutputTest, InfoTellsTheRole) {
  server_.AddMirrored();
  server_.Start();
  EXPECT_EQ(Run({"info", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\nrole         primary\n"));
}

// As after a disaster: its peer has gone on without it.
TEST_F(CliOutputTest, APrimaryInSplitBrainIsCalledPrimary) {
  server_.AddMirrored();
  server_.a.SetClusterUp(false);
  server_.b.Promote(server_.image, Force::kYes);
  server_.a.SetClusterUp(true);
  server_.world.Advance(std::chrono::minutes(2));
  server_.Start();
  EXPECT_EQ(Run({"info", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("replication  ERROR\n"),
                                HasSubstr("\nrole         primary\n"),
                                HasSubstr("split brain")));
}

TEST_F(CliOutputTest, AnImageThatIsNotThereHasNoRole) {
  server_.AddMirrored();
  server_.a.RemoveImage(server_.image);
  server_.Start();
  EXPECT_EQ(Run({"info", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("replication  ERROR\n"),
                                Not(HasSubstr("\nrole "))));
}

class CliOnStandbyTest : public CliVerbTest {
 protected:
  CliOnStandbyTest() : CliVerbTest("b") {}
};

// The contract's code for it is that of all secondaries.
TEST_F(CliOnStandbyTest, ASecondaryThatFollowsIsInStep) {
  server_.AddMirrored();
  server_.world.Advance(std::chrono::minutes(1));
  server_.Start();
  EXPECT_EQ(Run({"info", server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              StartsWith("replication  IN STEP\nrole         secondary\n"
                         "message      this site is secondary, the peer is "
                         "primary; in step as of 20"));
  EXPECT_EQ(Run({"info", server_.id, server_.id}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("  secondary  IN STEP  "));
  EXPECT_EQ(Run({"info", server_.id, "-o", "json"}), 0) << err_.str();
  EXPECT_EQ(ParseJson(out_.str())["status"], "DEGRADED");
}

TEST_F(CliOutputTest, WhatWasSeenHasTheFieldsOfTheAnswer) {
  server_.AddMirrored();
  server_.Start();
  for (const char* form : {"--json", "--output=json"}) {
    EXPECT_EQ(Run({"info", server_.id, form}), 0) << err_.str();
    EXPECT_TRUE(Json().contains("status_message")) << out_.str();
  }
  EXPECT_EQ(Run({"info", server_.id, "--output=yaml"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\nstatus_message: "));
  EXPECT_EQ(Run({"fences", "--cluster=site-a", "-o", "json"}), 0);
  EXPECT_TRUE(Json()["cidrs"].is_array());
  EXPECT_EQ(Run({"group", "list", "-o", "yaml"}), 0);
  EXPECT_EQ(out_.str(), "entries: []\nnext_token: \"\"\n");
}

TEST_F(CliOutputTest, AnErrorIsNoResult) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"demote", server_.id, "-o", "json"}),
            grpc::FAILED_PRECONDITION);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(Run({"info", server_.id, "-o", "xml"}), kCliUsage);
  EXPECT_EQ(Run({"info", server_.id, "--json", "-o", "yaml"}), kCliUsage);
}

TEST_F(CliOutputTest, TheDaemonSaysWhoItIs) {
  server_.Start();
  EXPECT_EQ(RunWith({"identity"}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(StartsWith("name     rbd.csi.ceph.com\nversion  "),
                    HasSubstr("\n  volume replication: volume replication\n")));
  EXPECT_EQ(RunWith({"identity", "-o", "json"}), 0) << err_.str();
  EXPECT_EQ(Json()["name"], "rbd.csi.ceph.com");
  EXPECT_TRUE(Json()["capabilities"].is_array());
}

TEST_F(CliOutputTest, TheIdOfTheOtherSiteIsShown) {
  server_.AddMirroredGroup();
  server_.Start();
  const std::string there =
      server_.pair.VolumeId(server_.b, ReplicationServer::kUuid);
  EXPECT_EQ(Run({"destination", server_.id}), 0) << err_.str();
  EXPECT_EQ(out_.str(), there + "\n");
  EXPECT_EQ(Run({"destination", "--group", server_.group_id}), 0) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith("group  0001-"),
            HasSubstr(absl::StrCat("  ", server_.id, " is ", there, "\n"))));
}

TEST_F(CliOutputTest, SecretsComeFromTheEnvironment) {
  server_.AddMirrored();
  const FakeSite& site = server_.site();
  const ScopedVariable id(kUserIdVariable, site.user()->id);
  const ScopedVariable key(kUserKeyVariable, site.user()->key.Reveal());
  server_.Start();
  EXPECT_EQ(RunWith({"info", server_.id}), 0) << err_.str();
  // What takes none gets none.
  EXPECT_EQ(RunWith({"call", "GetIdentity"}), 0) << err_.str();
  EXPECT_THAT(server_.log(), Not(HasSubstr(site.user()->key.Reveal())));
}

TEST_F(CliOutputTest, SecretsComeFromAKeyring) {
  server_.AddMirrored();
  const FakeSite& site = server_.site();
  dir_.Write("keyring", absl::StrCat("[client.other]\n\tkey = hush\n[client.",
                                     site.user()->id, "]\n\tkey = ",
                                     site.user()->key.Reveal(), "\n"));
  server_.Start();
  for (const std::string& user :
       {site.user()->id, absl::StrCat("client.", site.user()->id)}) {
    EXPECT_EQ(RunWith({"info", server_.id, "--ceph-user", user, "--keyring",
                       dir_.File("keyring")}),
              0)
        << err_.str();
  }
  EXPECT_EQ(RunWith({"info", server_.id, "--ceph-user", "nobody", "--keyring",
                     dir_.File("keyring")}),
            kCliUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("no key of client.nobody"),
                                Not(HasSubstr("hush"))));
}

TEST_F(CliOutputTest, ACallWithoutAUserSaysHowToNameOne) {
  EXPECT_EQ(RunWith({"info", "some-volume"}), kCliUsage);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("--secrets-file"), HasSubstr("--ceph-user"),
                    HasSubstr(kUserKeyVariable)));
}

// The second look is interrupted.
TEST_F(CliOutputTest, AWatchShowsItAgainUntilItIsInterrupted) {
  int looks = 0;
  std::istringstream in;
  Streams streams{in, out_, err_};
  const auto look = [&](Streams& once) {
    once.out << "look " << ++looks << "\n";
    if (looks == 2) std::raise(SIGINT);
    return static_cast<int>(grpc::UNAVAILABLE);
  };
  EXPECT_EQ(RunWatched(std::chrono::milliseconds(1), look, streams),
            kCliInterrupted);
  EXPECT_EQ(looks, 2);
  EXPECT_THAT(out_.str(),
              AllOf(StartsWith("--- 20"), HasSubstr("Z\nlook 1\n")));
}

TEST_F(CliOutputTest, AWatchLooksAsItsCommandDoes) {
  std::istringstream in;
  InterruptedOutput out(/*at_flush=*/1);
  Streams streams{in, out, err_};
  streams.color = true;
  streams.wide = true;
  const auto look = [](Streams& once) {
    once.out << Palette(once).Bad("broken") << (once.wide ? " wide" : "");
    return 0;
  };
  EXPECT_EQ(RunWatched(std::chrono::milliseconds(1), look, streams),
            kCliInterrupted);
  EXPECT_THAT(out.text(), EndsWith("Z\n\x1b[31mbroken\x1b[0m wide"));
}

TEST_F(CliOutputTest, APauseOfAWatchIsADuration) {
  server_.Start();
  const auto watch = [this](const char* pause, int at_flush) {
    std::istringstream in;
    InterruptedOutput out(at_flush);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(RunCli({"rbd-addons", "operations", pause, "--admin-endpoint",
                      server_.admin_endpoint()},
                     in, out, err_),
              kCliInterrupted)
        << err_.str();
    EXPECT_THAT(out.text(), HasSubstr("Z\nno operations\n"));
    return std::chrono::steady_clock::now() - begun;
  };
  watch("--watch=90s", 1);
  watch("--watch=5m", 1);
  // Longer than where nothing is said.
  EXPECT_GE(watch("--watch=2100ms", 2), std::chrono::milliseconds(2100));
}

TEST_F(CliOutputTest, AWatchOfWrongUseEnds) {
  EXPECT_EQ(RunWith({"info", "some-volume", "--watch"}), kCliUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--ceph-user"));
  for (const char* wrong : {"--watch=0.01", "--watch=x", "--watch=nan"}) {
    EXPECT_EQ(Run({"info", "some-volume", wrong}), kCliUsage);
    EXPECT_THAT(err_.str(), HasSubstr("--watch takes seconds"));
  }
  EXPECT_EQ(Run({"enable", "some-volume", "--watch"}), kCliUsage);
}

TEST_F(CliOutputTest, OnATerminalAWatchShowsTheLastLookAlone) {
  std::istringstream in;
  Streams streams{in, out_, err_};
  streams.out_is_terminal = true;
  int looks = 0;
  const auto look = [&](Streams& once) {
    once.err << "an error\n";
    if (++looks == 2) std::raise(SIGINT);
    return 1;
  };
  EXPECT_EQ(RunWatched(std::chrono::milliseconds(1), look, streams),
            kCliInterrupted);
  EXPECT_THAT(out_.str(), AllOf(StartsWith("\x1b[H\x1b[2J20"),
                                HasSubstr("(Ctrl-C ends)\n\nan error\n")));
  EXPECT_THAT(err_.str(), IsEmpty());
}

}  // namespace
}  // namespace addons::testing
