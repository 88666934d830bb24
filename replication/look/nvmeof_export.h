#ifndef ADDONS_REPLICATION_LOOK_NVMEOF_EXPORT_H_
#define ADDONS_REPLICATION_LOOK_NVMEOF_EXPORT_H_

#include <map>
#include <string>

namespace addons {

// ceph-csi's NVMe-oF driver (3.16) has a gateway export each volume from when
// it is made until it is deleted: the gateway keeps the image open, whether a
// pod uses it or not. It notes in the image's metadata where that is. In
// snapshot mode those keys stay on the site, because they begin with ".rbd";
// in journal mode all metadata travels.

inline constexpr char kNvmeofPrefix[] = ".rbd.nvmeof.";

/// "namespace 3 of subsystem 'nqn...' at the NVMe-oF gateway '10.0.0.5:5500'",
/// of metadata that begins with kNvmeofPrefix. Empty: no subsystem is noted.
std::string DescribeNvmeofExport(
    const std::map<std::string, std::string>& noted);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_NVMEOF_EXPORT_H_
