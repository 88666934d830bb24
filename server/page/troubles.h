#ifndef ADDONS_SERVER_PAGE_TROUBLES_H_
#define ADDONS_SERVER_PAGE_TROUBLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/status_page.h"

namespace addons {

/// What is wrong, the worst first, as items of a list.
struct Troubles {
  std::vector<std::string> bad;
  std::vector<std::string> warn;
};

/// Within a day, or it has ended. `now` in unix seconds.
bool EndsSoon(const WatchedFence& fence, int64_t now);

Troubles TroublesOf(const StatusPage& page);
/// What the page is called: the worst of them, or that there is none.
std::string Title(const StatusPage& page, const Troubles& troubles);
void AddTroubles(const Troubles& troubles, std::string* html);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_TROUBLES_H_
