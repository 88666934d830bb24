#ifndef ADDONS_TESTS_UNIT_VOLUMEGROUP_GROUPS_FIXTURE_H_
#define ADDONS_TESTS_UNIT_VOLUMEGROUP_GROUPS_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "replication/environment.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/paced_clock.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/handles.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/unit/volumegroup/mirroring_of.h"
#include "volumegroup/create.h"
#include "volumegroup/delete.h"
#include "volumegroup/get.h"
#include "volumegroup/list.h"
#include "volumegroup/modify.h"
#include "volumegroup/verb_support.h"

namespace addons::testing {

/// Writes down what it is asked, and may refuse it or pass it on.
class RecordingReplication {
 public:
  /// They refer to this.
  MemberReplication Steps() {
    const auto step = [this](const char* call, bool mutating,
                             MemberReplication::Step MemberReplication::*on) {
      return [this, call, mutating, on](OperationContext& context,
                                        const MembershipChange& change,
                                        const SeenMirroring& seen) {
        EXPECT_EQ(context.mutating(), mutating);
        const absl::Status status = Record(call, change);
        return status.ok() && next.*on ? (next.*on)(context, change, seen)
                                       : status;
      };
    };
    return {step("check", false, &MemberReplication::check),
            step("join", true, &MemberReplication::join),
            step("leave", true, &MemberReplication::leave)};
  }

  std::vector<std::string> calls;
  std::string fails_at;    // "join": that call answers INTERNAL
  MemberReplication next;  // whom they are passed on to

 private:
  absl::Status Record(const std::string& call, const MembershipChange& change) {
    calls.push_back(absl::StrCat(call, " +", change.added.size(), " -",
                                 change.removed.size()));
    return call == fails_at ? absl::InternalError("replication says no")
                            : absl::OkStatus();
  }
};

/// One daemon. It knows the clusters in `config`.
class GroupDaemon {
 public:
  GroupDaemon(FakeWorld& world, FakeSite& site, const std::string& config,
              const std::string& mapping)
      : site_(site),
        clusters_(world),
        mirroring_(resolver_, config_, world, {}) {
    dir_.Write("config.json", config);
    dir_.Write("cluster-mapping.json", mapping);
    environment_.options.concurrency = 4;
  }

  FakeSite& site() { return site_; }
  VolumeGroupEnvironment& environment() { return environment_; }
  ReplicationEnvironment& mirroring() { return mirroring_; }
  RecordingReplication& replication() { return replication_; }
  void Configure(const std::string& config) {
    dir_.Write("config.json", config);
  }

 private:
  FakeSite& site_;
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_;
  Resolver resolver_{config_, clusters_};
  ReplicationEnvironment mirroring_;
  RecordingReplication replication_;
  VolumeGroupEnvironment environment_{
      resolver_, config_, clusters_, mirroring_.leases, replication_.Steps(),
      {}};
};

/// A pair of sites and the verbs as a server runs them, without a table: the
/// keys that a verb asks for are given to it.
class GroupTest : public ::testing::Test {
 protected:
  static constexpr char kPool[] = "replicapool";

  void TearDown() override {
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
  }

  static std::string Uuid(int number) {
    return absl::StrFormat("5ef79ce1-81e8-439b-8405-%012d", number);
  }
  std::string AddVolume(int number) {
    return pair_.AddVolume(a_, Uuid(number), uint64_t{64} << 20);
  }
  std::vector<std::string> AddVolumes(int count) {
    std::vector<std::string> ids;
    for (int i = 1; i <= count; ++i) ids.push_back(AddVolume(i));
    return ids;
  }
  static std::string Image(int number) {
    return MirroredPair::ImageOf(Uuid(number));
  }

  static GroupParameterMap DefaultParameters() {
    return {{"clusterID", "site-a"}, {"pool", kPool}};
  }

  template <typename Verb>
  absl::StatusOr<GroupAnswer> Run(const Verb& verb) {
    KeySet held;
    for (int attempt = 0; attempt < 5; ++attempt) {
      TestOperationContext context(world_);
      context.SetClock(clock_);
      absl::StatusOr<ResultOrKeys<GroupAnswer>> outcome = verb(context, held);
      if (!outcome.ok()) return outcome.status();
      if (std::holds_alternative<GroupAnswer>(*outcome)) {
        return std::get<GroupAnswer>(*outcome);
      }
      EXPECT_EQ(context.mutations_begun(), 0);
      held = std::get<KeySet>(*outcome);
    }
    return absl::AbortedError("never enough keys");
  }

  absl::StatusOr<GroupAnswer> Create(
      GroupDaemon& daemon, const std::string& name,
      const std::vector<std::string>& volume_ids,
      const GroupParameterMap& map = DefaultParameters()) {
    auto parameters = GroupParameters::Parse(map);
    if (!parameters.ok()) return parameters.status();
    return Run([&](OperationContext& context, const KeySet& held) {
      return CreateGroup(
          context, daemon.environment(),
          {name, *parameters, map, Handles(volume_ids), daemon.site().user()},
          held);
    });
  }
  absl::StatusOr<GroupAnswer> Modify(
      GroupDaemon& daemon, const std::string& group_id,
      const std::vector<std::string>& volume_ids) {
    return Run([&](OperationContext& context, const KeySet& held) {
      return ModifyGroup(context, daemon.environment(),
                         {GroupHandle(group_id),
                          Handles(volume_ids),
                          {},
                          daemon.site().user()},
                         held);
    });
  }
  absl::Status Delete(GroupDaemon& daemon, const std::string& group_id) {
    TestOperationContext context(world_);
    context.SetClock(clock_);
    return DeleteGroup(context, daemon.environment(),
                       {GroupHandle(group_id), daemon.site().user()});
  }
  absl::StatusOr<GroupAnswer> Get(GroupDaemon& daemon,
                                  const std::string& group_id) {
    return GetGroup(daemon.environment(), GroupHandle(group_id),
                    daemon.site().user(),
                    RealClock().Now() + std::chrono::minutes(1));
  }

  static std::string UuidOf(const std::string& id) {
    return id.substr(id.size() - 36);
  }
  static std::string ObjectOf(const std::string& group_id) {
    return absl::StrCat("csi.volume.group.", UuidOf(group_id));
  }
  OmapValues Journal(const std::string& group_id) {
    return a_.Omap(kPool, "", ObjectOf(group_id));
  }
  bool HasJournal(const std::string& group_id) {
    return a_.HasOmap(kPool, "", ObjectOf(group_id));
  }
  OmapValues Directory(const std::string& instance = "default") {
    return a_.Omap(kPool, "", absl::StrCat("csi.groups.", instance));
  }
  /// The members that the journal has, sorted.
  std::vector<std::string> Members(const std::string& group_id) {
    std::vector<std::string> members;
    for (const auto& [key, value] : Journal(group_id)) {
      if (absl::StartsWith(key, "0001-")) members.push_back(key);
    }
    return members;
  }
  std::map<std::string, std::vector<std::string>> RbdGroups() {
    return a_.Groups(kPool, "");
  }
  static std::vector<std::string> Ids(const GroupAnswer& group) {
    std::vector<std::string> ids;
    for (const auto& volume : group.volumes) ids.push_back(volume.volume_id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  int CountReads() {
    int reads = 0;
    for (const CallRecord& call : world_.Calls()) {
      reads += absl::StartsWith(call.call, "rados_read") ||
                       absl::StartsWith(call.call, "rbd_")
                   ? 1
                   : 0;
    }
    return reads;
  }

  FakeWorld world_;
  PacedClock clock_{world_};
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  FakeSite& b_ = pair_.b();
  static constexpr char kConfigA[] =
      R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]},
          {"clusterID": "site-a-ns", "monitors": ["site-a:6789"],
           "rbd": {"radosNamespace": "tenant1"}}])";
  static constexpr char kConfigB[] =
      R"([{"clusterID": "site-b", "monitors": ["site-b:6789"]}])";
  GroupDaemon on_a_{world_, a_, kConfigA, "[]"};
  GroupDaemon also_on_a_{world_, a_, kConfigA, "[]"};
  GroupDaemon on_b_{world_, b_, kConfigB, pair_.MappingJson()};
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_VOLUMEGROUP_GROUPS_FIXTURE_H_
