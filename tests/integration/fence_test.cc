// Hosts with addresses of their own are fenced and unfenced while they write.

#include <chrono>
#include <csignal>
#include <future>
#include <regex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/cluster/fence_bed.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

constexpr int64_t kFiveYears = 157784760;

class FenceTest : public FenceBedTest {
 protected:
  static void SetUpTestSuite() {
    MakeBed(HostNetwork::Family::kIPv4);
    if (!HasBed()) return;
    first_ = &bed().AddHost(1, 10);
    neighbour_ = &bed().AddHost(1, 20);
    other_ = &bed().AddHost(2, 10);
  }
  void SetUp() override {
    FenceBedTest::SetUp();
    if (!HasBed()) return;
    for (const Host* host : {first_, neighbour_, other_}) {
      ASSERT_TRUE(host->WritesNow());
    }
    begun_ = steady_clock::now();
  }
  static std::string One(const Host& host) { return host.address() + "/32"; }

  /// The addresses of the clients that have the host's image open.
  static std::string ClientOf(int network, int host) {
    const std::string status =
        bed().Testbed("rbd", {"a", "status",
                              "replicapool/of-" + std::to_string(network) +
                                  "-" + std::to_string(host)});
    std::smatch match;
    EXPECT_TRUE(std::regex_search(status, match, std::regex("watcher=(\\S+)")))
        << status;
    return match[1];
  }

  static Host* first_;
  static Host* neighbour_;  // in the same /24
  static Host* other_;
};
Host* FenceTest::first_ = nullptr;
Host* FenceTest::neighbour_ = nullptr;
Host* FenceTest::other_ = nullptr;

TEST_F(FenceTest, OneHost) {
  ASSERT_TRUE(Fence({first_->address()}).ok());
  const auto fenced = steady_clock::now();
  ExpectShutOut(*first_, fenced);
  EXPECT_THAT(List(), ElementsAre(One(*first_)));
  EXPECT_GT(Left("range " + first_->address() + ":0/32"), kFiveYears - 60);
  EXPECT_EQ(first_->WritesSince(fenced), 0);
  ASSERT_TRUE(Unfence({first_->address()}).ok());
  EXPECT_TRUE(first_->WritesNow());
  EXPECT_THAT(List(), IsEmpty());
  ExpectUnharmed(*other_);
  ExpectUnharmed(*neighbour_);
}

TEST_F(FenceTest, ARangeWithHostBits) {
  const std::string spelled = Address(1, 77) + "/24";
  ASSERT_TRUE(Fence({spelled}).ok());
  const auto fenced = steady_clock::now();
  ExpectShutOut(*first_, fenced);
  ExpectShutOut(*neighbour_, fenced);
  EXPECT_THAT(List(), ElementsAre(bed().network().Range(1)));
  ASSERT_TRUE(Unfence({spelled}).ok());
  EXPECT_TRUE(first_->WritesNow() && neighbour_->WritesNow());
  ExpectUnharmed(*other_);
}

TEST_F(FenceTest, SeveralRanges) {
  const std::vector<std::string> ranges = {One(*first_), neighbour_->address(),
                                           "203.0.113.0/24", "fd77::/64",
                                           "203.0.113.7"};
  ASSERT_TRUE(Fence(ranges).ok());
  const auto fenced = steady_clock::now();
  ExpectShutOut(*first_, fenced);
  ExpectShutOut(*neighbour_, fenced);
  EXPECT_THAT(List(), ElementsAre(One(*first_), One(*neighbour_),
                                  "203.0.113.0/24", "fd77::/64"));
  ASSERT_TRUE(Unfence(ranges).ok());
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_TRUE(first_->WritesNow() && neighbour_->WritesNow());
  ExpectUnharmed(*other_);
}

TEST_F(FenceTest, TwoThousandAddressesInOneRequest) {
  std::vector<std::string> ranges;
  for (int i = 0; i < 2000; ++i) {
    ranges.push_back("203.0." + std::to_string(i / 250) + "." +
                     std::to_string(i % 250));
  }
  ASSERT_TRUE(Fence(ranges).ok());
  EXPECT_EQ(List().size(), ranges.size());
  ASSERT_TRUE(Unfence(ranges).ok());
  EXPECT_THAT(Keys(), IsEmpty());
  ExpectUnharmed(*other_);
}

TEST_F(FenceTest, SaysWhatIsInForceWhenOneAdditionFails) {
  // Four looks, then three additions at the same time.
  daemon().Stop(SIGTERM);
  ASSERT_TRUE(
      daemon().Start({{"RBD_ADDONS_FAULTS", "rados_mon_command#6:errno=110"}}));
  const std::vector<std::string> ranges = {One(*first_), One(*neighbour_),
                                           "203.0.113.0/24"};
  const grpc::Status status = Fence(ranges);
  EXPECT_FALSE(status.ok());
  const std::vector<std::string> there = List();
  ASSERT_THAT(there, SizeIs(2));
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("in force: " + there[0] + ", " + there[1] + ";"),
                    HasSubstr("not in force")));
  EXPECT_TRUE(Fence(ranges).ok());
  EXPECT_THAT(List(), UnorderedElementsAreArray(ranges));
  daemon().Stop(SIGTERM);
}

TEST_F(FenceTest, TheDaemonsClockDoesNotMatter) {
#if defined(ADDONS_SANITIZED)
  GTEST_SKIP() << "sanitizers want to be loaded first";
#endif
  // Ten years late, and ten years early.
  for (const std::string offset : {"-3650d", "+3650d"}) {
    daemon().Stop(SIGTERM);
    const std::string before = daemon().Log();
    ASSERT_TRUE(
        daemon().Start({{"LD_PRELOAD", "/usr/$LIB/faketime/libfaketime.so.1"},
                        {"FAKETIME", offset},
                        {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}}));
    AddEntry(One(*first_), 600);
    EXPECT_TRUE(Fence({One(*first_), One(*neighbour_)}).ok());
    EXPECT_GT(Left("range " + first_->address() + ":0/32"), kFiveYears - 60);
    EXPECT_THAT(List(), ElementsAre(One(*first_), One(*neighbour_)));
    EXPECT_TRUE(Unfence({One(*first_), One(*neighbour_)}).ok());
    EXPECT_THAT(Keys(), IsEmpty());
    const std::string year = daemon().Log().substr(before.size(), 4);
    EXPECT_NE(year, absl::FormatTime("%Y", absl::Now(), absl::UTCTimeZone()));
  }
  daemon().Stop(SIGTERM);
}

TEST_F(FenceTest, AnEntryThatEndsEarlyIsExtendedWithoutAnOpenMoment) {
  for (const std::string& range : {One(*first_), bed().network().Range(1)}) {
    const std::string key = "range " + range.substr(0, range.find('/')) + ":0" +
                            range.substr(range.find('/'));
    AddEntry(range, 12);
    ASSERT_TRUE(first_->FailsNow());
    const auto blocked = steady_clock::now();
    ASSERT_TRUE(Fence({range}).ok());
    EXPECT_GT(Left(key), kFiveYears - 60);
    EXPECT_THAT(Keys(), ElementsAre(key)) << "no helper is left";
    // Beyond the old end, and beyond the monitor's next look at it.
    EXPECT_TRUE(Eventually(
        [&] { return steady_clock::now() > blocked + seconds(18); }));
    EXPECT_TRUE(first_->FailsNow());
    EXPECT_EQ(first_->WritesSince(blocked), 0);
    ASSERT_TRUE(Unfence({range}).ok());
    EXPECT_TRUE(first_->WritesNow());
  }
  ExpectUnharmed(*other_);
}

TEST_F(FenceTest, AnEntryWithHostBitsBlocksAndIsUnfenced) {
  AddEntry(Address(1, 77) + "/24", 600);
  EXPECT_TRUE(first_->FailsNow());
  EXPECT_THAT(List(), ElementsAre(bed().network().Range(1)));
  ASSERT_TRUE(Unfence({bed().network().Range(1)}).ok());
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_TRUE(first_->WritesNow());
}

TEST_F(FenceTest, TheOneAddressFormIsUnfencedToo) {
  bed().Ceph({"osd", "blocklist", "add", first_->address(), "600"});
  EXPECT_TRUE(first_->FailsNow());
  ASSERT_TRUE(Fence({One(*first_)}).ok());
  EXPECT_EQ(Keys().size(), 2U);
  ASSERT_TRUE(Unfence({One(*first_)}).ok());
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_TRUE(first_->WritesNow());
}

TEST_F(FenceTest, EntriesOfSingleClientsGoOnlyWhenAskedFor) {
  const std::string client = ClientOf(1, 10);
  bed().Ceph({"osd", "blocklist", "add", client, "600"});
  EXPECT_TRUE(first_->WritesNow()) << "with another client";
  ASSERT_TRUE(Fence({One(*first_)}).ok());
  ASSERT_TRUE(Unfence({One(*first_)}).ok());
  EXPECT_THAT(Keys(), ElementsAre(client));
  EXPECT_THAT(List(), IsEmpty());
  ASSERT_TRUE(Unfence({One(*first_)}, {{"removeClientEntries", "true"}}).ok());
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FenceTest, NarrowerOnesGoOnlyWhenAskedFor) {
  const std::string range = bed().network().Range(1);
  ASSERT_TRUE(Fence({One(*first_)}).ok());
  ASSERT_TRUE(Fence({range}).ok());
  EXPECT_TRUE(neighbour_->FailsNow());
  ASSERT_TRUE(Unfence({range}).ok());
  EXPECT_THAT(List(), ElementsAre(One(*first_)));
  EXPECT_TRUE(neighbour_->WritesNow());
  EXPECT_TRUE(first_->FailsNow());
  ASSERT_TRUE(Unfence({range}, {{"removeContained", "true"}}).ok());
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_TRUE(first_->WritesNow());
}

TEST_F(FenceTest, OneAddressOfAFencedRangeStaysFenced) {
  ASSERT_TRUE(Fence({bed().network().Range(1)}).ok());
  const auto fenced = steady_clock::now();
  const grpc::Status status = Unfence({One(*first_)});
  EXPECT_EQ(status.error_code(), Code::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr(bed().network().Range(1)));
  ExpectShutOut(*first_, fenced);
  ExpectShutOut(*neighbour_, fenced);
  EXPECT_THAT(List(), ElementsAre(bed().network().Range(1)));
}

TEST_F(FenceTest, ReplaysInAnyOrderEndRight) {
  const std::string range = bed().network().Range(1);
  ASSERT_TRUE(Fence({range}).ok());
  ASSERT_TRUE(Fence({One(*first_)}).ok());
  ASSERT_TRUE(Unfence({range}).ok());
  for (int round = 0; round < 3; ++round) {
    // As after a restart of the operator: both at once.
    auto fence =
        std::async(std::launch::async, [] { return Fence({One(*first_)}); });
    auto unfence =
        std::async(std::launch::async, [&] { return Unfence({range}); });
    EXPECT_TRUE(fence.get().ok());
    EXPECT_TRUE(unfence.get().ok());
    EXPECT_THAT(List(), ElementsAre(One(*first_)));
  }
  EXPECT_TRUE(first_->FailsNow());
  EXPECT_TRUE(neighbour_->WritesNow());
  ExpectUnharmed(*other_);
}

TEST_F(FenceTest, AStoppedOsdDoesNotHoldItUp) {
  bed().Testbed("stop", {"a", "osd.2"});
  const auto begin = steady_clock::now();
  const grpc::Status status = Fence({One(*first_)});
  const auto fenced = steady_clock::now();
  bed().Testbed("cont", {"a", "osd.2"});
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_LT(fenced - begin, seconds(15));
  EXPECT_THAT(daemon().Log(), HasSubstr("OSDs that did not answer"));
  EXPECT_TRUE(first_->FailsNow());
  EXPECT_EQ(first_->WritesSince(fenced), 0);
  ExpectUnharmed(*other_);
}

TEST_F(FenceTest, TwoDaemonsAtOnce) {
  const auto second = bed().NewDaemon("second");
  ASSERT_TRUE(second->Start()) << second->Log();
  for (int round = 0; round < 5; ++round) {
    AddEntry(One(*first_), 600);
    ASSERT_TRUE(first_->FailsNow());
    const auto blocked = steady_clock::now();
    auto one =
        std::async(std::launch::async, [] { return Fence({One(*first_)}); });
    const grpc::Status two = Fence({One(*first_)}, {}, second.get());
    const grpc::Status first = one.get();
    EXPECT_TRUE(first.ok() || two.ok()) << first.error_message() << "\n"
                                        << two.error_message();
    // Who lost the race is told so, and is right when it asks again.
    EXPECT_TRUE(Fence({One(*first_)}).ok());
    EXPECT_TRUE(Fence({One(*first_)}, {}, second.get()).ok());
    EXPECT_EQ(first_->WritesSince(blocked), 0);
    EXPECT_THAT(Keys(), ElementsAre("range " + first_->address() + ":0/32"));
    ASSERT_TRUE(Unfence({One(*first_)}).ok());
    EXPECT_TRUE(first_->WritesNow());
  }
  ExpectUnharmed(*other_);
}

TEST_F(FenceTest, ClientsAreTheAddressesThatCephSees) {
  EXPECT_THAT(Clients(), ElementsAre(Address(0, 1) + "/32"));
}

}  // namespace
}  // namespace addons::testing
