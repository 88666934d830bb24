#ifndef ADDONS_SERVER_PAGE_VIEW_H_
#define ADDONS_SERVER_PAGE_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/page/query.h"
#include "server/status_page.h"

namespace addons {

// What the status page and its JSON say, from the same snapshot: what is seen
// of volumes as it is at the time of the page. Nothing here asks Ceph or
// blocks.

/// A volume under replication.
struct PageVolume {
  const WatchedPool* pool = nullptr;    // of the page's snapshot
  const WatchedImage* image = nullptr;  // likewise
  CopyState state = CopyState::kUnknown;
  std::optional<int64_t> age;  // of the last complete copy, seconds
  /// What people call it, see NameOf(); of the snapshot or of the view.
  absl::string_view name;
  /// Equal for texts of Why() that differ in numbers only; 0: it says nothing.
  uint64_t why_key = 0;
  /// How many of the view's volumes have this key.
  size_t same_why = 0;

  /// What is the case and what to do, of one that is not simply in step.
  std::string Why() const;
  /// What is shown of it is old: its pool cannot be seen.
  bool stale() const { return !pool->unseen.empty(); }
  /// Seconds until all that is known is copied, at the present speed.
  std::optional<int64_t> SecondsLeft() const;
};

/// Of all volumes of all pools.
struct PageTotals {
  size_t volumes = 0;
  size_t kept = 0;   // those that are known one by one
  size_t stale = 0;  // those of pools that cannot be seen
  CopyStateCounts by_state{};
  size_t primary = 0;
  std::optional<int64_t> oldest_age;
  std::string oldest_name;  // whose copy that is

  size_t of(CopyState state) const {
    return by_state.at(static_cast<size_t>(state));
  }
};

struct PageView {
  PageQuery query;
  PageTotals totals;
  std::vector<PageVolume> volumes;  // that the query asks for, in its order
  std::deque<std::string> names;    // those that are not in the snapshot
};

/// The page must outlive the view, and have a watch. A view may be moved.
PageView ViewOf(const StatusPage& page);

/// Since when no monitor of the cluster has answered, at the page's time;
/// nullopt: one has.
std::optional<int64_t> SilentSeconds(const StatusPage& page,
                                     const std::string& cluster_id);
/// How long no peer of a pool has been heard of, where none reports any more.
std::optional<int64_t> PeerSilentSeconds(const StatusPage& page,
                                         const WatchedPool& pool);
/// What a command takes for it: the PersistentVolume, else "pool/image"; in
/// quotes where a shell wants them.
std::string ArgumentFor(const WatchedPool& pool, const WatchedImage& image);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_VIEW_H_
