#include "volume/contact_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace addons {
namespace {

using std::chrono::seconds;
using Contact = ContactLog::Contact;
using Result = ContactLog::Result;

class ContactLogTest : public ::testing::Test {
 protected:
  Contact LookAt(int second) { return log_.Look(key_, At(second)); }
  static SteadyTime At(int second) { return SteadyTime(seconds(second)); }

  const ContactLog::Key key_{"cluster", "user"};
  ContactLog log_{seconds(2), seconds(30)};
};

TEST_F(ContactLogTest, TakesAnUnknownClusterForOneThatAnswers) {
  EXPECT_EQ(LookAt(0), Contact::kAnswers);
}

TEST_F(ContactLogTest, RemembersAFailure) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  EXPECT_EQ(LookAt(1), Contact::kSilent);
  EXPECT_EQ(LookAt(30), Contact::kSilent);
}

TEST_F(ContactLogTest, OneCallerPerPeriodAsksAgain) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  EXPECT_EQ(LookAt(31), Contact::kSilentProbeDue);
  EXPECT_EQ(LookAt(31), Contact::kSilent);
  EXPECT_EQ(LookAt(60), Contact::kSilent);
  EXPECT_EQ(LookAt(61), Contact::kSilentProbeDue);
}

TEST_F(ContactLogTest, NobodyAsksAgainWhileALookupRuns) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  log_.Begin(key_, At(2));
  EXPECT_EQ(LookAt(100), Contact::kSilent);
}

TEST_F(ContactLogTest, AnAnswerEndsTheSilence) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  log_.Begin(key_, At(2));
  log_.End(key_, At(2), At(3), Result::kAnswered);
  EXPECT_EQ(LookAt(3), Contact::kAnswers);
}

TEST_F(ContactLogTest, ALookupThatHangsIsSilence) {
  log_.Begin(key_, At(10));
  EXPECT_EQ(LookAt(11), Contact::kAnswers);
  EXPECT_EQ(LookAt(12), Contact::kSilent);
}

TEST_F(ContactLogTest, ALookupThatHangsIsNoSilenceWhenALaterOneWasAnswered) {
  log_.Begin(key_, At(10));
  log_.Begin(key_, At(20));
  log_.End(key_, At(20), At(21), Result::kAnswered);
  EXPECT_EQ(LookAt(22), Contact::kAnswers);
}

TEST_F(ContactLogTest, AnOldLookupsFailureSaysNothingAfterANewerAnswer) {
  log_.Begin(key_, At(10));
  log_.Begin(key_, At(20));
  log_.End(key_, At(20), At(21), Result::kAnswered);
  log_.End(key_, At(10), At(25), Result::kNoAnswer);
  EXPECT_EQ(LookAt(25), Contact::kAnswers);
}

TEST_F(ContactLogTest, ALookupThatWasNotMadeSaysNothing) {
  log_.Begin(key_, At(10));
  log_.End(key_, At(10), At(15), Result::kNotAsked);
  EXPECT_EQ(LookAt(15), Contact::kAnswers);
}

TEST_F(ContactLogTest, KeepsUsersAndClustersApart) {
  log_.Begin(key_, At(0));
  log_.End(key_, At(0), At(1), Result::kNoAnswer);
  EXPECT_EQ(log_.Look({"cluster", "other"}, At(1)), Contact::kAnswers);
  EXPECT_EQ(log_.Look({"other", "user"}, At(1)), Contact::kAnswers);
}

TEST_F(ContactLogTest, ForgetsBeforeItGrowsWithoutBound) {
  for (int i = 0; i < 2000; ++i) {
    const ContactLog::Key key{"cluster", std::to_string(i)};
    log_.Begin(key, At(0));
    log_.End(key, At(0), At(1), Result::kNoAnswer);
  }
  EXPECT_EQ(log_.Look({"cluster", "0"}, At(2)), Contact::kAnswers);
  EXPECT_EQ(log_.Look({"cluster", "1999"}, At(2)), Contact::kSilent);
}

}  // namespace
}  // namespace addons
