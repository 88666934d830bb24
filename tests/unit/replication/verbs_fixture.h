#ifndef ADDONS_TESTS_UNIT_REPLICATION_VERBS_FIXTURE_H_
#define ADDONS_TESTS_UNIT_REPLICATION_VERBS_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "ceph/mirror_clients.h"
#include "replication/destination.h"
#include "replication/steps/demote.h"
#include "replication/steps/disable.h"
#include "replication/steps/enable.h"
#include "replication/steps/info.h"
#include "replication/steps/pause.h"
#include "replication/steps/promote.h"
#include "replication/steps/resync.h"
#include "replication/steps/sync.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {

inline constexpr auto kFailedPrecondition =
    absl::StatusCode::kFailedPrecondition;
inline constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

inline constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";

/// The daemon of one site. It knows its own cluster alone, as the daemons of
/// two sites do, so that a volume is found on the thread of the test.
class Daemon {
 public:
  Daemon(FakeWorld& world, const MirroredPair& pair, FakeSite& site)
      : site_(site),
        clusters_(world),
        environment_(resolver_, config_, world, {}) {
    AddClusters(0);
    dir_.Write("cluster-mapping.json", pair.MappingJson());
    // Only tests of that want the first call to be answered early.
    environment_.options.first_answer = std::chrono::hours(1);
    // In the order of the test.
    environment_.aside = [](const std::string& /*fsid*/,
                            const std::function<void()>& job) {
      FakeWorld::RunAside(job);
    };
  }

  /// So many besides its own are configured, of sites that are none of its.
  void AddClusters(int others) {
    std::string config = absl::StrCat(
        R"([{"clusterID": ")", site_.cluster_id(), R"(", "monitors": [")",
        site_.cluster_id(), R"(:6789"]},{"clusterID": ")", site_.cluster_id(),
        R"(-ns", "monitors": [")", site_.cluster_id(),
        R"(:6789"], "rbd": {"radosNamespace": "tenant1"}})");
    for (int i = 0; i < others; ++i) {
      absl::StrAppend(&config, R"(,{"clusterID": "other-)", i,
                      R"(", "monitors": ["other-)", i, R"(:6789"]})");
    }
    dir_.Write("config.json", absl::StrCat(config, "]"));
  }
  FakeSite& site() { return site_; }
  ConfigStore& config() { return config_; }
  FakeClusterProvider& clusters() { return clusters_; }
  ReplicationEnvironment& environment() { return environment_; }
  ReplicationOptions& options() { return environment_.options; }
  VolumeTarget Target(const std::string& volume_id) const {
    return {VolumeHandle(volume_id), site_.user()};
  }

 private:
  FakeSite& site_;
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_;
  Resolver resolver_{config_, clusters_};
  ReplicationEnvironment environment_;
};

/// A mirrored pair with one volume, primary on a, and the verbs as an operator
/// calls them on either site.
class VerbsTest : public ::testing::Test {
 protected:
  explicit VerbsTest(MirroredPairOptions options = {})
      : pair_(world_, options) {}
  void TearDown() override {
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
  }

  void AddMirrored(uint64_t bytes = uint64_t{256} << 20) {
    id_ = pair_.AddMirroredVolume(a_, kUuid, bytes);
  }
  void AddPlain() { id_ = pair_.AddVolume(a_, kUuid); }

  /// Runs one verb for one caller and answers what the caller would hear, also
  /// when that is because of its deadline.
  template <typename Verb>
  absl::Status Run(const Verb& verb) {
    TestOperationContext context(world_);
    context.SetDeadline(deadline_);
    if (script_) script_(context);
    const SteadyTime begin = world_.Now();
    context.RunAgainInsteadOfWaiting();
    absl::Status status = verb(context);
    while (RunsAgain(status)) {
      status = context.Rest();
      if (status.ok()) status = verb(context);
    }
    took_ = world_.Now() - begin;
    steps_ = context.steps();
    clock_text_ = context.clock_text();
    progress_ = context.progress();
    mutations_begun_ = context.mutations_begun();
    held_worker_ = context.held_worker();
    rested_ = context.rested();
    if (absl::IsCancelled(status) &&
        status.message() == TestOperationContext::kNobodyWaits) {
      return context.pending().ok() ? absl::AbortedError("still running")
                                    : context.pending();
    }
    return status;
  }

  /// "03:12:40 UTC", so long from now.
  std::string In(SteadyDuration duration) {
    return FormatUtcTimeOfDay(absl::FromChrono(world_.WallNow() + duration));
  }

  absl::Status Promote(Daemon& daemon, Force force = Force::kNo,
                       const ParameterMap& parameters = {}) {
    return Run([&](OperationContext& context) {
      return addons::Promote(context, daemon.environment(),
                             {daemon.Target(id_), force,
                              *ReplicationParameters::Parse(parameters)});
    });
  }
  absl::Status Demote(Daemon& daemon) {
    return Run([&](OperationContext& context) {
      return addons::Demote(context, daemon.environment(),
                            {daemon.Target(id_)});
    });
  }
  absl::Status Enable(Daemon& daemon, const ParameterMap& parameters = {}) {
    return Run([&](OperationContext& context) {
      return addons::Enable(
          context, daemon.environment(),
          {daemon.Target(id_), *ReplicationParameters::Parse(parameters)});
    });
  }
  absl::Status Disable(Daemon& daemon, const ParameterMap& parameters = {}) {
    return Run([&](OperationContext& context) {
      return addons::Disable(
          context, daemon.environment(),
          {daemon.Target(id_), *ReplicationParameters::Parse(parameters)});
    });
  }
  absl::StatusOr<ResyncResult> Resync(Daemon& daemon,
                                      Force force = Force::kNo) {
    absl::StatusOr<ResyncResult> result = absl::UnknownError("not called");
    const absl::Status status = Run([&](OperationContext& context) {
      result = addons::Resync(context, daemon.environment(),
                              {daemon.Target(id_), force});
      return result.status();
    });
    if (!status.ok()) return status;
    return result;
  }
  absl::StatusOr<PauseReport> Pause(Daemon& daemon) {
    return RunPause(daemon, &PauseSchedules);
  }
  absl::StatusOr<PauseReport> Resume(Daemon& daemon) {
    return RunPause(daemon, &ResumeSchedules);
  }
  absl::StatusOr<SyncSnapshot> MakeSync(Daemon& daemon) {
    absl::StatusOr<SyncSnapshot> made = absl::UnknownError("not called");
    const absl::Status status = Run([&](OperationContext& context) {
      made =
          MakeSyncSnapshot(context, daemon.environment(), daemon.Target(id_));
      return made.status();
    });
    if (!status.ok()) return status;
    return made;
  }
  absl::Status AwaitSync(Daemon& daemon, const SyncSnapshot& snapshot) {
    return Run([&](OperationContext& context) {
      return addons::AwaitSync(context, daemon.environment(),
                               daemon.Target(id_), snapshot)
          .status();
    });
  }
  absl::StatusOr<ReplicationInfo> Info(Daemon& daemon) {
    return GetReplicationInfo(daemon.environment(), daemon.Target(id_),
                              RealClock().Now() + std::chrono::minutes(1));
  }

  absl::StatusOr<PauseReport> RunPause(
      Daemon& daemon,
      absl::StatusOr<PauseReport> (*verb)(OperationContext&,
                                          ReplicationEnvironment&,
                                          const VolumeTarget&)) {
    absl::StatusOr<PauseReport> report = absl::UnknownError("not called");
    const absl::Status status = Run([&](OperationContext& context) {
      report = verb(context, daemon.environment(), daemon.Target(id_));
      return report.status();
    });
    if (!status.ok()) return status;
    return report;
  }

  /// 32 objects, of which b copies 4 in a second: StopMidCopy().
  static constexpr uint64_t kSmallImage = uint64_t{256} << 10;

  MirrorSnapshot Newest(FakeSite& site) {
    return site.Snapshots(image_).back();
  }
  OmapValues Journal(FakeSite& site) {
    return site.Omap(MirroredPair::kPool, "",
                     absl::StrCat("csi.volume.", kUuid));
  }
  /// b has copied some of what a contains now (content 2), and not all of it.
  void StopMidCopy(MirrorSnapshotKind kind, DaemonState state) {
    world_.Advance(std::chrono::seconds(40));
    b_.SetCopySpeed(4);
    ASSERT_OK(a_.Write(image_, 2));
    if (kind == MirrorSnapshotKind::kNonPrimaryDemoted) {
      a_.Demote(image_);
    } else {
      a_.CreateMirrorSnapshot(image_);
    }
    world_.Advance(std::chrono::seconds(4));
    ASSERT_EQ(Newest(b_).kind, kind);
    ASSERT_FALSE(Newest(b_).complete);
    b_.SetMirrorDaemon(state);
  }
  /// Site a is lost, long ago.
  void LoseA() {
    a_.SetClusterUp(false);
    world_.Advance(std::chrono::minutes(3));
  }
  /// Every call of `call` answers `error` from now on, `times` times.
  void Fail(const std::string& call, int error, int times) {
    const auto left = std::make_shared<std::atomic<int>>(times);
    world_.SetCallHook(
        [call, error, left](absl::string_view, absl::string_view made, bool) {
          return made == call && (*left)-- > 0 ? error : 0;
        });
  }

  /// librbd's lock handling puts rbd-mirror on a's blocklist during `call`.
  void BlocklistMirrorAfter(const std::string& call) {
    const auto cluster = pair_.cluster(a_);
    const auto pool = cluster->OpenPool(pair_.pool_id(a_), "", Access::kRead);
    ASSERT_OK(pool);
    const auto clients = ListMirrorClients(**pool);
    ASSERT_OK(clients);
    ASSERT_FALSE(clients->empty());
    world_.SetCallHook(
        nullptr, [this, call, address = clients->front().address](
                     absl::string_view, absl::string_view made, bool) {
          if (made == call) {
            a_.AddBlocklistEntry(address, std::chrono::minutes(5));
          }
          return 0;
        });
  }
  /// What rbd-mirror of this cluster does not report now tells nothing.
  bool Disturbed(Daemon& daemon) {
    return daemon.environment().timeline.Disturbed(
        pair_.cluster(daemon.site())->fsid());
  }

  FakeWorld world_;
  MirroredPair pair_;
  FakeSite& a_ = pair_.a();
  FakeSite& b_ = pair_.b();
  Daemon on_a_{world_, pair_, a_};
  Daemon on_b_{world_, pair_, b_};
  const std::string image_ = MirroredPair::ImageOf(kUuid);
  std::string id_;

  // The next call.
  SteadyDuration deadline_ = std::chrono::seconds(60);
  std::function<void(TestOperationContext&)> script_;
  // The last one.
  SteadyDuration took_{};
  std::vector<std::string> steps_;
  std::string clock_text_;  // what was told last
  std::vector<std::pair<uint64_t, uint64_t>> progress_;
  int mutations_begun_ = 0;
  SteadyDuration held_worker_{};  // waiting, before the first change
  SteadyDuration rested_{};       // waiting, without a worker
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_REPLICATION_VERBS_FIXTURE_H_
