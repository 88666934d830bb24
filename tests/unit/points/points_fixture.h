#ifndef ADDONS_TESTS_UNIT_POINTS_POINTS_FIXTURE_H_
#define ADDONS_TESTS_UNIT_POINTS_POINTS_FIXTURE_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "points/make_point.h"
#include "points/prove.h"
#include "points/rollback.h"
#include "replication/look/known_proofs.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {

/// A volume on simulated clusters, in step, of which points are made.
class PointsTest : public VerbsTest {
 protected:
  void SetUp() override {
    AddMirrored(kSmallImage);
    ASSERT_OK(a_.Write(image_, 7));
    ASSERT_OK(Sync());
    world_.AdvanceToSecond(30);
  }
  template <typename Result>
  absl::StatusOr<Result> Called(
      const std::function<absl::StatusOr<Result>(OperationContext&)>& call) {
    absl::StatusOr<Result> result = absl::UnknownError("not called");
    const absl::Status status = Run([&](OperationContext& context) {
      result = call(context);
      return result.status();
    });
    if (!status.ok()) return status;
    return result;
  }
  absl::StatusOr<MadePoint> Make(Daemon& daemon, const std::string& name) {
    return Called<MadePoint>([&](OperationContext& context) {
      return MakePoint(context, daemon.environment(), daemon.Target(id_), name);
    });
  }
  absl::StatusOr<DigestedPoint> Digest(Daemon& daemon,
                                       const std::string& name) {
    return Called<DigestedPoint>([&](OperationContext& context) {
      return DigestPoint(context, daemon.environment(), daemon.Target(id_),
                         name, 0);
    });
  }
  absl::StatusOr<SyncSnapshot> Store(Daemon& daemon, const std::string& name,
                                     const DigestedPoint& digested) {
    return Called<SyncSnapshot>([&](OperationContext& context) {
      return StoreRecord(context, daemon.environment(), daemon.Target(id_),
                         name, digested.snapshot, digested.record);
    });
  }
  absl::StatusOr<Proof> Prove(Daemon& daemon, const std::string& name = "",
                              uint64_t rate = 0) {
    return Called<Proof>([&](OperationContext& context) {
      return ProvePoint(context, daemon.environment(), daemon.Target(id_), name,
                        rate);
    });
  }
  absl::StatusOr<bool> Remove(Daemon& daemon, const std::string& name) {
    return Called<bool>([&](OperationContext& context) {
      return RemovePoint(context, daemon.environment(), daemon.Target(id_),
                         name);
    });
  }
  absl::StatusOr<Rollback> RollBack(Daemon& daemon, const std::string& point,
                                    const std::string& kept = "",
                                    bool only_look = false) {
    return Called<Rollback>([&](OperationContext& context) {
      return RollBackToPoint(context, daemon.environment(), daemon.Target(id_),
                             {point, kept, only_look});
    });
  }
  SeenPoints See(Daemon& daemon) {
    const auto seen = Called<SeenPoints>([&](OperationContext& context) {
      return LookAtPoints(context, daemon.environment(), daemon.Target(id_));
    });
    EXPECT_OK(seen);
    return seen.value_or(SeenPoints());
  }
  std::vector<ListedPoint> List(Daemon& daemon) { return See(daemon).points; }
  absl::Status Sync() {
    const auto made = MakeSync(on_a_);
    return made.ok() ? AwaitSync(on_a_, *made) : made.status();
  }
  /// How often b was asked what comparisons have found.
  int ProofsRead() {
    const std::vector<CallRecord> calls = world_.Calls();
    return static_cast<int>(
        std::count_if(calls.begin(), calls.end(), [](const CallRecord& record) {
          return record.object == kProofsObject && !record.mutation;
        }));
  }
  /// Made, read, stored, and on the other site.
  absl::Status MakeWhole(const std::string& name) {
    world_.AdvanceToSecond(30);
    const auto made = Make(on_a_, name);
    if (!made.ok()) return made.status();
    const auto digested = Digest(on_a_, name);
    if (!digested.ok()) return digested.status();
    const auto stored = Store(on_a_, name, *digested);
    return stored.ok() ? AwaitSync(on_a_, *stored) : stored.status();
  }
};

/// Dies before and after each change of `call`, which a new daemon repeats on
/// the same site until it is OK. `acting()` is the daemon that dies.
template <typename Bench>
void DieAtEachChange(absl::Status (Bench::*call)(Daemon&),
                     const std::function<void(Bench&)>& prepare,
                     const std::function<void(Bench&, Daemon&)>& expect) {
  int changes = 0;
  {
    Bench bench;
    prepare(bench);
    bench.world_.ClearCalls();
    ASSERT_OK((bench.*call)(bench.acting()));
    changes = bench.world_.CountMutations();
  }
  ASSERT_GT(changes, 1);
  for (int k = 1; k <= changes; ++k) {
    for (const bool after : {false, true}) {
      SCOPED_TRACE(absl::StrCat("died ", after ? "after" : "before", " change ",
                                k, " of ", changes));
      Bench bench;
      prepare(bench);
      bench.world_.StrikeAtMutation(k, 0, after);
      EXPECT_THROW((bench.*call)(bench.acting()).IgnoreError(), FakeCrash);
      bench.world_.SetCallHook(nullptr);
      Daemon next(bench.world_, bench.pair_, bench.acting().site());
      absl::Status repeated = (bench.*call)(next);
      for (int i = 0; i < 20 && !repeated.ok(); ++i) {
        bench.world_.Advance(std::chrono::seconds(20));
        repeated = (bench.*call)(next);
      }
      EXPECT_OK(repeated);
      expect(bench, next);
    }
  }
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_POINTS_POINTS_FIXTURE_H_
