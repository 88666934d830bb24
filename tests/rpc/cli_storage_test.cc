// The verbs of fences, space and volume groups on the command line, through the
// socket, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class CliStorageTest : public CliVerbTest {};

TEST_F(CliStorageTest, AddressesAreFencedListedAndLetInAgain) {
  server_.Start();
  EXPECT_EQ(
      Run({"fence", "192.168.1.77/24", "fd99::1", "--cluster=site-a", "--yes"}),
      0)
      << err_.str();
  EXPECT_EQ(out_.str(),
            "fenced: 192.168.1.77/24, fd99::1 in cluster 'site-a'\n");
  EXPECT_EQ(Run({"fences", "--cluster=site-a"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "192.168.1.0/24\nfd99::1/128\n");
  EXPECT_EQ(Run({"fences", "--cluster=site-a", "--json"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\"cidr\": \"192.168.1.0/24\""));
  EXPECT_EQ(Run({"unfence", "192.168.1.0/24", "fd99::1", "--cluster=site-a",
                 "--yes"}),
            0)
      << err_.str();
  EXPECT_EQ(Run({"fences", "--cluster=site-a"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "nothing is fenced\n");
}

// What cuts others off, or lets them in, is asked about; what a daemon would
// be told is nothing before that.
TEST_F(CliStorageTest, FencesAndTheEndOfAGroupAskFirst) {
  server_.Start();
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"fence", "10.0.0.5", "--cluster=site-a"},
        {"unfence", "10.0.0.5", "--cluster=site-a"},
        {"group", "delete", "some-id"}}) {
    for (const std::string typed : {"", "y\n"}) {
      EXPECT_EQ(Run(verb, typed), kCliUsage);
      EXPECT_THAT(err_.str(), AllOf(HasSubstr("type yes to go on"),
                                    HasSubstr("nothing was changed")));
    }
  }
  EXPECT_EQ(server_.world.CountMutations(), 0);
  EXPECT_THAT(server_.log(), Not(HasSubstr("method=")));
  EXPECT_EQ(Run({"fence", "10.0.0.5", "--cluster=site-a"}, "yes\n"), 0)
      << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("10.0.0.5 in cluster 'site-a': type yes"));
  EXPECT_THAT(err_.str(), HasSubstr("change nothing: \n"))
      << "what follows begins a line where no person types one";
}

TEST_F(CliStorageTest, ATrimTakesAVolumeByItsName) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"trim", absl::StrCat("replicapool/", server_.image),
                 "--path=/somewhere"}),
            grpc::UNIMPLEMENTED);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr(" is " + server_.id), HasSubstr("--nodeserver")));
}

TEST_F(CliStorageTest, MembersOfAGroupAreTakenByTheirNames) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(
      Run({"group", "create", "databases", "--volume",
           absl::StrCat("replicapool/", server_.image), "--admin-endpoint",
           server_.admin_endpoint(), "--parameter", "clusterID=site-a",
           "--parameter", absl::StrCat("pool=", MirroredPair::kPool)}),
      0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\n  " + server_.id + "\n"));
}

TEST_F(CliStorageTest, AFenceNeedsAddressesAndACluster) {
  EXPECT_EQ(Run({"fence", "--cluster=site-a"}), kCliUsage);
  EXPECT_EQ(Run({"fence", "10.0.0.5"}), kCliUsage);
}

TEST_F(CliStorageTest, ARangeThatIsNoneIsRefused) {
  server_.Start();
  EXPECT_EQ(Run({"fence", "10.0.0.5/33", "--cluster=site-a", "--yes"}),
            grpc::INVALID_ARGUMENT);
  EXPECT_THAT(err_.str(),
              AllOf(StartsWith("INVALID_ARGUMENT: "), HasSubstr("10.0.0.5/33"),
                    Not(HasSubstr("waiting"))));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CliStorageTest, TheDaemonsOwnAddressesAreShown) {
  server_.Start();
  EXPECT_EQ(Run({"fence-client", "--cluster=site-a"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), MatchesRegex("[^ ]+  [0-9a-f.:]+/[0-9]+\n"));
}

TEST_F(CliStorageTest, ReclaimShowsWhatWasUsedBeforeAndIsNow) {
  server_.UseRealTime();
  server_.AddPlain();
  server_.a.SetUsage(server_.image, 64, 16);
  server_.Start();
  EXPECT_EQ(Run({"reclaim", server_.id}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "used before  256.0 MiB\nused now     192.0 MiB\n");
}

TEST_F(CliStorageTest, TrimNeedsTheDaemonOfTheNode) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"trim", server_.id, "--path=/somewhere"}),
            grpc::UNIMPLEMENTED);
  EXPECT_THAT(err_.str(), HasSubstr("--nodeserver"));
}

TEST_F(CliStorageTest, AKeyIsRotatedByTheDaemonOfTheNode) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"rotate-key", absl::StrCat("replicapool/", server_.image)}),
            grpc::UNIMPLEMENTED);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr(" is " + server_.id), HasSubstr("--nodeserver")));
}

TEST_F(CliStorageTest, AGroupIsMadeShownChangedAndDeleted) {
  server_.AddPlain();
  server_.Start();
  EXPECT_EQ(Run({"group", "list"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "there are no volume groups\n");
  EXPECT_EQ(Run({"group", "create", "databases", "--volume", server_.id,
                 "--parameter", "clusterID=site-a", "--parameter",
                 absl::StrCat("pool=", MirroredPair::kPool)}),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("group  0001-"),
                                HasSubstr("\n  " + server_.id + "\n"),
                                HasSubstr("1 volume\n")));
  const std::string made = out_.str();
  const std::string id = made.substr(7, made.find('\n') - 7);
  EXPECT_EQ(Run({"group", "list"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(StartsWith("GROUP "), HasSubstr("\n" + id),
                                HasSubstr("  1        ")));
  EXPECT_EQ(Run({"group", "show", id}), 0) << err_.str();
  EXPECT_EQ(out_.str(), made);
  EXPECT_EQ(Run({"group", "delete", id, "--yes"}), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(Run({"group", "set-members", id}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\n0 volumes\n"));
  EXPECT_EQ(Run({"group", "delete", id, "--yes"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "the group is gone; its volumes stay\n");
}

}  // namespace
}  // namespace addons::testing
