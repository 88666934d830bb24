#include "cli/status_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/aligned_table.h"
#include "cli/streams.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

constexpr size_t kStateColumn = 2;

/// "46s", "4m10s", "3h25m", "5d4h": two units at most.
std::string CopyAgeText(uint32_t seconds) {
  constexpr uint32_t kMinute = 60;
  constexpr uint32_t kHour = 60 * kMinute;
  constexpr uint32_t kDay = 24 * kHour;
  if (seconds < kMinute) return absl::StrCat(seconds, "s");
  if (seconds < kHour) {
    return absl::StrCat(seconds / kMinute, "m", seconds % kMinute, "s");
  }
  if (seconds < kDay) {
    return absl::StrCat(seconds / kHour, "h", seconds % kHour / kMinute, "m");
  }
  return absl::StrCat(seconds / kDay, "d", seconds % kDay / kHour, "h");
}

/// "5m", as people write intervals.
std::string ScheduleText(uint32_t seconds) {
  for (const auto& [length, unit] : std::vector<std::pair<uint32_t, char>>{
           {86400, 'd'}, {3600, 'h'}, {60, 'm'}}) {
    if (seconds >= length && seconds % length == 0) {
      return absl::StrCat(seconds / length, std::string(1, unit));
    }
  }
  return absl::StrCat(seconds, "s");
}

std::string PlaceOfPool(const admin_pb::PoolStatus& pool) {
  return pool.rados_namespace().empty()
             ? pool.pool()
             : absl::StrCat(pool.pool(), "/", pool.rados_namespace());
}

std::string CopyStateText(const admin_pb::VolumeStatus& volume) {
  switch (volume.state()) {
    case admin_pb::VolumeStatus::IN_STEP:
      return "in step";
    case admin_pb::VolumeStatus::COPYING:
      return "copying";
    case admin_pb::VolumeStatus::LATE:
      return "late";
    case admin_pb::VolumeStatus::BROKEN:
      return "broken";
    default:
      return "unknown";
  }
}

std::string RoleHereText(const admin_pb::VolumeStatus& volume) {
  switch (volume.role()) {
    case admin_pb::VolumeStatus::PRIMARY:
      return "primary";
    case admin_pb::VolumeStatus::SECONDARY:
      return "secondary";
    default:
      return "unclear";
  }
}

std::string PaintedState(admin_pb::VolumeStatus::State state,
                         const std::string& text, const Palette& palette) {
  switch (state) {
    case admin_pb::VolumeStatus::IN_STEP:
      return palette.Good(text);
    case admin_pb::VolumeStatus::LATE:
    case admin_pb::VolumeStatus::BROKEN:
      return palette.Bad(text);
    default:
      return palette.Poor(text);
  }
}

std::string PoolTable(const admin_pb::ListStatusResponse& seen) {
  std::vector<std::vector<std::string>> rows = {
      {"POOL", "CLUSTER", "VOLUMES", "PROTECTED", "LATE", "BROKEN", "COPYING",
       "UNKNOWN", "PRIMARY HERE", "PEER", "SEEN"}};
  for (const admin_pb::PoolStatus& pool : seen.pools()) {
    if (!pool.has_seen_seconds_ago()) {
      rows.push_back({PlaceOfPool(pool), pool.cluster_id(), "?", "?", "?", "?",
                      "?", "?", "?", absl::StrJoin(pool.peers(), ", "),
                      "never"});
      continue;
    }
    rows.push_back(
        {PlaceOfPool(pool), pool.cluster_id(), absl::StrCat(pool.volumes()),
         absl::StrCat(pool.in_step()), absl::StrCat(pool.late()),
         absl::StrCat(pool.broken()), absl::StrCat(pool.copying()),
         absl::StrCat(pool.unknown()), absl::StrCat(pool.primary()),
         absl::StrJoin(pool.peers(), ", "),
         absl::StrCat(CopyAgeText(pool.seen_seconds_ago()), " ago")});
  }
  return AlignedTable(std::move(rows));
}

/// What is to be said of a pool, each a line.
std::vector<std::string> RemarksOnPool(const admin_pb::PoolStatus& pool) {
  std::vector<std::string> remarks;
  if (!pool.unseen().empty()) {
    remarks.push_back(absl::StrCat(
        "cannot be seen: ", pool.unseen(),
        pool.has_blocklisted_seconds()
            ? absl::StrCat("; that was first seen ",
                           CopyAgeText(pool.blocklisted_seconds()), " ago")
            : "",
        pool.has_seen_seconds_ago()
            ? absl::StrCat("; what is shown of it is ",
                           CopyAgeText(pool.seen_seconds_ago()), " old")
            : ""));
  }
  if (pool.has_local_mirror_reports() && !pool.local_mirror_reports()) {
    remarks.emplace_back("rbd-mirror of this site does not report");
  }
  if (pool.has_peer_mirror_reports() && !pool.peer_mirror_reports()) {
    remarks.emplace_back("rbd-mirror of the peer site does not report");
  }
  if (pool.has_seen_seconds_ago() && pool.peers().empty()) {
    remarks.emplace_back("it has no peer, so nothing is copied");
  }
  if (!pool.schedules_unseen().empty()) {
    remarks.push_back(
        absl::StrCat("the manager does not tell the snapshot schedules: ",
                     pool.schedules_unseen()));
  }
  if (pool.not_kept() > 0) {
    remarks.push_back(absl::StrCat(
        pool.not_kept(), " volumes are counted, and not kept one by one"));
  }
  return remarks;
}

std::string RemarksOnPools(const admin_pb::ListStatusResponse& seen) {
  std::string text;
  for (const admin_pb::PoolStatus& pool : seen.pools()) {
    for (const std::string& remark : RemarksOnPool(pool)) {
      absl::StrAppend(
          &text,
          CleanLine(absl::StrCat("pool '", PlaceOfPool(pool), "' of cluster '",
                                 pool.cluster_id(), "': ", remark),
                    kMaxShownText),
          "\n");
    }
  }
  for (const std::string& cluster : seen.unwatched_clusters()) {
    absl::StrAppend(&text, "cluster '", CleanLine(cluster, kMaxShownName),
                    "': no pool of it is watched, because no call has named a "
                    "volume of it; name one: rbd-addons info VOLUME\n");
  }
  if (seen.pools_left_out() > 0) {
    absl::StrAppend(&text, seen.pools_left_out(),
                    " more pools are not watched, because there are too "
                    "many\n");
  }
  return text;
}

/// Whether one of them is in a volume group.
bool AnyInGroup(const admin_pb::ListStatusResponse& seen) {
  return std::any_of(seen.volumes().begin(), seen.volumes().end(),
                     [](const admin_pb::VolumeStatus& volume) {
                       return !volume.group_id().empty();
                     });
}

std::vector<std::string> VolumeRow(const admin_pb::VolumeStatus& volume,
                                   bool groups, bool wide) {
  const bool copying = volume.state() == admin_pb::VolumeStatus::COPYING;
  std::vector<std::string> row = {
      volume.name(),
      RoleHereText(volume),
      CopyStateText(volume),
      volume.has_copy_age_seconds() ? CopyAgeText(volume.copy_age_seconds())
      : copying && volume.has_percent()
          ? absl::StrCat(volume.percent(), "% copied")
          : "",
      volume.has_interval_seconds() ? ScheduleText(volume.interval_seconds())
                                    : "",
      absl::StrJoin(volume.peers(), ", ")};
  if (groups) row.push_back(volume.group());
  if (wide) {
    row.insert(row.end(),
               {volume.cluster_id(), volume.image(), volume.volume_name(),
                volume.volume_id(), volume.image_id()});
    if (groups) row.push_back(volume.group_id());
  }
  return row;
}

/// With `wide` a second line says why a volume is not in step.
std::string VolumeTable(const admin_pb::ListStatusResponse& seen, bool wide,
                        const Palette& palette) {
  std::vector<std::vector<std::string>> rows = {
      {"VOLUME", "ROLE", "STATE", "COPY AGE", "EVERY", "PEER"}};
  const bool groups = AnyInGroup(seen);
  if (groups) rows[0].emplace_back("GROUP");
  if (wide) {
    rows[0].insert(rows[0].end(),
                   {"CLUSTER", "IMAGE", "PV", "VOLUME ID", "IMAGE ID"});
    if (groups) rows[0].emplace_back("GROUP ID");
  }
  for (const admin_pb::VolumeStatus& volume : seen.volumes()) {
    rows.push_back(VolumeRow(volume, groups, wide));
  }
  std::string table = AlignedTable(
      std::move(rows), [&](size_t row, size_t column, const std::string& cell) {
        if (row == 0 || column != kStateColumn) return cell;
        return PaintedState(seen.volumes(static_cast<int>(row) - 1).state(),
                            cell, palette);
      });
  if (!wide) return table;
  std::string text;
  int row = -1;
  for (const absl::string_view line :
       absl::StrSplit(table, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, line, "\n");
    if (row >= 0) {
      const admin_pb::VolumeStatus& volume = seen.volumes(row);
      if (volume.state() != admin_pb::VolumeStatus::IN_STEP &&
          !volume.message().empty()) {
        absl::StrAppend(&text, "  ", CleanLine(volume.message(), kMaxShownText),
                        "\n");
      }
    }
    ++row;
  }
  return text;
}

/// "3 volumes: 3 in step, ...", of all pools.
std::string NumbersOfPools(const admin_pb::ListStatusResponse& seen) {
  admin_pb::PoolStatus sum;
  for (const admin_pb::PoolStatus& pool : seen.pools()) {
    sum.set_volumes(sum.volumes() + pool.volumes());
    sum.set_in_step(sum.in_step() + pool.in_step());
    sum.set_late(sum.late() + pool.late());
    sum.set_broken(sum.broken() + pool.broken());
    sum.set_copying(sum.copying() + pool.copying());
    sum.set_unknown(sum.unknown() + pool.unknown());
  }
  return absl::StrCat(
      sum.volumes(),
      sum.volumes() == 1 ? " volume: " : " volumes: ", sum.in_step(),
      " in step, ", sum.late(), " late, ", sum.broken(), " broken, ",
      sum.copying(), " copying, ", sum.unknown(), " unknown\n");
}

bool ListsTrouble(const admin_pb::ListStatusResponse& seen) {
  for (const admin_pb::VolumeStatus& volume : seen.volumes()) {
    if (volume.state() != admin_pb::VolumeStatus::IN_STEP &&
        volume.state() != admin_pb::VolumeStatus::COPYING) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string StatusText(const admin_pb::ListStatusResponse& seen,
                       const StatusForm& form, const Palette& palette) {
  if (!seen.not_watched().empty()) {
    return absl::StrCat(CleanLine(seen.not_watched(), kMaxShownText), "\n");
  }
  std::string text = absl::StrCat(PoolTable(seen), RemarksOnPools(seen), "\n");
  if (!seen.volumes().empty()) {
    absl::StrAppend(&text, VolumeTable(seen, form.wide, palette));
  } else if (!form.text.empty()) {
    absl::StrAppend(&text, "no volume", form.trouble_only ? " in trouble" : "",
                    " has '", CleanLine(form.text, kMaxShownName), "' in it\n");
  } else if (form.trouble_only) {
    absl::StrAppend(&text, "no volume is late, broken or unknown\n");
  } else {
    absl::StrAppend(&text, "no volume under replication is seen\n");
  }
  absl::StrAppend(&text, NumbersOfPools(seen));
  if (!form.wide && ListsTrouble(seen)) {
    absl::StrAppend(&text, "-o wide says why, with images and ids\n");
  }
  return text;
}

}  // namespace addons
