#include "networkfence/fence_view.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"
#include "ceph/errors.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kSlack{30};
constexpr int kAttempts = 2;

/// The listing has nothing where the map has something.
bool MissesEntries(const FenceView& view) {
  const auto ranges =
      std::count_if(view.list.entries.begin(), view.list.entries.end(),
                    [](const BlocklistEntry& entry) {
                      return entry.kind == BlocklistEntry::Kind::kRange;
                    });
  const bool has_ranges = ranges > 0;
  const bool has_addresses =
      view.list.entries.size() > static_cast<size_t>(ranges);
  // Not told apart: it may be of either kind.
  if (!view.list.unreadable.empty()) return false;
  return (view.map.lists_ranges && !has_ranges) ||
         (view.map.lists_addresses && !has_addresses);
}

}  // namespace

void FenceView::WarnOfUnreadable(const ClusterId& cluster_id) const {
  for (const std::string& entry : list.unreadable) {
    Log().warn("an entry of the blocklist is not understood cluster={} {}",
               Quoted(cluster_id.text()), Quoted(entry));
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
  // Somebody may change the blocklist between two answers.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    absl::StatusOr<OsdMapView> map = ReadOsdMap(cluster);
    if (CephErrno(map.status()) == EINVAL) return NoRangeBlocklists();
    ADDONS_RETURN_IF_ERROR(map.status());
    view.map = *std::move(map);
    if (view.map.blocklist.has_value()) {
      view.list = *std::exchange(view.map.blocklist, std::nullopt);
      return view;
    }
    absl::StatusOr<Blocklist> list = ReadBlocklist(cluster);
    if (CephErrno(list.status()) == EINVAL) return NoRangeBlocklists();
    ADDONS_RETURN_IF_ERROR(list.status());
    view.list = *std::move(list);
    if (!MissesEntries(view)) return view;
  }
  return absl::InternalError(
      "the monitor's answer to 'osd blocklist ls' lacks the entries that 'osd "
      "dump' shows, so what is blocked is not known");
}

absl::Status NoRangeBlocklists() {
  return absl::FailedPreconditionError(
      "this Ceph cannot block address ranges; fencing needs Ceph 16.2.15, "
      "17.2.6 or newer on all monitors and OSDs");
}

}  // namespace addons
