#ifndef ADDONS_SERVER_PAGE_QUERY_H_
#define ADDONS_SERVER_PAGE_QUERY_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// Which volumes the status page shows, from what follows the question mark:
/// "q=TEXT&health=HEALTH&page=N".
struct PageQuery {
  /// Those whose names, ids, place or message have this text in them, whatever
  /// the case; at most 200 bytes. Empty: all.
  std::string text;
  enum class Health { kAll, kTrouble, kError, kDegraded, kHealthy };
  Health health = Health::kAll;
  size_t page = 1;

  /// What is not understood counts as not said.
  static PageQuery Parse(absl::string_view query);

  bool filters() const { return !text.empty() || health != Health::kAll; }
  bool Shows(const WatchedPool& pool, const WatchedImage& image) const;
  /// The same with another page, as the end of an address: "?q=a&page=2".
  std::string Link(size_t other_page) const;
};

/// "" (all), "trouble", "error", "degraded", "healthy".
absl::string_view Name(PageQuery::Health health);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_QUERY_H_
