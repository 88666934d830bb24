#include "node/kernel_clients.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "node/small_file.h"

namespace addons {

KernelClient ReadKernelClient(const LinuxRoots& roots,
                              const std::string& number) {
  const auto read = [&](const char* attribute) {
    return ReadAttribute(absl::StrCat(roots.sys, "/bus/rbd/devices/", number,
                                      "/", attribute))
        .value_or("");
  };
  KernelClient client;
  client.device = absl::StrCat("rbd", number);
  client.pool = read("pool");
  client.rados_namespace = read("pool_ns");
  client.image = read("name");
  client.fsid = read("cluster_fsid");
  client.address = read("client_addr");
  return client;
}

absl::StatusOr<std::vector<KernelClient>> ListKernelClients(
    const LinuxRoots& roots) {
  namespace fs = std::filesystem;
  const std::string buses = roots.sys + "/bus";
  const auto unreadable = [](const std::string& path,
                             const std::error_code& error) {
    return absl::UnavailableError(absl::StrCat(
        path, " cannot be read (", error.message(),
        "), so what the kernel has mapped is not known; the node's /sys must "
        "be seen in the container of this daemon"));
  };
  std::vector<KernelClient> clients;
  std::error_code error;
  if (!fs::is_directory(buses, error)) {
    if (!error) error = std::make_error_code(std::errc::not_a_directory);
    return unreadable(buses, error);
  }
  const std::string bus = buses + "/rbd";
  // Without the module there is no bus.
  if (!fs::exists(bus, error) && !error) return clients;
  const std::string devices = bus + "/devices";
  fs::directory_iterator it(devices, error);
  for (const fs::directory_iterator end; !error && it != end;
       it.increment(error)) {
    clients.push_back(ReadKernelClient(roots, it->path().filename().string()));
  }
  if (error) return unreadable(devices, error);
  std::sort(clients.begin(), clients.end(),
            [](const KernelClient& a, const KernelClient& b) {
              return a.device < b.device;
            });
  return clients;
}

}  // namespace addons
