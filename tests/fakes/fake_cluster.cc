#include "tests/fakes/fake_cluster.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/cephx_key.h"
#include "ceph/command_error.h"
#include "ceph/errors.h"
#include "tests/fakes/commands.h"
#include "tests/fakes/fake_pool.h"
#include "tests/fakes/fake_site.h"

namespace addons {
namespace {

using model::Model;
using model::Site;
using std::chrono::seconds;

constexpr SteadyDuration kConnectTimeout = seconds(5);

/// With the text that a command printed.
absl::Status FailedCommand(int result, const std::string& command,
                           const std::string& text) {
  return CommandError(result, "run", command,
                      text.empty() ? "" : absl::StrCat(": ", text));
}

}  // namespace

class FakeCluster final : public Cluster {
 public:
  FakeCluster(FakeWorld& world, std::string site, std::string fsid)
      : world_(world), site_(std::move(site)), fsid_(std::move(fsid)) {}

  const std::string& fsid() const override { return fsid_; }

  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(
      int64_t pool_id, const std::string& rados_namespace,
      Access access) override {
    auto connection = Connect(access);
    if (!connection.ok()) return std::move(connection).status();
    std::string name;
    const int r =
        world_.Call({site_, "rados_ioctx_create2", absl::StrCat(pool_id), false,
                     FakeWorld::Needs::kNothing, *connection},
                    [&](Model&, Site& site, SteadyDuration*) {
                      const auto it = site.pools.find(pool_id);
                      if (it == site.pools.end()) return -ENOENT;
                      name = it->second.name;
                      return 0;
                    });
    if (r < 0)
      return CephError(r, "open", absl::StrCat("pool with id ", pool_id));
    return std::make_unique<FakePool>(world_, *connection, pool_id,
                                      std::move(name), rados_namespace);
  }

  absl::StatusOr<std::string> MonCommand(const std::string& json) override {
    return Command("rados_mon_command", "monitor command", json,
                   FakeWorld::Needs::kMon, [&](Model& model, Site& site) {
                     return model::RunMonCommand(model, site, json);
                   });
  }

  absl::StatusOr<std::string> MgrCommand(const std::string& json) override {
    return Command("rados_mgr_command", "manager command", json,
                   FakeWorld::Needs::kMgr, [&](Model& model, Site& site) {
                     return model::RunMgrCommand(model, site, json);
                   });
  }

  // One after the other: nobody writes in a simulated world meanwhile.
  absl::Status SnapshotTogether(const std::vector<PlacedImage>& images,
                                const std::string& snapshot) override {
    std::vector<std::unique_ptr<Pool>> pools;
    std::vector<std::unique_ptr<Image>> opened;
    for (const PlacedImage& image : images) {
      ADDONS_ASSIGN_OR_RETURN(
          pools.emplace_back(),
          OpenPool(image.pool_id, image.rados_namespace, Access::kMutate));
      ADDONS_ASSIGN_OR_RETURN(opened.emplace_back(),
                              pools.back()->OpenImage(image.name));
      ADDONS_RETURN_IF_ERROR(opened.back()->AcquireLock(LockMode::kTransient));
    }
    for (const auto& image : opened) {
      ADDONS_RETURN_IF_ERROR(image->CreateSnapshot(snapshot));
    }
    for (const auto& image : opened) {
      ADDONS_RETURN_IF_ERROR(image->ReleaseLock());
    }
    return absl::OkStatus();
  }

  std::vector<uint64_t> OwnClientIds() override {
    MutexLock lock(mutex_);
    std::vector<uint64_t> ids;
    for (const auto& [access, connection] : connections_) {
      ids.push_back(connection->client.id);
    }
    return ids;
  }

  std::vector<std::string> OwnAddresses() override {
    MutexLock lock(mutex_);
    std::vector<std::string> addresses;
    for (const auto& [access, connection] : connections_) {
      addresses.push_back(connection->client.address);
    }
    return addresses;
  }

  absl::Status WaitForLatestMap() override {
    auto connection = Connect(Access::kRead);
    if (!connection.ok()) return std::move(connection).status();
    const int r = world_.Call({site_, "rados_wait_for_latest_osdmap", "", false,
                               FakeWorld::Needs::kMon, *connection},
                              [](Model&, Site&, SteadyDuration*) { return 0; });
    if (r < 0) return CommandError(r, "get the newest OSD map of", site_);
    return absl::OkStatus();
  }

  /// The connection for `access`; a new one when there is none or it was
  /// dropped.
  absl::StatusOr<std::shared_ptr<FakeWorld::Connection>> Connect(
      Access access) {
    if (auto connection = Current(access); connection != nullptr)
      return connection;
    const int r = world_.Call({site_, "rados_connect", "", false,
                               FakeWorld::Needs::kNothing, nullptr},
                              [](Model&, Site&, SteadyDuration*) { return 0; });
    if (r < 0) return ConnectError(r);
    if (world_.AwaitCluster(site_, kConnectTimeout) != 0)
      return ConnectError(-ETIMEDOUT);
    MutexLock lock(mutex_);
    auto& slot = connections_[access];
    if (slot == nullptr || Dropped(*slot))
      slot = world_.NewConnection(site_, access);
    return slot;
  }

 private:
  std::shared_ptr<FakeWorld::Connection> Current(Access access) {
    MutexLock lock(mutex_);
    const auto it = connections_.find(access);
    if (it == connections_.end()) return nullptr;
    return Dropped(*it->second) ? nullptr : it->second;
  }

  bool Dropped(const FakeWorld::Connection& connection) const {
    MutexLock lock(world_.mutex_);
    return connection.dropped;
  }

  absl::Status ConnectError(int result) const {
    const absl::Status plain = CephError(
        result, "connect to", absl::StrCat("cluster 'site-", site_, "'"));
    return Recode(plain, absl::StatusCode::kUnavailable, plain.message());
  }

  absl::StatusOr<std::string> Command(
      const char* call, const char* kind, const std::string& json,
      FakeWorld::Needs needs,
      const std::function<model::CommandResult(Model&, Site&)>& run) {
    auto connection = Connect(Access::kRead);
    if (!connection.ok()) return std::move(connection).status();
    model::CommandResult result;
    const bool mutation = absl::StrContains(json, "schedule add") ||
                          absl::StrContains(json, "schedule remove") ||
                          absl::StrContains(json, "task add") ||
                          absl::StrContains(json, "blocklistop");
    const int r =
        world_.Call({site_, call, json, mutation, needs, *connection},
                    [&](Model& model, Site& site, SteadyDuration* cost) {
                      result = run(model, site);
                      *cost = result.cost;
                      return result.result;
                    });
    if (r != 0)
      return FailedCommand(r, absl::StrCat(kind, " ", json), result.status);
    return result.output;
  }

  FakeWorld& world_;
  const std::string site_;
  const std::string fsid_;
  Mutex mutex_;
  std::map<Access, std::shared_ptr<FakeWorld::Connection>> connections_
      ABSL_GUARDED_BY(mutex_);
};

// --- provider

absl::StatusOr<std::shared_ptr<Cluster>> FakeClusterProvider::Connect(
    const ClusterTarget& target, const CephUserRef& user) {
  FakeSite* site = nullptr;
  bool accepted = false;
  {
    MutexLock lock(world_.mutex_);
    for (const auto& [name, candidate] : world_.sites_) {
      bool here = candidate->cluster_id() == target.cluster_id.text();
      for (const std::string& monitor : target.monitors) {
        here =
            here || monitor == absl::StrCat(candidate->cluster_id(), ":6789");
      }
      if (!here) continue;
      site = candidate.get();
      accepted =
          user->id == site->site_.user && user->key.Reveal() == site->site_.key;
    }
  }
  const std::string who = absl::StrCat("cluster '", target.cluster_id.text(),
                                       "' as user '", user->id, "'");
  if (const auto type = CephxKeyType(user->key.Reveal()); !type.ok()) {
    return absl::UnauthenticatedError(absl::StrCat(
        "Failed to connect to ", who,
        ": the key is not a valid cephx key: ", type.status().message()));
  }
  if (site == nullptr) {
    world_.Advance(kConnectTimeout);
    return absl::UnavailableError(
        absl::StrCat("Failed to connect to ", who, ": no monitor answered"));
  }
  const std::string key =
      absl::StrCat(site->name(), "/", user->id, "/", user->key.Fingerprint());
  {
    MutexLock lock(mutex_);
    const auto it = clusters_.find(key);
    if (it != clusters_.end()) return it->second;
  }
  auto cluster =
      std::make_shared<FakeCluster>(world_, site->name(), site->fsid());
  auto connection = cluster->Connect(Access::kRead);
  if (!connection.ok()) return std::move(connection).status();
  if (!accepted) {
    return absl::UnauthenticatedError(absl::StrCat(
        "Failed to connect to ", who,
        ": the cluster refuses the user or its key; check userID and userKey"));
  }
  MutexLock lock(mutex_);
  return clusters_.try_emplace(key, std::move(cluster)).first->second;
}

std::shared_ptr<Cluster> FakeClusterProvider::Get(FakeSite& site) {
  auto cluster = Connect(site.target(), site.user());
  if (!cluster.ok()) {
    std::fprintf(stderr, "no cluster for the test: %s\n",
                 cluster.status().ToString().c_str());
    std::abort();
  }
  return *std::move(cluster);
}

}  // namespace addons
