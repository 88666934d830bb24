#ifndef ADDONS_SERVER_PAGE_VOLUMES_H_
#define ADDONS_SERVER_PAGE_VOLUMES_H_

#include <string>

#include "server/page/view.h"
#include "server/status_page.h"

namespace addons {

/// What a person wants to know first, in numbers: each leads to its volumes.
void AddTiles(const PageTotals& totals, std::string* html);
/// The volumes of the view, in pages of kRowsOfPage, a line for each, below
/// what is said of them; and what is asked, to be changed.
void AddVolumes(const StatusPage& page, const PageView& view,
                std::string* html);
/// The volume groups, with what is seen of their members, trouble first.
void AddGroups(const StatusPage& page, std::string* html);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_VOLUMES_H_
