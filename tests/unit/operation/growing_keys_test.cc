// Work that learns which keys it needs while it runs.

#include "operation/growing_keys.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/later.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KeysToAddTest, NamesAllKeysWhenSomeAreMissing) {
  EXPECT_EQ(KeysToAdd({"a", "b"}, {"b"}), std::nullopt);
  EXPECT_EQ(KeysToAdd({"a", "b"}, {}), std::nullopt);
  EXPECT_EQ(KeysToAdd({"a"}, {"b", "c"}), (KeySet{"a", "b", "c"}));
}

class GrowingKeysTest : public ::testing::Test {
 protected:
  static OperationSpec Spec() {
    OperationSpec spec;
    spec.keys = {"group"};
    spec.share = WorkerShare::OfCluster(ClusterId("cluster"));
    spec.verb = "modify";
    spec.object = "volume group 'g'";
    spec.parameters = "modify g";
    return spec;
  }
  template <typename Result, typename Work>
  absl::StatusOr<Result> Grow(Work work) {
    return Await(RunWithGrowingKeys<Result>(table_, Spec(), Caller(), work));
  }

  ManualClock clock_;
  OperationTable table_{{}, clock_};
};

TEST_F(GrowingKeysTest, WorkIsRunAgainWithTheKeysThatItAsksFor) {
  std::vector<KeySet> held_by_run;
  const auto result =
      Grow<std::string>([&held_by_run](OperationContext&, const KeySet& held)
                            -> absl::StatusOr<ResultOrKeys<std::string>> {
        held_by_run.push_back(held);
        if (auto keys = KeysToAdd(held, {"b", "c"})) return *std::move(keys);
        return std::string("done");
      });
  ASSERT_OK(result);
  EXPECT_EQ(*result, "done");
  EXPECT_THAT(held_by_run,
              ElementsAre(KeySet{"group"}, KeySet{"b", "c", "group"}));
}

TEST_F(GrowingKeysTest, KeysThatAreNotAskedForAreGivenBack) {
  std::vector<KeySet> held_by_run;
  ASSERT_OK(Grow<int>([&held_by_run](OperationContext&, const KeySet& held)
                          -> absl::StatusOr<ResultOrKeys<int>> {
    held_by_run.push_back(held);
    if (!held.contains("b")) return KeySet{"b"};
    return 1;
  }));
  EXPECT_THAT(held_by_run, ElementsAre(KeySet{"group"}, KeySet{"b"}));
}

TEST_F(GrowingKeysTest, AnErrorIsTheAnswer) {
  EXPECT_THAT(
      Grow<int>([](OperationContext&,
                   const KeySet&) -> absl::StatusOr<ResultOrKeys<int>> {
        return absl::NotFoundError("no such group");
      }),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such group")));
}

TEST_F(GrowingKeysTest, KeysThatNeverSufficeAreAborted) {
  int runs = 0;
  EXPECT_THAT(
      Grow<int>([&runs](OperationContext&,
                        const KeySet&) -> absl::StatusOr<ResultOrKeys<int>> {
        return KeySet{absl::StrCat("key ", ++runs)};
      }),
      StatusIs(absl::StatusCode::kAborted,
               AllOf(HasSubstr("modify volume group 'g'"),
                     HasSubstr("again and again"))));
  EXPECT_EQ(runs, kKeyAttempts);
}

}  // namespace
}  // namespace addons::testing
