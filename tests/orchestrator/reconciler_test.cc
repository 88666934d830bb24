// The model of the operator, on scripted answers: its rules are what the
// operator was seen to do.

#include "tests/orchestrator/reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/orchestrator/cleanup_rule.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Optional;
using Code = grpc::StatusCode;
using Role = VolumeReplication::Role;
using Value = VolumeReplication::Condition::Value;

/// Answers in the order in which they were scripted, OK when nothing is left.
class ScriptedCalls final : public ReplicationCalls {
 public:
  void Script(std::vector<Code> codes) {
    answers_.insert(answers_.end(), codes.begin(), codes.end());
  }
  /// What was called since the last look.
  std::vector<std::string> Called() { return std::exchange(called_, {}); }

  grpc::Status Enable(const Parameters& /*parameters*/) override {
    return Answer("Enable");
  }
  grpc::Status Disable(const Parameters& /*parameters*/) override {
    return Answer("Disable");
  }
  grpc::Status Promote(const Parameters& /*parameters*/, bool force) override {
    return Answer(force ? "Promote by force" : "Promote");
  }
  grpc::Status Demote(const Parameters& /*parameters*/) override {
    return Answer("Demote");
  }
  grpc::Status Resync(const Parameters& /*parameters*/, bool force,
                      bool* ready) override {
    *ready = ready_;
    return Answer(force ? "Resync by force" : "Resync");
  }
  grpc::Status GetInfo(Info* info) override {
    info->set_status(health_);
    info->set_status_message("as told");
    return Answer("GetInfo");
  }

  bool ready_ = false;
  Info::Status health_ = Info::HEALTHY;

 private:
  grpc::Status Answer(const std::string& call) {
    called_.push_back(call);
    if (answers_.empty()) return grpc::Status::OK;
    const Code code = answers_.front();
    answers_.pop_front();
    return code == Code::OK ? grpc::Status::OK
                            : grpc::Status(code, "as scripted");
  }

  std::deque<Code> answers_;
  std::vector<std::string> called_;
};

class ReconcilerTest : public ::testing::Test {
 protected:
  void Want(Role role) { object_.spec.wanted = role; }
  std::optional<Reconciler::Delay> Reconcile() {
    return reconciler_.Reconcile(&object_);
  }
  std::string Reason(const std::string& type) {
    return object_.status.conditions[type].reason;
  }

  ScriptedCalls calls_;
  Reconciler reconciler_{&calls_};
  VolumeReplication object_;
};

TEST_F(ReconcilerTest, PrimaryIsEnabledPromotedAndAskedAbout) {
  Want(Role::kPrimary);
  EXPECT_THAT(Reconcile(), Optional(hours(1)));
  EXPECT_THAT(calls_.Called(), ElementsAre("Enable", "Promote", "GetInfo"));
  EXPECT_EQ(object_.status.state, Role::kPrimary);
  EXPECT_TRUE(object_.Is("Completed", Value::kTrue));
  EXPECT_TRUE(object_.Is("Degraded", Value::kFalse));
  EXPECT_TRUE(object_.Is("Resyncing", Value::kFalse));
  EXPECT_TRUE(object_.Is("Replicating", Value::kTrue));
}

TEST_F(ReconcilerTest, OnlyAFailedPreconditionIsForced) {
  Want(Role::kPrimary);
  for (const Code code : {Code::UNAVAILABLE, Code::ABORTED,
                          Code::DEADLINE_EXCEEDED, Code::INTERNAL}) {
    calls_.Script({Code::OK, code});
    EXPECT_TRUE(Reconcile().has_value());
    EXPECT_THAT(calls_.Called(), ElementsAre("Enable", "Promote"));
    EXPECT_EQ(object_.status.state, Role::kUnknown);
    EXPECT_EQ(Reason("Completed"), "FailedToPromote");
  }
  calls_.Script({Code::OK, Code::FAILED_PRECONDITION, Code::UNAVAILABLE});
  EXPECT_TRUE(Reconcile().has_value());
  EXPECT_THAT(calls_.Called(),
              ElementsAre("Enable", "Promote", "Promote by force"));
  EXPECT_TRUE(object_.Is("Completed", Value::kFalse));
  calls_.Script({Code::OK, Code::FAILED_PRECONDITION});
  Reconcile();
  EXPECT_THAT(calls_.Called(),
              ElementsAre("Enable", "Promote", "Promote by force", "GetInfo"));
  EXPECT_EQ(object_.status.state, Role::kPrimary);
}

TEST_F(ReconcilerTest, AnEnableThatIsRefusedIsNotValidated) {
  Want(Role::kPrimary);
  calls_.Script({Code::FAILED_PRECONDITION});
  Reconcile();
  EXPECT_THAT(calls_.Called(), ElementsAre("Enable"));
  EXPECT_TRUE(object_.Is("Validated", Value::kFalse));
  EXPECT_EQ(Reason("Validated"), "PrerequisiteNotMet");
  calls_.Script({Code::UNAVAILABLE});
  Reconcile();
  EXPECT_TRUE(object_.Is("Validated", Value::kTrue));
  EXPECT_EQ(Reason("Degraded"), "Error");
}

TEST_F(ReconcilerTest, APrimaryIsNeverPromotedAgain) {
  Want(Role::kPrimary);
  Reconcile();
  calls_.Called();
  calls_.health_ = ReplicationCalls::Info::ERROR;
  Reconcile();
  EXPECT_THAT(calls_.Called(), ElementsAre("GetInfo"));
  EXPECT_EQ(object_.status.state, Role::kPrimary);
  EXPECT_TRUE(object_.Is("Replicating", Value::kFalse));
}

TEST_F(ReconcilerTest, WhatTheInfoCallAnswersDecidesWhenItIsAskedAgain) {
  Want(Role::kPrimary);
  object_.spec.parameters["schedulingInterval"] = "10m";
  calls_.Script({Code::OK, Code::OK, Code::UNAVAILABLE,
                 Code::FAILED_PRECONDITION, Code::OK, Code::NOT_FOUND,
                 Code::UNIMPLEMENTED});
  EXPECT_THAT(Reconcile(), Optional(kFirstErrorGap));
  EXPECT_TRUE(object_.Is("Replicating", Value::kUnknown));
  EXPECT_EQ(object_.status.state, Role::kPrimary);
  EXPECT_THAT(Reconcile(), Optional(kFirstErrorGap * 2));
  EXPECT_THAT(Reconcile(), Optional(minutes(5)));
  EXPECT_TRUE(object_.Is("Replicating", Value::kTrue));
  // NOT_FOUND leaves the condition as it was.
  EXPECT_THAT(Reconcile(), Optional(minutes(5)));
  EXPECT_TRUE(object_.Is("Replicating", Value::kTrue));
  EXPECT_EQ(Reconcile(), std::nullopt);
  calls_.Called();
  EXPECT_EQ(Reconcile(), std::nullopt);
  EXPECT_THAT(calls_.Called(), ElementsAre());
  reconciler_.Changed();
  EXPECT_THAT(Reconcile(), Optional(minutes(5)));
}

TEST_F(ReconcilerTest, TheSchedulingIntervalSaysHowOftenTheInfoIsAskedFor) {
  VolumeReplication::Spec spec;
  EXPECT_EQ(InfoInterval(spec), hours(1));
  spec.parameters["schedulingInterval"] = "soon";
  EXPECT_EQ(InfoInterval(spec), hours(1));
  spec.parameters["schedulingInterval"] = "1m";
  EXPECT_EQ(InfoInterval(spec), minutes(1));
  spec.parameters["schedulingInterval"] = "2m";
  EXPECT_EQ(InfoInterval(spec), minutes(1));
  spec.parameters["schedulingInterval"] = "1d";
  EXPECT_EQ(InfoInterval(spec), hours(12));
}

TEST_F(ReconcilerTest, ASecondaryIsDemotedFirstAndResyncedFromThenOn) {
  EXPECT_THAT(Reconcile(), Optional(kSecondaryGap));
  EXPECT_THAT(calls_.Called(), ElementsAre("Demote"));
  EXPECT_EQ(object_.status.state, Role::kSecondary);
  EXPECT_TRUE(object_.Is("Degraded", Value::kTrue));
  EXPECT_FALSE(SecondaryMayBeCleanedUp(object_)) << "nothing has begun yet";

  EXPECT_THAT(Reconcile(), Optional(kResyncGap));
  EXPECT_THAT(calls_.Called(), ElementsAre("Demote", "Resync"));
  EXPECT_TRUE(object_.Is("Resyncing", Value::kTrue));
  EXPECT_TRUE(SecondaryMayBeCleanedUp(object_)) << "it has begun";

  object_.spec.auto_resync = true;
  calls_.ready_ = true;
  EXPECT_EQ(Reconcile(), std::nullopt);
  EXPECT_THAT(calls_.Called(), ElementsAre("Demote", "Resync by force"));
  EXPECT_TRUE(object_.Is("Degraded", Value::kFalse));
  EXPECT_TRUE(object_.Is("Resyncing", Value::kFalse));
  EXPECT_TRUE(SecondaryMayBeCleanedUp(object_)) << "it is in step";
}

TEST_F(ReconcilerTest, AResyncThatFailsIsRepeatedEvenlyAndCleansNothingUp) {
  Reconcile();
  for (const Code code : {Code::FAILED_PRECONDITION, Code::UNAVAILABLE}) {
    calls_.Script({Code::OK, code});
    EXPECT_THAT(Reconcile(), Optional(kSecondaryGap));
    EXPECT_EQ(Reason("Completed"), "FailedToResync");
    EXPECT_TRUE(object_.Is("Resyncing", Value::kFalse));
    EXPECT_FALSE(SecondaryMayBeCleanedUp(object_));
  }
}

TEST_F(ReconcilerTest, ADemotionThatFailsIsRepeatedSlowerAndSlower) {
  calls_.Script({Code::FAILED_PRECONDITION, Code::UNAVAILABLE, Code::ABORTED});
  EXPECT_THAT(Reconcile(), Optional(milliseconds(5)));
  EXPECT_EQ(Reason("Completed"), "FailedToDemote");
  EXPECT_THAT(Reconcile(), Optional(milliseconds(10)));
  EXPECT_THAT(Reconcile(), Optional(milliseconds(20)));
  EXPECT_THAT(Reconcile(), Optional(kSecondaryGap));
  // Success has reset it, but while the status says Secondary the gap is flat.
  calls_.Script({Code::UNAVAILABLE});
  EXPECT_THAT(Reconcile(), Optional(kSecondaryGap));
}

TEST_F(ReconcilerTest, TheGapHasABound) {
  Want(Role::kPrimary);
  std::optional<Reconciler::Delay> gap;
  for (int i = 0; i < 40; ++i) {
    calls_.Script({Code::ABORTED});
    gap = Reconcile();
  }
  EXPECT_THAT(gap, Optional(seconds(1000)));
}

TEST_F(ReconcilerTest, APromotionOfASecondaryThatFailsIsRepeatedEvenly) {
  Reconcile();
  Want(Role::kPrimary);
  for (int i = 0; i < 3; ++i) {
    calls_.Script({Code::OK, Code::UNAVAILABLE});
    EXPECT_THAT(Reconcile(), Optional(kSecondaryGap));
  }
}

TEST_F(ReconcilerTest, DeletingIsRepeatedUntilItIsOffOrGone) {
  Want(Role::kPrimary);
  Reconcile();
  calls_.Called();
  object_.deleted = true;
  calls_.Script(
      {Code::FAILED_PRECONDITION, Code::UNAVAILABLE, Code::NOT_FOUND});
  EXPECT_TRUE(Reconcile().has_value());
  EXPECT_TRUE(Reconcile().has_value());
  EXPECT_FALSE(object_.gone);
  EXPECT_EQ(Reconcile(), std::nullopt);
  EXPECT_TRUE(object_.gone);
  EXPECT_THAT(calls_.Called(), ElementsAre("Disable", "Disable", "Disable"));
  EXPECT_EQ(Reconcile(), std::nullopt);
  EXPECT_THAT(calls_.Called(), ElementsAre());
}

TEST(CleanupRuleTest, APrimaryIsNotCleanedUp) {
  VolumeReplication object;
  object.spec.wanted = Role::kPrimary;
  object.status.state = Role::kPrimary;
  object.status.conditions["Completed"].value = Value::kTrue;
  object.status.conditions["Degraded"].value = Value::kFalse;
  object.status.conditions["Resyncing"].value = Value::kFalse;
  EXPECT_FALSE(SecondaryMayBeCleanedUp(object));
}

}  // namespace
}  // namespace addons::testing
