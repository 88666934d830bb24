#ifndef ADDONS_NODE_BLOCK_STACK_H_
#define ADDONS_NODE_BLOCK_STACK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/device_number.h"
#include "node/linux_roots.h"

namespace addons {

/// One block device of a stack.
struct BlockLayer {
  std::string name;       // "dm-0"
  std::string directory;  // of sysfs
  std::string mapper;     // device mapper: "CRYPT-LUKS2-... (luks-rbd-...)"
  uint64_t discard_max_bytes = 0;  // 0: it does not discard
  uint64_t discard_granularity = 0;

  /// "dm-0 (device mapper CRYPT-LUKS2 'luks-rbd-...')", for messages.
  std::string Describe() const;
  /// What device mapper has made it, and how that passes discards on: "LUKS:
  /// opened without allow-discards", "multipath". Empty: no device mapper.
  std::string Kind() const;
};

/// A block device and everything that it lies on, one on the other.
struct BlockStack {
  std::vector<BlockLayer> layers;  // never empty; the lowest one last
  uint64_t size_bytes = 0;         // of the first layer

  const BlockLayer& lowest() const { return layers.back(); }
  /// The lowest layer that does not discard, which is the cause where those
  /// above it do not either; null: all do.
  const BlockLayer* WithoutDiscard() const;
  /// The layer with the largest discard granularity: smaller extents free
  /// nothing.
  const BlockLayer& Coarsest() const;
};

/// Walks from a device through device mapper (LUKS) and partitions down to the
/// device that is not made of others. FAILED_PRECONDITION: it is no block
/// device (tmpfs, network filesystems), or consists of several devices, of
/// which one volume can at most be one. INTERNAL: sysfs makes no sense. Reads
/// files of /sys only.
absl::StatusOr<BlockStack> ReadBlockStack(const LinuxRoots& roots,
                                          DeviceNumber device);

}  // namespace addons

#endif  // ADDONS_NODE_BLOCK_STACK_H_
