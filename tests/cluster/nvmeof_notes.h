#ifndef ADDONS_TESTS_CLUSTER_NVMEOF_NOTES_H_
#define ADDONS_TESTS_CLUSTER_NVMEOF_NOTES_H_

#include <map>
#include <string>

namespace addons::testing {

/// What ceph-csi's NVMe-oF driver notes in the metadata of an image that a
/// gateway of site a exports as namespace `number`.
inline std::map<std::string, std::string> NvmeofNotes(
    const std::string& number) {
  return {{".rbd.nvmeof.SubsystemNQN", "nqn.2016-06.io.spdk:site-a"},
          {".rbd.nvmeof.NamespaceID", number},
          {".rbd.nvmeof.NamespaceUUID", "7c9a1b3e-0000-4000-8000-000000000003"},
          {".rbd.nvmeof.listeners", R"([{"address":"127.0.0.1","port":4420}])"},
          {".rbd.nvmeof.GatewayAddress", "127.0.0.1"},
          {".rbd.nvmeof.GatewayPort", "5500"}};
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_NVMEOF_NOTES_H_
