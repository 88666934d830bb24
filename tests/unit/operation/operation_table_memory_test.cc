// Calls and operations for which there is no memory, at every place where they
// ask for some. An allocation counter of this program stands for the system.

#include <gtest/gtest.h>

#include <any>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>

#include "operation/operation_table.h"
#include "tests/testing/status_matchers.h"

namespace {

// Of this thread: how many allocations still succeed; negative: all do.
thread_local int allocations_left = -1;

void* Allocate(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): this is operator new
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
// NOLINTBEGIN(cppcoreguidelines-no-malloc)
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace addons {
namespace {

constexpr int kMostAllocations = 300;

OperationSpec Spec() {
  OperationSpec spec;
  spec.keys = {"a key that is too long for a small string: 1",
               "a key that is too long for a small string: 2"};
  spec.share = WorkerShare::OfCluster(
      ClusterId("a cluster whose name is too long for a small string"));
  spec.verb = "a verb that is too long for a small string";
  spec.object = "an object that is too long for a small string";
  spec.parameters = "parameters that are too long for a small string";
  spec.keep_result = true;
  return spec;
}

class OperationTableMemoryTest : public ::testing::Test {
 protected:
  // A call of somebody else on the same objects.
  void ExpectHealthy(int after) {
    OperationSpec spec = Spec();
    spec.verb = "look";  // one that was admitted without memory may still end
    Caller caller;
    caller.deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(5);
    bool ran = false;
    const absl::StatusOr<std::any> result = table_.Run(
        spec, caller, [&](OperationContext&) -> absl::StatusOr<std::any> {
          ran = true;
          return std::any(1);
        });
    ASSERT_OK(result) << after << " allocations";
    EXPECT_TRUE(ran);
    EXPECT_TRUE(table_.List().empty()) << after << " allocations";
  }

  OperationTable table_{OperationLimits(), RealClock()};
};

TEST_F(OperationTableMemoryTest, ACallWithoutMemoryLeavesNothingBehind) {
  int failures = 0;
  for (int allowed = 0; allowed < kMostAllocations; ++allowed) {
    const OperationSpec spec = Spec();
    OperationWork work = [](OperationContext&) -> absl::StatusOr<std::any> {
      return std::any(std::string(100, 'x'));
    };
    const Caller caller{};
    allocations_left = allowed;
    try {
      const auto result = table_.Run(spec, caller, std::move(work));
      allocations_left = -1;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      ++failures;
    }
    ExpectHealthy(allowed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(failures, 5);
  EXPECT_LT(failures, kMostAllocations);
}

TEST_F(OperationTableMemoryTest, AnOperationWithoutMemoryEnds) {
  for (int allowed = 0; allowed < kMostAllocations / 10; ++allowed) {
    const auto result =
        table_.Run(Spec(), Caller(),
                   [allowed](OperationContext&) -> absl::StatusOr<std::any> {
                     allocations_left = allowed;
                     return std::any(std::string(100, 'x'));
                   });
    // The worker is the one that will run the next one, too.
    table_
        .Run(Spec(), Caller(),
             [](OperationContext&) -> absl::StatusOr<std::any> {
               allocations_left = -1;
               return std::any(1);
             })
        .IgnoreError();
    ExpectHealthy(allowed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace addons
