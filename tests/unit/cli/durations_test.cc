// Durations, and the names of flags, on the command line.

#include "cli/durations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/flag_names.h"
#include "cli/streams.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The error line of a command without a daemon.
std::string ErrorOf(std::vector<std::string> arguments, int code) {
  arguments.insert(arguments.begin(), "rbd-addons");
  arguments.insert(arguments.end(), {"--admin-endpoint", "unix:///nowhere/s"});
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCli(arguments, in, out, err), code) << err.str();
  return err.str();
}

TEST(DurationOptionsTest, TakeDurations) {
  constexpr int kUnavailable = 14;
  for (const char* time : {"1", "0.5", "1s", "500ms"}) {
    ErrorOf({"operations", "--timeout", time}, kUnavailable);
  }
  for (const char* within : {"3600", "1h", "48h"}) {
    ErrorOf({"audit", "--pool", "p", "--timeout=1s", "--fence-ends-within",
             within, "--ceph-user", "nobody", "--keyring", "/nowhere"},
            kCliUsage);
  }
}

TEST(DurationOptionsTest, AreRefusedByName) {
  for (const char* wrong : {"x", "5d", "nan"}) {
    EXPECT_THAT(ErrorOf({"operations", "--timeout", wrong}, kCliUsage),
                AllOf(HasSubstr("--timeout"), HasSubstr("90s or 1m30s")))
        << wrong;
  }
  for (const char* outside : {"0", "-1", "25h"}) {
    EXPECT_THAT(ErrorOf({"operations", "--timeout", outside}, kCliUsage),
                AllOf(HasSubstr("--timeout"),
                      HasSubstr("is not between 0.001 and 86400 seconds\n")))
        << outside;
  }
  for (const char* wrong : {"1.5s", "x", "0"}) {
    EXPECT_THAT(ErrorOf({"audit", "--pool", "p", "--fence-ends-within", wrong},
                        kCliUsage),
                HasSubstr("--fence-ends-within"))
        << wrong;
  }
}

TEST(InWordsOfFlagsTest, NamesTheFlagInPlaceOfTheField) {
  const std::map<std::string, std::string> texts = {
      {"cluster_id: is missing, and config.json has several clusters",
       "--cluster: is missing, and config.json has several clusters"},
      {"pool: is 200 bytes long", "--pool: is 200 bytes long"},
      {"replication_source.volume.volume_id: is missing",
       "the volume: is missing"},
      {"volume_ids[3]: is not valid UTF-8", "the volumes: is not valid UTF-8"},
      {"cidrs[0].cidr: has a control character in it",
       "the range: has a control character in it"},
      {"a key of parameters: has a control character in it",
       "--parameter: has a control character in it"},
      // Not fields, or none that a flag gives.
      {"volume 'x' is too short", "volume 'x' is too short"},
      {"something: pool: else", "something: pool: else"},
      {"", ""}};
  for (const auto& [text, shown] : texts) {
    EXPECT_EQ(InWordsOfFlags(absl::InvalidArgumentError(text)).message(),
              shown);
  }
  EXPECT_EQ(
      InWordsOfFlags(absl::NotFoundError("pool: there is none")).message(),
      "pool: there is none");
  EXPECT_TRUE(InWordsOfFlags(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace addons
