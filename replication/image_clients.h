#ifndef ADDONS_REPLICATION_IMAGE_CLIENTS_H_
#define ADDONS_REPLICATION_IMAGE_CLIENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "ceph/mirror_clients.h"
#include "lease/keeper.h"
#include "replication/session.h"

namespace addons {

/// ListClients(), whose workloads are no daemons that hold the lease, or died
/// with it, either.
absl::StatusOr<ImageClients> FindClients(const OpenedVolume& opened,
                                         LeaseKeeper& leases, Image& image);
/// The same without opening it, by its internal id.
absl::StatusOr<ImageClients> FindClients(const OpenedVolume& opened,
                                         LeaseKeeper& leases,
                                         const std::string& image_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_IMAGE_CLIENTS_H_
