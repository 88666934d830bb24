#ifndef ADDONS_REPLICATION_GROUP_POINT_NAME_H_
#define ADDONS_REPLICATION_GROUP_POINT_NAME_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// What the points of a group's members are called that are of one instant
/// (points/group_point.h): the name alone says so, on both sites, and it is
/// given once. "night-of-3-5f03a1b2".
struct GroupPointName {
  std::string base;    // as a person calls it
  size_t members = 0;  // of the group then
  std::string mark;    // of this instant

  std::string text() const;
  friend bool operator==(const GroupPointName&,
                         const GroupPointName&) = default;
};
/// Of a new instant.
std::string NewInstantMark();
/// nullopt: it is no name of a group's point.
std::optional<GroupPointName> ParseGroupPointName(absl::string_view name);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_POINT_NAME_H_
