#ifndef ADDONS_TESTS_UNIT_NETWORKFENCE_FENCE_FIXTURE_H_
#define ADDONS_TESTS_UNIT_NETWORKFENCE_FENCE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "networkfence/fence.h"
#include "networkfence/list_fences.h"
#include "networkfence/unfence.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/linux_tree.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {

/// The daemon of site a.
class FenceDaemon {
 public:
  FenceDaemon(FakeWorld& world, FakeSite& site) : clusters_(world) {
    dir_.Write("config.json",
               absl::StrCat(R"([{"clusterID": ")", site.cluster_id(),
                            R"(", "monitors": [")", site.cluster_id(),
                            R"(:6789"]}])"));
    dir_.Write("cluster-mapping.json",
               R"([{"clusterIDMapping": {"site-a": "site-b"}}])");
    node_.AddOtherBus();
    environment_.options.roots = node_.roots();
  }
  FenceEnvironment& environment() { return environment_; }
  /// What the kernel of its node shows: nothing is mapped.
  LinuxTree& node() { return node_; }

 private:
  const TempDir dir_;
  LinuxTree node_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_;
  BoundedThreads threads_{"test"};
  FenceEnvironment environment_{config_, clusters_, threads_, {}};
};

/// The verbs of fencing on a simulated cluster, as an operator calls them.
class FenceFixture : public ::testing::Test {
 protected:
  using Texts = std::vector<std::string>;
  using Parameters = std::map<std::string, std::string>;
  static constexpr std::chrono::seconds kFiveYears{157784760};

  void TearDown() override {
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
  }

  static FenceParameters Parse(Parameters parameters) {
    parameters["clusterID"] = "site-a";
    return *FenceParameters::Parse(parameters);
  }
  FenceTarget Target() { return {ClusterId("site-a"), a_.user()}; }

  absl::Status Fence(const Texts& ranges, const Parameters& parameters = {}) {
    return FenceWith(daemon_, ranges, parameters);
  }
  absl::Status FenceWith(FenceDaemon& daemon, const Texts& ranges,
                         const Parameters& parameters = {}) {
    TestOperationContext context(world_);
    const absl::Status status = addons::Fence(
        context, daemon.environment(),
        {Target(), Merged(*ParseRanges(ranges)), Parse(parameters)});
    mutations_begun_ = context.mutations_begun();
    return status;
  }
  absl::Status Unfence(const Texts& ranges, const Parameters& parameters = {}) {
    TestOperationContext context(world_);
    const absl::Status status =
        addons::Unfence(context, daemon_.environment(),
                        {Target(), *ParseRanges(ranges), Parse(parameters)});
    mutations_begun_ = context.mutations_begun();
    return status;
  }
  std::string List() {
    const auto ranges = ListFences(daemon_.environment(), Target());
    EXPECT_OK(ranges);
    return ranges.ok() ? JoinRanges(*ranges) : "";
  }

  /// The keys in the blocklist.
  Texts Keys() const {
    Texts keys;
    for (const auto& [key, until] : a_.Blocklist()) keys.push_back(key);
    return keys;
  }
  /// How long an entry has left, by the cluster's clock; 0: it is not there.
  std::chrono::seconds Left(const std::string& key) const {
    const auto entries = a_.Blocklist();
    const auto it = entries.find(key);
    if (it == entries.end()) return std::chrono::seconds(0);
    return std::chrono::duration_cast<std::chrono::seconds>(
        it->second - (world_.WallNow() + skew_));
  }
  void ExpectFiveYears(const std::string& key) const {
    EXPECT_GT(Left(key), kFiveYears - std::chrono::minutes(5)) << key;
  }
  int CountCommands(absl::string_view part) const {
    int count = 0;
    for (const CallRecord& call : world_.Calls()) {
      count += absl::StrContains(call.object, part) ? 1 : 0;
    }
    return count;
  }

  int CountCalls(absl::string_view name) const {
    int count = 0;
    for (const CallRecord& call : world_.Calls()) {
      count += call.call == name ? 1 : 0;
    }
    return count;
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  FenceDaemon daemon_{world_, a_};
  std::chrono::seconds skew_{0};  // of the cluster's clock
  int mutations_begun_ = 0;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_NETWORKFENCE_FENCE_FIXTURE_H_
