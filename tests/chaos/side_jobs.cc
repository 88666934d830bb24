#include "tests/chaos/side_jobs.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "tests/cluster/volume_group_client.h"
#include "tests/rpc/fence_call.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr char kSite[] = "a";
constexpr seconds kDeadline{60};

/// Of its own each time, so that a daemon that was killed does not spoil it.
std::shared_ptr<grpc::Channel> Daemon() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(
      "unix:" + Bed().Path(absl::StrCat(kSite, ".sock")),
      grpc::InsecureChannelCredentials(), arguments);
}

FenceAnswer CallFenceOf(const std::string& method,
                        std::vector<std::string> ranges) {
  const CephUserRef user = Bed().User(kSite);
  FenceAsk ask;
  ask.cidrs = std::move(ranges);
  ask.deadline = kDeadline;
  ask.user_id = user->id;
  ask.user_key = user->key.Reveal();
  return CallFence(Daemon(), method, ask);
}

VolumeGroupClient Groups() {
  return VolumeGroupClient(kSite, Bed().Path(absl::StrCat(kSite, ".sock")));
}

}  // namespace

SideJobs::SideJobs(std::vector<TestVolume> volumes, uint64_t seed)
    : volumes_(std::move(volumes)), seed_(seed) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void SideJobs::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void SideJobs::UntilOk(const std::string& what,
                       const std::function<grpc::Status()>& call) {
  const auto give_up = steady_clock::now() + minutes(10);
  while (true) {
    const grpc::Status answer = call();
    if (answer.ok()) return;
    if (steady_clock::now() > give_up) {
      ADD_FAILURE() << what << " does not succeed: code " << answer.error_code()
                    << ": " << answer.error_message();
      return;
    }
    std::this_thread::sleep_for(milliseconds(500));
  }
}

void SideJobs::Fence(const std::string& range) {
  UntilOk("to fence " + range,
          [&] { return CallFenceOf("FenceClusterNetwork", {range}).status; });
  FenceAnswer listed;
  const auto list = [&] {
    listed = CallFenceOf("ListClusterFence", {});
    return listed.status;
  };
  const auto stands = [&] {
    return std::find(listed.cidrs.begin(), listed.cidrs.end(), range) !=
           listed.cidrs.end();
  };
  UntilOk("to list fences", list);
  EXPECT_TRUE(stands()) << range << " was fenced, and is not listed";
  UntilOk("to unfence " + range,
          [&] { return CallFenceOf("UnfenceClusterNetwork", {range}).status; });
  UntilOk("to list fences", list);
  EXPECT_FALSE(stands()) << range << " was unfenced, and is listed";
}

void SideJobs::Reclaim(const TestVolume& volume) {
  UntilOk("to reclaim space of " + volume.image, [&] {
    const CephUserRef user = Bed().User(kSite);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    ::reclaimspace::ControllerReclaimSpaceRequest request;
    request.set_volume_id(volume.id(kSite));
    (*request.mutable_secrets())["userID"] = user->id;
    (*request.mutable_secrets())["userKey"] = user->key.Reveal();
    ::reclaimspace::ControllerReclaimSpaceResponse response;
    return ::reclaimspace::ReclaimSpaceController::NewStub(Daemon())
        ->ControllerReclaimSpace(&context, request, &response);
  });
}

void SideJobs::ChangeGroup(uint64_t members) {
  VolumeGroupClient::Ids ids;
  for (size_t i = 0; i < volumes_.size(); ++i) {
    if ((members >> i & 1) != 0) ids.push_back(volumes_[i].id(kSite));
  }
  std::sort(ids.begin(), ids.end());
  const VolumeGroupClient groups = Groups();
  if (group_id_.empty()) {
    UntilOk("to create the group", [&] {
      const GroupReply made = groups.Create("chaos", {});
      group_id_ = made.id;
      return made.status;
    });
  }
  UntilOk("to change the group",
          [&] { return groups.Modify(group_id_, ids).status; });
  GroupReply seen;
  UntilOk("to read the group", [&] {
    seen = groups.Get(group_id_);
    return seen.status;
  });
  EXPECT_EQ(seen.volumes, ids);
}

void SideJobs::Run(const std::stop_token& stop) {
  std::mt19937_64 random(seed_);
  while (!stop.stop_requested()) {
    const uint64_t number = random();
    if (paused_) {
      std::this_thread::sleep_for(milliseconds(200));
      continue;
    }
    switch (number % 3) {
      case 0:
        // Nobody is there: the bed lives on 127.0.0.1.
        Fence(absl::StrCat("198.51.100.", number / 3 % 250, "/32"));
        break;
      case 1:
        Reclaim(volumes_[number / 3 % volumes_.size()]);
        break;
      default:
        ChangeGroup(number / 3);
        break;
    }
    ++done_;
    std::this_thread::sleep_for(milliseconds(500 + number % 3000));
  }
  if (group_id_.empty()) return;
  const VolumeGroupClient groups = Groups();
  UntilOk("to empty the group",
          [&] { return groups.Modify(group_id_, {}).status; });
  UntilOk("to delete the group",
          [&] { return groups.Delete(group_id_).status; });
}

}  // namespace addons::testing
