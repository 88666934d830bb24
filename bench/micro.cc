// What the daemon does without Ceph, piece by piece: Google Benchmark's table.
// `scripts/bench.sh --micro` builds and runs it.

#include <benchmark/benchmark.h>

#include <any>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cidr.h"
#include "base/clock.h"
#include "ceph/blocklist.h"
#include "operation/operation_context.h"
#include "operation/operation_table.h"
#include "replication/look/report.h"
#include "replication/replication.pb.h"
#include "rpc/redact.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

constexpr char kHandle[] =
    "0001-0024-fed5480a-f00f-417a-a51d-31d8a8144c03-0000000000000003-"
    "eba90b33-0156-4207-87b4-789db0f0ac08";

// --- ids

void ParseVolumeId(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(VolumeId::Parse(kHandle));
  }
}
BENCHMARK(ParseVolumeId);

void WriteVolumeId(benchmark::State& state) {
  const VolumeId id = *VolumeId::Parse(kHandle);
  for (auto _ : state) {
    benchmark::DoNotOptimize(id.ToString());
  }
}
BENCHMARK(WriteVolumeId);

// --- redaction: of every call that is logged at trace level

void RedactPromote(benchmark::State& state) {
  ::replication::PromoteVolumeRequest request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id(
      kHandle);
  auto& secrets = *request.mutable_secrets();
  secrets["userID"] = "csi-rbd-provisioner";
  secrets["userKey"] = std::string(40, 'x');
  auto& parameters = *request.mutable_parameters();
  for (int i = 0; i < 8; ++i) {
    parameters[absl::StrCat("parameter-", i)] = "a value of usual length";
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(Redacted(request));
  }
}
BENCHMARK(RedactPromote);

// --- what Ceph says

void ParseMirrorStatus(benchmark::State& state) {
  const std::string description =
      R"(replaying, {"bytes_per_second":1048576.0,"bytes_per_snapshot":)"
      R"(4194304.0,"last_snapshot_bytes":4194304,"last_snapshot_sync_seconds")"
      R"(:4,"local_snapshot_timestamp":1763899200,"remote_snapshot_timestamp")"
      R"(:1763899500,"replay_state":"syncing","seconds_until_synced":3,)"
      R"("syncing_percent":40,"syncing_snapshot_timestamp":1763899500})";
  for (auto _ : state) {
    benchmark::DoNotOptimize(ParseSyncNumbers(description));
  }
}
BENCHMARK(ParseMirrorStatus);

/// `entries` of the kind that fences of single addresses make.
std::string BlocklistOf(int64_t entries) {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < entries; ++i) {
    lines.push_back(absl::StrCat(
        R"({"addr":"10.)", i / 65536 % 256, ".", i / 256 % 256, ".", i % 256,
        R"(:0/0","until":"2026-11-23T12:00:00.0+0000"})"));
  }
  return absl::StrCat("[", absl::StrJoin(lines, ","), "]\n\n[]\n");
}

void ParseBlocklist(benchmark::State& state) {
  const std::string text = BlocklistOf(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(Blocklist::Parse(text));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ParseBlocklist)->Arg(64)->Arg(10000);

// --- ranges of addresses

void ParseCidr(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Cidr::Parse("2001:db8:1234::/48"));
  }
}
BENCHMARK(ParseCidr);

void MergeCidrs(benchmark::State& state) {
  std::vector<Cidr> ranges;
  for (int64_t i = 0; i < state.range(0); ++i) {
    ranges.push_back(*Cidr::Parse(
        absl::StrCat("10.", i % 256, ".", i / 256 % 256, ".0/24")));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(Merged(ranges));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(MergeCidrs)->Arg(64)->Arg(10000);

// --- the table of operations

OperationSpec SpecOf(int64_t volume) {
  OperationSpec spec;
  spec.verb = "promote";
  spec.object = absl::StrCat("volume '", volume, "'");
  spec.keys = {absl::StrCat("volume ", volume)};
  spec.keep_result = true;
  return spec;
}

Caller CallerWithDeadline() {
  Caller caller;
  caller.request_id = "bench-1";
  caller.deadline = RealClock().Now() + std::chrono::hours(1);
  return caller;
}

/// A table in which that many operations wait for a state, each with one call.
class Waiting {
 public:
  explicit Waiting(int64_t count) : table_(Limits(), RealClock()) {
    for (int64_t i = 0; i < count; ++i) {
      table_.Start(
          SpecOf(i), CallerWithDeadline(),
          [](OperationContext& context) -> absl::StatusOr<std::any> {
            context.Step("waiting for the demotion");
            return context.LookAgainAfter(std::chrono::hours(1));
          },
          [](const absl::StatusOr<std::any>&) {});
    }
    while (Parked() < count) {
      RealClock().SleepFor(std::chrono::milliseconds(10), {});
    }
  }

  OperationTable& table() { return table_; }

 private:
  static OperationLimits Limits() {
    OperationLimits limits;
    limits.control.queued = 20000;
    return limits;
  }
  int64_t Parked() const {
    int64_t parked = 0;
    for (const OperationInfo& info : table_.List()) {
      if (info.between_looks) ++parked;
    }
    return parked;
  }

  OperationTable table_;
};

/// One operation from its call to its answer, on a worker, while others wait.
void RunOperationBeside(benchmark::State& state) {
  Waiting waiting(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        waiting.table().Run(SpecOf(-1), CallerWithDeadline(),
                            [](OperationContext&) -> absl::StatusOr<std::any> {
                              return std::any(1);
                            }));
  }
}
BENCHMARK(RunOperationBeside)->Arg(0)->Arg(10000)->UseRealTime();

void ListOperations(benchmark::State& state) {
  Waiting waiting(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(waiting.table().List());
  }
}
BENCHMARK(ListOperations)->Arg(100)->Arg(10000);

}  // namespace
}  // namespace addons

BENCHMARK_MAIN();
