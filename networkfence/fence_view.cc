#include "networkfence/fence_view.h"

#include <algorithm>

#include "base/log.h"
#include "base/status_macros.h"
#include "networkfence/blocklist_commands.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kSlack{30};

}  // namespace

void FenceView::WarnOfUnreadable(const std::string& cluster_id) const {
  for (const std::string& entry : list.unreadable) {
    Log().warn("an entry of the blocklist is not understood cluster={} {}",
               Quoted(cluster_id), Quoted(entry));
  }
}

bool FenceView::Expired(const BlocklistEntry& entry) const {
  return entry.until.has_value() && *entry.until <= map.modified;
}

bool FenceView::LastsFor(const BlocklistEntry& entry,
                         std::chrono::seconds wanted) const {
  const std::chrono::seconds enough =
      wanted - std::max<std::chrono::seconds>(kSlack, wanted / 100);
  return entry.until.has_value() &&
         *entry.until >= map.modified + absl::FromChrono(enough);
}

bool FenceView::InForce(const Cidr& range, std::chrono::seconds wanted) const {
  const BlocklistEntry* const entry = list.FindRange(range);
  return entry != nullptr && LastsFor(*entry, wanted);
}

bool FenceView::IsFenced(const Cidr& range) const {
  return std::any_of(list.entries.begin(), list.entries.end(),
                     [&](const BlocklistEntry& entry) {
                       return entry.kind != BlocklistEntry::Kind::kClient &&
                              entry.Range() == range && !Expired(entry);
                     });
}

absl::StatusOr<FenceView> ReadFenceView(Cluster& cluster) {
  FenceView view;
  ADDONS_ASSIGN_OR_RETURN(view.list, ReadBlocklist(cluster));
  ADDONS_ASSIGN_OR_RETURN(view.map, ReadOsdMap(cluster));
  return view;
}

}  // namespace addons
