#include "volume/silent_clusters.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace addons {
namespace {

using std::chrono::seconds;
using Contact = SilentClusters::Contact;
using Result = SilentClusters::Result;

class SilentClustersTest : public ::testing::Test {
 protected:
  Contact LookAt(int second) { return log_.Look(key_, At(second)); }
  static SteadyTime At(int second) { return SteadyTime(seconds(second)); }

  const SilentClusters::Key key_{ClusterId("cluster"), "user"};
  SilentClusters log_{seconds(2), seconds(30)};
};

TEST_F(SilentClustersTest,
       SilenceIsCountedFromTheFirstQuestionWithoutAnAnswer) {
  EXPECT_FALSE(log_.SilentSince(key_).has_value());
  log_.Begin(key_, At(0));
  EXPECT_EQ(log_.SilentSince(key_), At(0)) << "asked, and nothing yet";
  log_.End(key_, At(0), At(5), Result::kNoAnswer);
  log_.Begin(key_, At(60));
  log_.End(key_, At(60), At(65), Result::kNoAnswer);
  EXPECT_EQ(log_.SilentSince(key_), At(0));
  log_.Begin(key_, At(70));
  log_.End(key_, At(70), At(71), Result::kAnswered);
  EXPECT_FALSE(log_.SilentSince(key_).has_value());
}

TEST_F(SilentClustersTest, AQuestionOfLongAgoIsNoSilence) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(5), Result::kNoAnswer);
  log_.Begin(key_, At(400));
  EXPECT_EQ(log_.SilentSince(key_), At(400));
  log_.End(key_, At(400), At(405), Result::kNoAnswer);
  EXPECT_EQ(log_.SilentSince(key_), At(400));
}

TEST_F(SilentClustersTest, TakesAnUnknownClusterForOneThatAnswers) {
  EXPECT_EQ(LookAt(0), Contact::kAnswers);
}

TEST_F(SilentClustersTest, RemembersAFailure) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  EXPECT_EQ(LookAt(1), Contact::kSilent);
  EXPECT_EQ(LookAt(30), Contact::kSilent);
}

TEST_F(SilentClustersTest, OneCallerPerPeriodAsksAgain) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  EXPECT_EQ(LookAt(31), Contact::kSilentProbeDue);
  EXPECT_EQ(LookAt(31), Contact::kSilent);
  EXPECT_EQ(LookAt(60), Contact::kSilent);
  EXPECT_EQ(LookAt(61), Contact::kSilentProbeDue);
}

TEST_F(SilentClustersTest, NobodyAsksAgainWhileALookupRuns) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  log_.Begin(key_, At(2));
  EXPECT_EQ(LookAt(100), Contact::kSilent);
}

TEST_F(SilentClustersTest, AnAnswerEndsTheSilence) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  log_.Begin(key_, At(2));
  log_.End(key_, At(2), At(3), Result::kAnswered);
  EXPECT_EQ(LookAt(3), Contact::kAnswers);
}

TEST_F(SilentClustersTest, ALookupThatHangsIsSilence) {
  log_.Begin(key_, At(10));
  EXPECT_EQ(LookAt(11), Contact::kAnswers);
  EXPECT_EQ(LookAt(12), Contact::kSilent);
}

TEST_F(SilentClustersTest,
       ALookupThatHangsIsNoSilenceWhenALaterOneWasAnswered) {
  log_.Begin(key_, At(10));
  log_.Begin(key_, At(20));
  log_.End(key_, At(20), At(21), Result::kAnswered);
  EXPECT_EQ(LookAt(22), Contact::kAnswers);
}

TEST_F(SilentClustersTest, AnOldLookupsFailureSaysNothingAfterANewerAnswer) {
  log_.Begin(key_, At(10));
  log_.Begin(key_, At(20));
  log_.End(key_, At(20), At(21), Result::kAnswered);
  log_.End(key_, At(10), At(25), Result::kNoAnswer);
  EXPECT_EQ(LookAt(25), Contact::kAnswers);
}

TEST_F(SilentClustersTest, ALookupThatWasNotMadeSaysNothing) {
  log_.Begin(key_, At(10));
  log_.End(key_, At(10), At(15), Result::kNotAsked);
  EXPECT_EQ(LookAt(15), Contact::kAnswers);
}

TEST_F(SilentClustersTest, KeepsUsersAndClustersApart) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  EXPECT_EQ(log_.Look({ClusterId("cluster"), "other"}, At(1)),
            Contact::kAnswers);
  EXPECT_EQ(log_.Look({ClusterId("other"), "user"}, At(1)), Contact::kAnswers);
}

TEST_F(SilentClustersTest, ForgetsBeforeItGrowsWithoutBound) {
  for (int i = 0; i < 2000; ++i) {
    const SilentClusters::Key key{ClusterId("cluster"), std::to_string(i)};
    log_.Begin(key, At(0));
    log_.End(key, At(0), At(1), Result::kNoAnswer);
  }
  EXPECT_EQ(log_.Look({ClusterId("cluster"), "0"}, At(2)), Contact::kAnswers);
  EXPECT_EQ(log_.Look({ClusterId("cluster"), "1999"}, At(2)), Contact::kSilent);
}

}  // namespace
}  // namespace addons
