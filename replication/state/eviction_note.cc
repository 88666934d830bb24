#include "replication/state/eviction_note.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ceph/omap_object.h"
#include "ceph/pool.h"

namespace addons {
namespace {

constexpr char kNewestReportKey[] = "newest_report";
/// The note may hold a stamp of another namespace's images. rbd-mirror reports
/// on each of its images every 30 s, and the stamps are of several OSDs. One
/// that is back is beyond that when it has reported twice.
constexpr int64_t kReportsApart = 45;

absl::Status Write(Pool& pool, int64_t newest_report) {
  return SetOmapValuesCreating(
      pool, kEvictionObject, {{kNewestReportKey, absl::StrCat(newest_report)}});
}

std::optional<int64_t> Read(Pool& pool) {
  const auto value = pool.ReadOmapKey(kEvictionObject, kNewestReportKey);
  int64_t newest_report = 0;
  if (!value.ok() || !value->has_value() ||
      !absl::SimpleAtoi(**value, &newest_report)) {
    return std::nullopt;
  }
  return newest_report;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pool>> OpenDefaultNamespace(Cluster& cluster,
                                                           const Pool& own,
                                                           Access access) {
  if (own.rados_namespace().empty()) return nullptr;
  return cluster.OpenPool(own.id(), "", access);
}

absl::Status WriteEvictionNote(const PoolAndDefault& pool,
                               int64_t newest_report) {
  absl::Status own = Write(pool.own, newest_report);
  if (pool.whole == nullptr) return own;
  return Write(*pool.whole, newest_report).ok() ? absl::OkStatus() : own;
}

std::optional<int64_t> ReadEvictionNote(const PoolAndDefault& pool) {
  const std::optional<int64_t> own = Read(pool.own);
  // Nothing is less than any report.
  return pool.whole == nullptr ? own : std::max(own, Read(*pool.whole));
}

bool SilentSinceEviction(int64_t newest_report, int64_t noted) {
  return newest_report <= noted + kReportsApart;
}

}  // namespace addons
