#ifndef ADDONS_REPLICATION_SCHEDULE_STORE_H_
#define ADDONS_REPLICATION_SCHEDULE_STORE_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/pool.h"
#include "replication/look/local_record.h"
#include "replication/parameters.h"
#include "volume/resolved.h"

namespace addons {

/// nullopt: `object` has no such value, or it is no text.
std::optional<std::string> TextOf(const nlohmann::json& object,
                                  const char* name);

/// {"interval": "5m", "start_time": "03:00:00+00:00" or null}, as Ceph's
/// manager lists and keeps a schedule, and this daemon in metadata. It may be
/// one that does not run (SnapshotSchedule::Runs()). INTERNAL: it is none.
absl::StatusOr<SnapshotSchedule> ParseSchedule(const nlohmann::json& entry);

/// One as ParseSchedule() reads it.
nlohmann::json ScheduleJson(const SnapshotSchedule& schedule);

/// A JSON array of those; nullopt: it is none, or one is not understood.
std::optional<std::vector<SnapshotSchedule>> ParseSchedules(
    const std::string& text);
/// The other way round.
std::string SchedulesText(const std::vector<SnapshotSchedule>& schedules);
/// Those that a pause keeps; none where they are written in a way that this
/// version does not know.
std::vector<SnapshotSchedule> KeptSchedules(const SchedulePause& pause);

/// Where the manager's module rbd_support keeps mirror snapshot schedules: in
/// the default namespace of the pool, by "pool id/namespace/image id".
inline constexpr char kScheduleObject[] = "rbd_mirror_snapshot_schedule";

/// "pool id/namespace/", which an image's id follows.
std::string ScheduleLevelPrefix(int64_t pool_id,
                                const std::string& rados_namespace);

/// The schedules of the image with this id, not those of its pool, as the
/// manager keeps them: it writes them there before it answers a command, and
/// reads them there when it starts and every minute (16.2 to 20.2). So they are
/// what its answer would say, or newer, for one read; the manager opens the
/// image to answer, and may be away.
/// nullopt: the manager has to be asked, because they cannot be read (the user
/// of a namespace may be kept out of the default one), or are written in a way
/// that is not known. Blocks for one read.
std::optional<std::vector<SnapshotSchedule>> ReadStoredSchedules(
    const ResolvedVolume& volume, const std::string& image_id);

/// The schedules that apply to the image: its own, or else those of its
/// namespace, or else those of its pool. Empty: none of these is known; those
/// of the whole cluster are kept where most users may not read. Whether one is
/// spread is told by the manager's release. Blocks for three reads and a
/// question to the monitors at most.
std::vector<SnapshotSchedule> ReadStoredSchedulesThatApply(
    const ResolvedVolume& volume, const std::string& image_id);

/// Removes what the manager keeps of the image with this id, without asking it.
/// It reads that within a minute (16.2 to 20.2). false: there was nothing.
/// Blocks for a read and a write; errors are those of Pool.
absl::StatusOr<bool> RemoveStoredSchedules(const ResolvedVolume& volume,
                                           const std::string& image_id);

/// A schedule that does something else than its text says, or harm.
struct WrongSchedule {
  std::string level;     // "pool id/namespace/image id", or the beginning of it
  std::string image_id;  // empty: of a whole pool or namespace
  SnapshotSchedule schedule;
  std::string seen;  // what is wrong with it
};

struct WrongSchedules {
  std::vector<WrongSchedule> wrong;
  /// What is written in a way that is not known: the image's id ("": of a whole
  /// pool or namespace) by level. Such a one the manager neither runs nor lists
  /// nor drops, if it cannot read it either (16.2.15).
  std::map<std::string, std::string> unreadable;
};
/// Those among the schedules of `pool` (and its namespace), its own and its
/// images'. `whole` is its default namespace. Blocks for up to three reads;
/// errors are those of Pool.
absl::StatusOr<WrongSchedules> FindWrongSchedules(Pool& whole, Pool& pool);

}  // namespace addons

#endif  // ADDONS_REPLICATION_SCHEDULE_STORE_H_
