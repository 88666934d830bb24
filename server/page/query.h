#ifndef ADDONS_SERVER_PAGE_QUERY_H_
#define ADDONS_SERVER_PAGE_QUERY_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// Which volumes the status page shows, and in which order, from what follows
/// the question mark: "q=TEXT&role=ROLE&state=STATE&sort=ORDER&page=N".
struct PageQuery {
  /// Those whose names, ids, place or message have this text in them, whatever
  /// the case; at most 200 bytes. Empty: all.
  std::string text;
  std::optional<WatchedRole> role;  // nullopt: all
  enum class State {
    kAll,
    kTrouble,  // neither in step nor copying
    kBroken,
    kLate,
    kUnknown,
    kCopying,
    kInStep
  };
  State state = State::kAll;
  /// Trouble first, and equal messages together; by name; the oldest copy
  /// first; what has most left to copy first. The rest by name.
  enum class Sort { kTrouble, kName, kAge, kLeft };
  Sort sort = Sort::kTrouble;
  std::optional<size_t> page;  // from 1 on; nullopt: not said

  /// What is not understood counts as not said.
  static PageQuery Parse(absl::string_view query);

  bool filters() const {
    return !text.empty() || role.has_value() || state != State::kAll;
  }
  /// Role and state; the text is another question.
  bool Shows(WatchedRole of_role, CopyState of_state) const;
  /// The same without the page, as the end of an address: "?q=a&sort=age".
  std::string Link() const;
  /// With this page: "?page=2&q=a".
  std::string Link(size_t other_page) const;
  /// Of the first page in another order.
  std::string Link(Sort order) const;
};

/// "" (all), "trouble", "broken", "late", "unknown", "copying", "in-step".
absl::string_view Name(PageQuery::State state);
/// "" (trouble first), "name", "age", "left".
absl::string_view Name(PageQuery::Sort sort);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_QUERY_H_
