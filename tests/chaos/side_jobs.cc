#include "tests/chaos/side_jobs.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "tests/cluster/fence_bed.h"
#include "tests/cluster/volume_group_client.h"
#include "tests/rpc/fence_call.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kDeadline{60};
constexpr char kHostImage[] = "of-a-host";

std::string Socket(const std::string& site) {
  return Bed().Path(absl::StrCat(site, ".sock"));
}

/// Of its own each time, so that a daemon that was killed does not spoil it.
std::shared_ptr<grpc::Channel> Daemon(const std::string& site) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(
      "unix:" + Socket(site), grpc::InsecureChannelCredentials(), arguments);
}

FenceAnswer CallFenceOf(const std::string& site, const std::string& method,
                        std::vector<std::string> ranges) {
  const CephUserRef user = Bed().User(site);
  FenceAsk ask;
  ask.cidrs = std::move(ranges);
  ask.parameters = {{"clusterID", "site-" + site}};
  ask.deadline = kDeadline;
  ask.user_id = user->id;
  ask.user_key = user->key.Reveal();
  return CallFence(Daemon(site), method, ask);
}

}  // namespace

SideJobs::SideJobs(Place place, uint64_t seed)
    : place_(std::move(place)), seed_(seed) {
  if (place_.network != nullptr) MakeHost();
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void SideJobs::MakeHost() {
  const int number = place_.site == "a" ? 1 : 2;
  host_ = place_.network->HostAddress(number);
  enter_ = place_.network->AddHost(number);
  const auto made = Bed().Run(
      "rbd", {place_.site, "create", "--size", "64M", "--image-feature",
              "layering", absl::StrCat(RealBed::kPool, "/", kHostImage)});
  EXPECT_TRUE(made.ok()) << made.status();
}

void SideJobs::Pause() {
  paused_ = true;
  const std::lock_guard lock(job_);
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

void SideJobs::Fence(const std::string& range,
                     const std::function<void()>& while_fenced) {
  const std::string& site = place_.site;
  FenceAnswer listed;
  const auto stands = [&] {
    UntilOk("to list fences", [&] {
      listed = CallFenceOf(site, "ListClusterFence", {});
      return listed.status;
    });
    return std::find(listed.cidrs.begin(), listed.cidrs.end(), range) !=
           listed.cidrs.end();
  };
  UntilOk("to fence " + range, [&] {
    return CallFenceOf(site, "FenceClusterNetwork", {range}).status;
  });
  EXPECT_TRUE(stands()) << range << " was fenced, and is not listed";
  while_fenced();
  UntilOk("to unfence " + range, [&] {
    return CallFenceOf(site, "UnfenceClusterNetwork", {range}).status;
  });
  EXPECT_FALSE(stands()) << range << " was unfenced, and is listed";
}

void SideJobs::FenceHost() {
  // Lives for this job only: the machine has other things to do.
  const std::string log =
      Bed().Path(absl::StrCat("host-", place_.site, "-", ++host_lives_));
  const Host host(host_, enter_, Bed().Path(place_.site + "/ceph.conf"),
                  kHostImage, log);
  const auto writes = [&] { return host.WritesNow(); };
  EXPECT_TRUE(Eventually(writes, minutes(5))) << host_ << " does not write";
  Fence(host_ + "/32", [&] {
    // The fence stood at the OK, so before now.
    const auto now = steady_clock::now();
    EXPECT_TRUE(Eventually([&] { return host.FailsNow(); }, minutes(5)))
        << host_ << " gets no error";
    EXPECT_EQ(host.WritesSince(now), 0) << host_ << " writes through its fence";
  });
  EXPECT_TRUE(Eventually(writes, minutes(5)))
      << host_ << " does not write after its fence";
}

void SideJobs::Reclaim(const TestVolume& volume, bool may_be_away) {
  UntilOk("to reclaim space of " + volume.id(place_.site), [&] {
    const CephUserRef user = Bed().User(place_.site);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    ::reclaimspace::ControllerReclaimSpaceRequest request;
    request.set_volume_id(volume.id(place_.site));
    (*request.mutable_secrets())["userID"] = user->id;
    (*request.mutable_secrets())["userKey"] = user->key.Reveal();
    ::reclaimspace::ControllerReclaimSpaceResponse response;
    const grpc::Status answer =
        ::reclaimspace::ReclaimSpaceController::NewStub(Daemon(place_.site))
            ->ControllerReclaimSpace(&context, request, &response);
    // Being copied anew it is not there for a while.
    const bool away = answer.error_code() == grpc::StatusCode::NOT_FOUND;
    return may_be_away && away ? grpc::Status::OK : answer;
  });
}

void SideJobs::ChangeGroup(uint64_t members) {
  VolumeGroupClient::Ids ids;
  for (size_t i = 0; i < place_.volumes.size(); ++i) {
    if ((members >> i & 1) != 0) {
      ids.push_back(place_.volumes[i].id(place_.site));
    }
  }
  std::sort(ids.begin(), ids.end());
  const VolumeGroupClient groups(place_.site, Socket(place_.site));
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

void SideJobs::Do(uint64_t number) {
  const uint64_t which = number / 5;
  switch (number % 5) {
    case 0:
      // Nobody is there.
      Fence(absl::StrCat("198.51.100.", which % 250, "/32"), [] {});
      break;
    case 1:
      if (host_.empty()) return;
      FenceHost();
      break;
    case 2:
      Reclaim(place_.volumes[which % place_.volumes.size()], false);
      break;
    case 3:
      Reclaim(place_.replicated[which % place_.replicated.size()], true);
      break;
    default:
      ChangeGroup(which);
      break;
  }
  ++done_;
}

void SideJobs::Run(const std::stop_token& stop) {
  std::mt19937_64 random(seed_);
  while (!stop.stop_requested()) {
    const uint64_t number = random();
    {
      const std::lock_guard lock(job_);
      if (!paused_) Do(number);
    }
    std::this_thread::sleep_for(milliseconds(500 + number % 3000));
  }
  if (group_id_.empty()) return;
  const VolumeGroupClient groups(place_.site, Socket(place_.site));
  UntilOk("to empty the group",
          [&] { return groups.Modify(group_id_, {}).status; });
  UntilOk("to delete the group",
          [&] { return groups.Delete(group_id_).status; });
}

}  // namespace addons::testing
