#ifndef ADDONS_SERVER_PAGE_TABLES_H_
#define ADDONS_SERVER_PAGE_TABLES_H_

#include <string>

#include "server/status_page.h"

namespace addons {

// The tables of the status page beside that of the volumes. One that would be
// empty is left out where that says nothing.

void AddPools(const StatusPage& page, std::string* html);
void AddFences(const StatusPage& page, std::string* html);
void AddOperations(const StatusPage& page, std::string* html);
void AddEnded(const StatusPage& page, std::string* html);
void AddReclaims(const StatusPage& page, std::string* html);
void AddClusters(const StatusPage& page, std::string* html);

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_TABLES_H_
