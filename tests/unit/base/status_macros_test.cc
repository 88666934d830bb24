#include "base/status_macros.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;

absl::Status Return(const absl::Status& status, bool& went_on) {
  ADDONS_RETURN_IF_ERROR(status);
  went_on = true;
  return absl::OkStatus();
}

TEST(ReturnIfErrorTest, LeavesWithTheError) {
  bool went_on = false;
  EXPECT_THAT(Return(absl::NotFoundError("gone"), went_on),
              StatusIs(absl::StatusCode::kNotFound, "gone"));
  EXPECT_FALSE(went_on);
}

TEST(ReturnIfErrorTest, GoesOnWhenOk) {
  bool went_on = false;
  EXPECT_OK(Return(absl::OkStatus(), went_on));
  EXPECT_TRUE(went_on);
}

absl::StatusOr<int> Sum(const absl::StatusOr<int>& a,
                        const absl::StatusOr<int>& b) {
  ADDONS_ASSIGN_OR_RETURN(const int x, a);
  ADDONS_ASSIGN_OR_RETURN(const int y, b);
  return x + y;
}

TEST(AssignOrReturnTest, AssignsTheValues) {
  const absl::StatusOr<int> sum = Sum(2, 3);
  ASSERT_OK(sum);
  EXPECT_EQ(*sum, 5);
}

TEST(AssignOrReturnTest, LeavesWithTheFirstError) {
  EXPECT_THAT(Sum(absl::AbortedError("a"), absl::InternalError("b")),
              StatusIs(absl::StatusCode::kAborted, "a"));
  EXPECT_THAT(Sum(2, absl::InternalError("b")),
              StatusIs(absl::StatusCode::kInternal, "b"));
}

absl::StatusOr<std::unique_ptr<int>> Move(
    absl::StatusOr<std::unique_ptr<int>> value) {
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<int> moved, std::move(value));
  return moved;
}

TEST(AssignOrReturnTest, MovesWhatCannotBeCopied) {
  const absl::StatusOr<std::unique_ptr<int>> moved =
      Move(std::make_unique<int>(4));
  ASSERT_OK(moved);
  EXPECT_EQ(**moved, 4);
}

TEST(AnnotateTest, PutsTheContextBeforeTheMessage) {
  EXPECT_THAT(
      Annotate(absl::NotFoundError("no pool"), "while resolving"),
      StatusIs(absl::StatusCode::kNotFound, "while resolving: no pool"));
}

TEST(AnnotateTest, LeavesOkAlone) {
  EXPECT_OK(Annotate(absl::OkStatus(), "while resolving"));
}

TEST(AnnotateTest, KeepsThePayloads) {
  absl::Status status = absl::InternalError("failed");
  status.SetPayload("errno", absl::Cord("16"));
  const absl::Status annotated = Annotate(status, "while promoting");
  ASSERT_TRUE(annotated.GetPayload("errno").has_value());
  EXPECT_EQ(*annotated.GetPayload("errno"), "16");
}

}  // namespace
}  // namespace addons
