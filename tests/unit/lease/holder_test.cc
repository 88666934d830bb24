#include "lease/holder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/namespace_id.h"

namespace addons {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ProcessIdentity Process(int64_t pid, uint64_t started) {
  return {"host-1", "0f6b2a3c",   "4026531836", pid,
          started,  "4026531840", "fe0e47d1"};
}

ProcessProbe Gone() {
  return [](int64_t) { return ProcessState{false, std::nullopt}; };
}
ProcessProbe StartedAt(std::optional<uint64_t> started) {
  return [started](int64_t) { return ProcessState{true, started}; };
}

TEST(LeaseHolderTest, ACookieSaysWhoWroteIt) {
  const LeaseHolder holder{Process(7, 1234), "default", "promote",
                           "2026-01-31T12:00:00Z", "5ef79ce1"};
  const auto read = ParseLeaseHolder(FormatLeaseHolder(holder));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->process, holder.process);
  EXPECT_EQ(read->instance, "default");
  EXPECT_EQ(read->verb, "promote");
  EXPECT_EQ(read->since, holder.since);
  EXPECT_EQ(read->token, holder.token);
  EXPECT_EQ(DescribeLeaseHolder(*read),
            "'promote' by instance 'default' on host 'host-1' (process 7) "
            "since 2026-01-31T12:00:00Z");
}

TEST(LeaseHolderTest, ACookieIsBoundedAndHasNoForeignFields) {
  const std::string longest(10000, 'x');
  const LeaseHolder holder{{absl::StrCat("a pid=1\n", longest), longest,
                            longest, INT64_MAX, UINT64_MAX, longest, longest},
                           longest,
                           longest,
                           longest,
                           longest};
  const std::string cookie = FormatLeaseHolder(holder);
  EXPECT_LE(cookie.size(), 512U);
  EXPECT_THAT(cookie, Not(HasSubstr("\n")));
  const auto read = ParseLeaseHolder(cookie);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->process.pid, INT64_MAX);
}

TEST(LeaseHolderTest, CookiesOfOthersAreNotOurs) {
  for (const char* const cookie :
       {"", " ", "auto 4711", "rbd-addons-lease-1",
        "rbd-addons-lease-2 pid=1 start=1", "rbd-addons-lease-1 pid=x start=1",
        "rbd-addons-lease-1 pid=1 start=x"}) {
    EXPECT_FALSE(ParseLeaseHolder(cookie).has_value()) << cookie;
  }
}

TEST(LeaseHolderTest, AProcessIsProvenDeadByItsPidOrItsStart) {
  const ProcessIdentity self = Process(9, 99);
  EXPECT_TRUE(ProvenDead(Process(7, 1234), self, Gone()));
  EXPECT_TRUE(ProvenDead(Process(7, 1234), self, StartedAt(1235)));
  EXPECT_FALSE(ProvenDead(Process(7, 1234), self, StartedAt(1234)));
  EXPECT_FALSE(ProvenDead(Process(7, 1234), self, StartedAt(std::nullopt)));
}

TEST(LeaseHolderTest, NothingIsProvenOfAnotherNamespaceBootOrMachine) {
  const ProcessIdentity self = Process(9, 99);
  ProcessIdentity other = Process(7, 1234);
  other.pid_namespace = "4026532000";
  EXPECT_FALSE(ProvenDead(other, self, Gone()));
  other = Process(7, 1234);
  other.boot = "another";
  EXPECT_FALSE(ProvenDead(other, self, Gone()));
  other.boot = "";
  ProcessIdentity unknown = self;
  unknown.boot = "";
  EXPECT_FALSE(ProvenDead(other, unknown, Gone()));
  EXPECT_FALSE(ProvenDead(Process(7, 0), self, Gone()));
  EXPECT_FALSE(SameProcess(other, other));
}

// Two that do not know the same thing of themselves have nothing in common.
TEST(LeaseHolderTest, NothingIsProvenByWhatIsNotKnown) {
  const ProcessIdentity known = Process(7, 1234);
  ASSERT_TRUE(SameProcess(known, known));
  ASSERT_TRUE(ProvenDead(known, known, Gone()));
  const std::vector<std::pair<std::string, void (*)(ProcessIdentity&)>> lacks =
      {{"boot", [](ProcessIdentity& process) { process.boot.clear(); }},
       {"namespace",
        [](ProcessIdentity& process) { process.pid_namespace.clear(); }},
       {"pid", [](ProcessIdentity& process) { process.pid = 0; }},
       {"start", [](ProcessIdentity& process) { process.started = 0; }}};
  for (const auto& [what, forget] : lacks) {
    ProcessIdentity process = known;
    forget(process);
    EXPECT_FALSE(SameProcess(process, process)) << what;
    EXPECT_FALSE(ProvenDead(process, process, Gone())) << what;
  }
}

TEST(LeaseHolderTest, AProcessIsNoOtherOfItsPidOrItsStart) {
  EXPECT_FALSE(SameProcess(Process(7, 1234), Process(8, 1234)));
  EXPECT_FALSE(SameProcess(Process(7, 1234), Process(7, 1235)));
}

TEST(LeaseHolderTest, ANamespaceThatTheKernelDoesNotHaveIsNotNamed) {
  EXPECT_FALSE(NamespaceId("pid").empty());
  EXPECT_EQ(NamespaceId("of another kind"), "");
}

// Who may not signal it knows that it is there.
TEST(LeaseHolderTest, AProcessOfAnotherUserExists) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (getuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    _exit(ProbeProcess(1).exists ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(LeaseHolderTest, ALifeEndsWithItsSignOnOneBootInOneNetwork) {
  const auto gone = [](const std::string& name) { return name == "fe0e47d1"; };
  const auto there = [](const std::string&) { return false; };
  const ProcessIdentity self = {"host-1", "0f6b2a3c",   "4026532000", 1,
                                5,        "4026531840", "anothers"};
  EXPECT_TRUE(LifeEnded(Process(1, 4), self, gone));
  EXPECT_FALSE(LifeEnded(Process(1, 4), self, there));
  for (std::string ProcessIdentity::*const field :
       {&ProcessIdentity::boot, &ProcessIdentity::net_namespace,
        &ProcessIdentity::life}) {
    for (const std::string text : {"", "other"}) {
      ProcessIdentity process = Process(1, 4);
      process.*field = text;
      EXPECT_FALSE(LifeEnded(process, self, gone)) << text;
      // Nor is what neither of them knows the same.
      ProcessIdentity unsure = self;
      if (text.empty()) unsure.*field = text;
      EXPECT_FALSE(LifeEnded(process, unsure, gone)) << text;
    }
  }
}

TEST(LeaseHolderTest, AnInstanceIsKnownByItsNameAsTheCookieWritesIt) {
  LeaseHolder holder{Process(7, 1234), "of site b/2", "promote", "", ""};
  const auto read = ParseLeaseHolder(FormatLeaseHolder(holder));
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(OfInstance(*read, "of site b/2"));
  EXPECT_FALSE(OfInstance(*read, "of site b/3"));
}

TEST(LeaseHolderTest, ThisProcessIsAliveAndTheSame) {
  const ProcessIdentity self = ThisProcess();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_FALSE(self.host.empty());
  EXPECT_TRUE(SameProcess(self, ThisProcess()));
  EXPECT_FALSE(ProvenDead(self, self, ProbeProcess));
  EXPECT_FALSE(self.life.empty());
  EXPECT_FALSE(LifeEnded(self, self, LifeSignIsGone));
  const ProcessState state = ProbeProcess(getpid());
  EXPECT_TRUE(state.exists);
  EXPECT_EQ(state.started, self.started);
  // Pids end below 2^22.
  EXPECT_FALSE(ProbeProcess(1 << 23).exists);
  // Cut to 32 bits they would be pids, too.
  EXPECT_TRUE(ProbeProcess((int64_t{1} << 32) + (1 << 23)).exists);
  EXPECT_TRUE(ProbeProcess(int64_t{1} << 62).exists);
  // A group of processes, of which there is none.
  EXPECT_TRUE(ProbeProcess(-(1 << 23)).exists);
}

}  // namespace
}  // namespace addons
