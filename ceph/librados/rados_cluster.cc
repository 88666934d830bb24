#include "ceph/librados/rados_cluster.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/status_macros.h"
#include "ceph/librados/rados_pool.h"
#include "ceph/librados/snapshot_together.h"

namespace addons {
namespace {

ConnectionUse UseFor(Access access) {
  switch (access) {
    case Access::kRead:
      return ConnectionUse::kRead;
    case Access::kMutate:
      return ConnectionUse::kMutate;
    case Access::kMutateGently:
      break;
  }
  return ConnectionUse::kMutateGently;
}

}  // namespace

RadosCluster::RadosCluster(ClientEnvironment environment, ClusterTarget target,
                           CephUserRef user)
    : environment_(std::move(environment)),
      target_(std::move(target)),
      user_(std::move(user)) {}

absl::StatusOr<std::shared_ptr<CachedCluster>> RadosCluster::Connect(
    const ClientEnvironment& environment, const ClusterTarget& target,
    const CephUserRef& user) {
  const std::shared_ptr<RadosCluster> cluster(
      new RadosCluster(environment, target, user));
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<RadosConnection> connection,
                          cluster->Connection(ConnectionUse::kRead));
  ADDONS_ASSIGN_OR_RETURN(cluster->fsid_, connection->Fsid());
  return cluster;
}

SharedSlot<RadosConnection>& RadosCluster::Slot(ConnectionUse use) {
  switch (use) {
    case ConnectionUse::kRead:
      return read_;
    case ConnectionUse::kMutate:
      return mutate_;
    case ConnectionUse::kMutateGently:
      return mutate_gently_;
    case ConnectionUse::kManager:
      break;
  }
  return manager_;
}

absl::StatusOr<std::shared_ptr<RadosConnection>> RadosCluster::Connection(
    ConnectionUse use) {
  SharedSlot<RadosConnection>& slot = Slot(use);
  // Connecting keeps its own bound; this is for those who wait for another one,
  // which may first have looked up names.
  const SteadyTime until = std::chrono::steady_clock::now() +
                           2 * environment_.timeouts.connect +
                           environment_.timeouts.mon;
  absl::StatusOr<std::shared_ptr<RadosConnection>> connection = slot.Get(
      [](const RadosConnection& held) { return !held.dead(); },
      [&] {
        return RadosConnection::Connect(environment_, target_, *user_, use);
      },
      until);
  if (absl::IsUnauthenticated(connection.status())) refused_ = true;
  return connection;
}

absl::StatusOr<std::unique_ptr<Pool>> RadosCluster::OpenPool(
    int64_t pool_id, const std::string& rados_namespace, Access access) {
  ADDONS_ASSIGN_OR_RETURN(std::shared_ptr<RadosConnection> connection,
                          Connection(UseFor(access)));
  return RadosPool::Open(std::move(connection), pool_id, rados_namespace);
}

absl::StatusOr<std::string> RadosCluster::MonCommand(const std::string& json) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<RadosConnection> connection,
                          Connection(ConnectionUse::kRead));
  return connection->MonCommand(json);
}

// The bound is ours, see ConnectionUse. A command that is abandoned goes on.
absl::StatusOr<std::string> RadosCluster::MgrCommand(const std::string& json) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<RadosConnection> connection,
                          Connection(ConnectionUse::kManager));
  const auto answer = std::make_shared<absl::StatusOr<std::string>>();
  const absl::Status ended = environment_.calls->Run(
      connection.get(),
      [connection, answer, json] { *answer = connection->MgrCommand(json); },
      std::chrono::steady_clock::now() + environment_.timeouts.mon);
  if (ended.ok()) return *answer;
  if (absl::IsDeadlineExceeded(ended)) {
    return connection->MgrCommandTimeout(json);
  }
  return Annotate(ended, "Failed to run manager command");
}

// The connection for manager commands opens no images, so nothing is pinned.
absl::StatusOr<std::string> RadosCluster::ConfiguredOption(
    const std::string& name) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<RadosConnection> connection,
                          Connection(ConnectionUse::kManager));
  return connection->Option(name);
}

absl::Status RadosCluster::SnapshotTogether(
    const std::vector<PlacedImage>& images, const std::string& snapshot) {
  return SnapshotInChild(
      {target_, user_, environment_.timeouts, images, snapshot}, {}, *this);
}

std::vector<uint64_t> RadosCluster::OwnClientIds() {
  std::vector<uint64_t> ids;
  for (const SharedSlot<RadosConnection>* slot : Slots()) {
    if (const auto connection = slot->Peek()) {
      ids.push_back(connection->client_id());
    }
  }
  return ids;
}

std::vector<std::string> RadosCluster::OwnAddresses() {
  std::vector<std::string> addresses;
  for (const SharedSlot<RadosConnection>* slot : Slots()) {
    const auto connection = slot->Peek();
    if (connection == nullptr) continue;
    std::string address = connection->Addresses();
    if (!address.empty()) addresses.push_back(std::move(address));
  }
  return addresses;
}

// One for changes that is made later has that map from the beginning.
absl::Status RadosCluster::WaitForLatestMap() {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<RadosConnection> reads,
                          Connection(ConnectionUse::kRead));
  ADDONS_RETURN_IF_ERROR(WaitForLatestMap(reads));
  for (const SharedSlot<RadosConnection>* slot : {&mutate_, &mutate_gently_}) {
    const std::shared_ptr<RadosConnection> changes = slot->Peek();
    if (changes == nullptr || changes->dead()) continue;
    ADDONS_RETURN_IF_ERROR(WaitForLatestMap(changes));
  }
  return absl::OkStatus();
}

// librados gives it no bound, so it gets ours. One that is abandoned goes on.
absl::Status RadosCluster::WaitForLatestMap(
    const std::shared_ptr<RadosConnection>& connection) {
  const auto result = std::make_shared<absl::Status>();
  const absl::Status ended = environment_.calls->Run(
      connection.get(),
      [connection, result] { *result = connection->WaitForLatestMap(); },
      std::chrono::steady_clock::now() + environment_.timeouts.mon);
  if (ended.ok()) return *result;
  if (absl::IsDeadlineExceeded(ended)) {
    return connection->LatestMapError(-ETIMEDOUT);
  }
  return Annotate(ended, "Failed to get the newest OSD map");
}

bool RadosCluster::denied() const {
  if (refused_) return true;
  for (const SharedSlot<RadosConnection>* slot : Slots()) {
    const auto connection = slot->Peek();
    if (connection != nullptr && connection->denied()) return true;
  }
  return false;
}

}  // namespace addons
