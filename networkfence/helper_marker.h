#ifndef ADDONS_NETWORKFENCE_HELPER_MARKER_H_
#define ADDONS_NETWORKFENCE_HELPER_MARKER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/cidr.h"
#include "ceph/blocklist.h"
#include "ceph/blocklist_commands.h"

namespace addons {

// While the entry of a range is replaced, helper entries cover the range: its
// two halves, or the one-address form of a single address. So that a helper
// that a crash left behind can be told from an entry that somebody wanted, a
// marker is put into the blocklist first and taken out last: an entry of one
// client, with a nonce that says whose helpers they are. It blocks nobody (no
// client has this nonce at that address and port 0 but by a chance of one in
// four thousand million, and those addresses are fenced anyway).

/// Something that covers a range, or half of it, in another spelling.
struct FenceHelper {
  uint32_t bit = 0;  // in HelperMarker::helpers
  BlocklistKey key;
  Cidr range;
};

/// All that together covers `range`.
std::vector<FenceHelper> HelpersOf(const Cidr& range);

struct HelperMarker {
  Cidr range;            // whose entry is being replaced
  uint32_t helpers = 0;  // bits of the helpers that were made for that

  BlocklistKey Key() const;
  /// nullopt: the entry is no marker.
  static std::optional<HelperMarker> Of(const BlocklistEntry& entry);
};

/// The markers in `list`.
std::vector<HelperMarker> FindMarkers(const Blocklist& list);
/// The bits of all helpers that were made for `range`.
uint32_t MarkedHelpers(const Blocklist& list, const Cidr& range);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_HELPER_MARKER_H_
