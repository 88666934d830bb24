#include "ceph/librados/progress_callback.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace addons {
namespace {

TEST(ProgressCallbackTest, PassesOnWhatItIsTold) {
  std::vector<uint64_t> seen;
  const ProgressFn progress = [&](uint64_t done, uint64_t total) {
    seen = {done, total};
    return done < 2;
  };
  ProgressCallback callback(progress);
  EXPECT_TRUE(callback.Report(1, 3));
  EXPECT_EQ(seen, (std::vector<uint64_t>{1, 3}));
  EXPECT_FALSE(callback.Report(2, 3));
  EXPECT_NO_THROW(callback.Rethrow());
}

TEST(ProgressCallbackTest, NobodyToTellIsNoReasonToStop) {
  const ProgressFn nobody;
  ProgressCallback callback(nobody);
  EXPECT_TRUE(callback.Report(1, 3));
}

// Report() is noexcept: one that let it through would end this process.
TEST(ProgressCallbackTest, AnExceptionStopsTheCallAndGoesOnAfterIt) {
  int calls = 0;
  const ProgressFn progress = [&](uint64_t, uint64_t) -> bool {
    ++calls;
    throw std::runtime_error("no");
  };
  ProgressCallback callback(progress);
  EXPECT_FALSE(callback.Report(1, 3));
  EXPECT_FALSE(callback.Report(2, 3));  // librbd may ask more often
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(callback.Rethrow(), std::runtime_error);
}

}  // namespace
}  // namespace addons
