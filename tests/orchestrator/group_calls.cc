#include "tests/orchestrator/group_calls.h"

#include <chrono>
#include <utility>

namespace addons::testing {
namespace {

/// What the suites of groups have.
struct GroupAccess : GroupSitesTest {
  using GroupSitesTest::DemoteGroup;
  using GroupSitesTest::DisableGroup;
  using GroupSitesTest::EnableGroup;
  using GroupSitesTest::GroupInfo;
  using GroupSitesTest::MakeReplicatedGroup;
  using GroupSitesTest::PromoteGroup;
  using GroupSitesTest::ResyncGroup;
};

/// The calls about a group, answered by the daemon of one site.
class GroupCalls final : public ReplicationCalls {
 public:
  GroupCalls(std::string site, TestGroup group, std::shared_ptr<CallLog> log)
      : site_(std::move(site)),
        group_(std::move(group)),
        log_(std::move(log)) {}

  grpc::Status Enable(const Parameters& parameters) override {
    return Logged("Enable",
                  GroupAccess::EnableGroup(site_, group_, parameters));
  }
  grpc::Status Disable(const Parameters& /*parameters*/) override {
    return Logged("Disable", GroupAccess::DisableGroup(site_, group_));
  }
  grpc::Status Promote(const Parameters& /*parameters*/, bool force) override {
    return Logged(force ? "Promote by force" : "Promote",
                  GroupAccess::PromoteGroup(site_, group_, force,
                                            std::chrono::minutes(3)));
  }
  grpc::Status Demote(const Parameters& /*parameters*/) override {
    return Logged("Demote", GroupAccess::DemoteGroup(site_, group_));
  }
  grpc::Status Resync(const Parameters& /*parameters*/, bool force,
                      bool* ready) override {
    const grpc::Status answer =
        GroupAccess::ResyncGroup(site_, group_, force, ready);
    return Logged(*ready ? "Resync, ready" : "Resync, not ready", answer);
  }
  grpc::Status GetInfo(Info* info) override {
    return Logged("GetVolumeReplicationInfo",
                  GroupAccess::GroupInfo(site_, group_, info));
  }

 private:
  grpc::Status Logged(const std::string& call, const grpc::Status& answer) {
    log_->Add(call, answer);
    return answer;
  }

  const std::string site_;
  const TestGroup group_;
  const std::shared_ptr<CallLog> log_;
};

}  // namespace

TestGroup MakeReplicatedTestGroup(size_t members) {
  return GroupAccess::MakeReplicatedGroup(members);
}

std::unique_ptr<ReplicationCalls> MakeGroupCalls(std::string site,
                                                 TestGroup group,
                                                 std::shared_ptr<CallLog> log) {
  return std::make_unique<GroupCalls>(std::move(site), std::move(group),
                                      std::move(log));
}

}  // namespace addons::testing
