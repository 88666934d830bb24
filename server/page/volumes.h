#ifndef ADDONS_SERVER_PAGE_VOLUMES_H_
#define ADDONS_SERVER_PAGE_VOLUMES_H_

#include <string>

#include "server/status_page.h"

namespace addons {

/// The volumes under replication that the page's query asks for, in pages of
/// kRowsOfPage, trouble first, then by name; and what is asked, to be changed.
void AddVolumes(const StatusPage& page, std::string* html);
/// The volume groups, with what is seen of their members, trouble first.
void AddGroups(const StatusPage& page, std::string* html);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_VOLUMES_H_
