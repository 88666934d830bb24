#ifndef ADDONS_SERVER_PAGE_TROUBLES_H_
#define ADDONS_SERVER_PAGE_TROUBLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/status_page.h"

namespace addons {

/// Something that a person should know of. The same trouble of several pools is
/// one.
struct Trouble {
  bool bad = true;       // false: it may wait until the morning
  std::string kind;      // a word for programs: "split-brain"
  std::string headline;  // which is whole without the rest
  std::string detail;    // may be empty
  std::string command;   // what to type next; empty: nothing helps
  /// What to read: a path that the daemon serves itself, as Documents() has it;
  /// never empty.
  std::string document;
};

/// Within a day, or it has ended. `now` in unix seconds.
bool EndsSoon(const WatchedFence& fence, int64_t now);

/// All of them, the worst first.
std::vector<Trouble> TroublesOf(const StatusPage& page);
/// The worst of them in a line, or that there is none.
std::string Headline(const StatusPage& page,
                     const std::vector<Trouble>& troubles);
void AddTroubles(const std::vector<Trouble>& troubles, std::string* html);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_TROUBLES_H_
