// Answers of monitors and managers. The first line names the command, the rest
// is the answer: what is not understood is an error, never an empty list.

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ceph/cluster_services.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/answering_cluster.h"
#include "volume/pools.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr char kSpec[] = "replicapool/image";
constexpr char kSchedules[] = "rbd mirror snapshot schedule list";

/// True: go on.
bool Read(const absl::Status& status) {
  if (status.ok()) return true;
  CheckError(status, absl::StatusCode::kInternal);
  return false;
}

void CheckServices(const std::vector<LiveService>& services,
                   const std::string& answer) {
  for (const LiveService& service : services) {
    std::set<IpAddress> addresses(service.addresses.begin(),
                                  service.addresses.end());
    CheckThat(addresses.size() == service.addresses.size(), "each address once",
              answer);
  }
}

void CheckOsdMap(Cluster& cluster, const std::string& answer) {
  const auto map = ReadOsdMap(cluster);
  if (!Read(map.status())) return;
  CheckServices(map->osds, answer);
  for (const LiveService& osd : map->osds) {
    CheckThat(!osd.addresses.empty(), "an OSD that is up is somewhere", answer);
  }
  for (const RbdPool& pool : map->pools) {
    CheckThat(pool.placement_groups >= 1, "a pool has placement groups",
              answer);
  }
}

void CheckQuorum(Cluster& cluster, const std::string& answer) {
  const auto monitors = ReadQuorum(cluster);
  if (!Read(monitors.status())) return;
  CheckServices(*monitors, answer);
  for (const LiveService& monitor : *monitors) {
    CheckThat(!monitor.addresses.empty(), "a monitor is somewhere", answer);
  }
}

void CheckManager(Cluster& cluster, const std::string& answer) {
  const auto managers = ReadManager(cluster);
  if (!Read(managers.status())) return;
  CheckServices(*managers, answer);
  CheckThat(managers->size() <= 1, "one manager is active", answer);
}

void CheckPools(Cluster& cluster, const std::string& answer) {
  const auto pools = ListPools(cluster);
  if (!Read(pools.status())) return;
  auto list = nlohmann::json::array();
  for (const auto& [id, name] : *pools) {
    list.push_back({{"poolnum", id}, {"poolname", name}});
  }
  AnsweringCluster again;
  again.Answer("osd lspools", list.dump());
  const auto read = ListPools(again);
  CheckThat(read.ok() && *read == *pools,
            "written and read again the pools are the same", answer);
}

void CheckSchedules(Cluster& cluster, const std::string& answer) {
  const auto applied = ReadAppliedSchedules(cluster, kSpec, "10");
  if (!Read(applied.status())) return;
  for (const auto* schedules : {&applied->own, &applied->inherited}) {
    for (const SnapshotSchedule& schedule : *schedules) {
      CheckThat(schedule.interval > minutes(0), "an interval is not zero",
                answer);
      const auto interval = ParseInterval(schedule.interval_text);
      CheckThat(interval.ok() && *interval == schedule.interval,
                "an interval is what its text says", schedule.interval_text);
      if (!schedule.start.has_value()) continue;
      CheckThat(schedule.start->of_day >= seconds(0) &&
                    schedule.start->of_day < std::chrono::hours(24),
                "a start time lies within a day", schedule.start_time);
    }
  }
}

void CheckTasks(const std::string& answer) {
  const auto task = FindFlattenTask(answer, kSpec);
  if (!Read(task.status()) || !task->has_value()) return;
  if ((*task)->progress.has_value()) {
    CheckThat(*(*task)->progress >= 0 && *(*task)->progress <= 1,
              "progress is from 0 to 1", answer);
  }
}

void Check(absl::string_view input) {
  const auto [command, answer] = SplitInput(input, "\n");
  AnsweringCluster cluster;
  cluster.Answer(command, answer);
  if (command == "osd dump") {
    CheckOsdMap(cluster, answer);
  } else if (command == "quorum_status") {
    CheckQuorum(cluster, answer);
  } else if (command == "mgr dump") {
    CheckManager(cluster, answer);
  } else if (command == "osd lspools") {
    CheckPools(cluster, answer);
  } else if (command == kSchedules) {
    CheckSchedules(cluster, answer);
  } else if (command == "rbd task list") {
    CheckTasks(answer);
  }
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
