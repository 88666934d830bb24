#include "admin/status_service.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "watch/copy_state.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

// Of what others have written; messages name several sites.
constexpr size_t kMostName = 600;
constexpr size_t kMostMessage = 1200;
constexpr size_t kMostPoolsNamed = 10;

std::string Shown(absl::string_view text) { return CleanLine(text, kMostName); }

template <typename Number>
uint32_t Clamped(Number number) {
  constexpr Number kMost = std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::clamp<Number>(number, 0, kMost));
}

/// "pool" or "pool/namespace".
std::string PlaceIn(const WatchedPool& pool) {
  return pool.rados_namespace.empty()
             ? pool.pool
             : absl::StrCat(pool.pool, "/", pool.rados_namespace);
}

struct Row {
  const WatchedPool* pool;
  const WatchedImage* image;
  CopyState state;
  std::string place;  // "pool/image"
  std::string name;
};

Row RowOf(const WatchedPool& pool, const WatchedImage& image, SteadyTime now) {
  return {&pool, &image, CopyStateAt(pool, image, now), SpecOf(pool, image),
          NameOf(pool, image)};
}

/// What a request asks for.
class Filter {
 public:
  explicit Filter(const admin_pb::ListStatusRequest& request)
      : cluster_id_(request.cluster_id()),
        pool_(request.pool()),
        text_(absl::AsciiStrToLower(request.text())),
        trouble_only_(request.trouble_only()) {}

  bool Shows(const WatchedPool& pool) const {
    return (cluster_id_.empty() || pool.cluster_id == cluster_id_) &&
           (pool_.empty() || pool.pool == pool_);
  }
  bool Shows(const Row& row) const {
    if (trouble_only_ &&
        (row.state == CopyState::kInStep || row.state == CopyState::kCopying)) {
      return false;
    }
    if (text_.empty()) return true;
    const WatchedImage& image = *row.image;
    const auto has = [this](absl::string_view whole) {
      return absl::StrContains(absl::AsciiStrToLower(whole), text_);
    };
    return has(row.name) || has(row.place) || has(image.volume_name) ||
           has(image.volume_id) || has(image.message) ||
           has(image.group.name) || has(image.group.id) ||
           has(row.pool->cluster_id);
  }
  bool ShowsCluster(const std::string& cluster_id) const {
    return pool_.empty() && (cluster_id_.empty() || cluster_id == cluster_id_);
  }
  /// Why it shows no pool, although some are watched.
  std::string WhyNoPool(const WatchSnapshot& seen) const {
    std::vector<std::string> watched;
    for (const WatchedPool& pool : seen.pools) {
      if (watched.size() == kMostPoolsNamed) {
        watched.emplace_back("...");
        break;
      }
      watched.push_back(absl::StrCat(pool.cluster_id, "/", PlaceIn(pool)));
    }
    return absl::StrCat(
        "no pool ", pool_.empty() ? "" : absl::StrCat("'", pool_, "' "),
        cluster_id_.empty() ? ""
                            : absl::StrCat("of cluster '", cluster_id_, "' "),
        "is watched; these are: ", absl::StrJoin(watched, ", "),
        ". A pool is watched once a call has named a volume of it: "
        "rbd-addons info VOLUME");
  }

 private:
  const std::string cluster_id_;
  const std::string pool_;
  const std::string text_;
  const bool trouble_only_;
};

/// Where a page begins: in the snapshot with this number, after so many rows.
struct Place {
  uint64_t number = 0;
  uint64_t rows = 0;
};

absl::StatusOr<Place> ParseToken(const std::string& token,
                                 uint64_t newest_number) {
  if (token.empty()) return Place{newest_number, 0};
  Place place;
  const std::vector<std::string> parts = absl::StrSplit(token, '-');
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &place.number) ||
      !absl::SimpleAtoi(parts[1], &place.rows)) {
    return InvalidField("token", "is none that this method has given");
  }
  if (place.number != newest_number) {
    return absl::AbortedError(
        "what is known has changed since the page before: begin with the "
        "first page again");
  }
  return place;
}

admin_pb::VolumeStatus::State StateOf(CopyState state) {
  switch (state) {
    case CopyState::kInStep:
      return admin_pb::VolumeStatus::IN_STEP;
    case CopyState::kCopying:
      return admin_pb::VolumeStatus::COPYING;
    case CopyState::kLate:
      return admin_pb::VolumeStatus::LATE;
    case CopyState::kBroken:
      return admin_pb::VolumeStatus::BROKEN;
    case CopyState::kUnknown:
      break;
  }
  return admin_pb::VolumeStatus::UNKNOWN;
}

admin_pb::VolumeStatus::Role RoleOf(WatchedRole role) {
  switch (role) {
    case WatchedRole::kPrimary:
      return admin_pb::VolumeStatus::PRIMARY;
    case WatchedRole::kSecondary:
      return admin_pb::VolumeStatus::SECONDARY;
    case WatchedRole::kUnclear:
      break;
  }
  return admin_pb::VolumeStatus::UNCLEAR;
}

void Fill(const WatchedPool& pool, SteadyTime now,
          admin_pb::PoolStatus* filled) {
  filled->set_cluster_id(Shown(pool.cluster_id));
  filled->set_pool(Shown(pool.pool));
  filled->set_rados_namespace(Shown(pool.rados_namespace));
  for (const std::string& peer : pool.peers) filled->add_peers(Shown(peer));
  if (pool.seen_at.has_value()) {
    filled->set_seen_seconds_ago(Clamped<int64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(now - *pool.seen_at)
            .count()));
  }
  filled->set_unseen(CleanLine(pool.unseen, kMostMessage));
  if (pool.blocklisted_since.has_value()) {
    filled->set_blocklisted_seconds(
        Clamped<int64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                             now - *pool.blocklisted_since)
                             .count()));
  }
  filled->set_schedules_unseen(CleanLine(pool.schedules_unseen, kMostMessage));
  const CopyStateCounts counts = CountStatesAt(pool, now);
  const auto count = [&counts](CopyState state) {
    return Clamped<size_t>(counts.at(static_cast<size_t>(state)));
  };
  const auto role = [&pool](WatchedRole which) {
    return Clamped<size_t>(pool.by_role.at(static_cast<size_t>(which)));
  };
  filled->set_volumes(Clamped<size_t>(pool.total));
  filled->set_in_step(count(CopyState::kInStep));
  filled->set_copying(count(CopyState::kCopying));
  filled->set_late(count(CopyState::kLate));
  filled->set_broken(count(CopyState::kBroken));
  filled->set_unknown(count(CopyState::kUnknown));
  filled->set_primary(role(WatchedRole::kPrimary));
  filled->set_secondary(role(WatchedRole::kSecondary));
  filled->set_unclear(role(WatchedRole::kUnclear));
  filled->set_not_kept(Clamped<size_t>(pool.truncated()));
  if (pool.local_mirror_up.has_value()) {
    filled->set_local_mirror_reports(*pool.local_mirror_up);
  }
  if (pool.peer_mirror_up.has_value()) {
    filled->set_peer_mirror_reports(*pool.peer_mirror_up);
  }
}

void Fill(const Row& row, SteadyTime now, admin_pb::VolumeStatus* filled) {
  const WatchedImage& image = *row.image;
  filled->set_name(Shown(row.name));
  filled->set_claim(Shown(image.claim));
  filled->set_volume_name(Shown(image.volume_name));
  filled->set_volume_id(Shown(image.volume_id));
  filled->set_cluster_id(Shown(row.pool->cluster_id));
  filled->set_image(Shown(row.place));
  filled->set_image_id(Shown(image.image_id));
  filled->set_role(RoleOf(image.role));
  filled->set_state(StateOf(row.state));
  if (image.last_sync.has_value()) {
    filled->mutable_last_copy()->set_seconds(*image.last_sync);
  }
  if (const auto age = CopyAgeAt(*row.pool, image, now); age.has_value()) {
    filled->set_copy_age_seconds(Clamped<int64_t>(*age));
  }
  if (image.interval_seconds.has_value()) {
    filled->set_interval_seconds(Clamped<int64_t>(*image.interval_seconds));
  }
  for (const std::string& peer : row.pool->peers) {
    filled->add_peers(Shown(peer));
  }
  if (image.percent.has_value()) {
    filled->set_percent(Clamped<int64_t>(*image.percent));
  }
  if (image.bytes_remaining.value_or(-1) >= 0) {
    filled->set_bytes_remaining(static_cast<uint64_t>(*image.bytes_remaining));
  }
  filled->set_message(CleanLine(image.message, kMostMessage));
  filled->set_group(Shown(image.group.name));
  filled->set_group_id(Shown(image.group.id));
}

/// Trouble first, then by name.
std::vector<Row> RowsOf(const WatchSnapshot& seen, const Filter& filter,
                        SteadyTime now) {
  std::vector<Row> rows;
  for (const WatchedPool& pool : seen.pools) {
    if (!filter.Shows(pool)) continue;
    for (const WatchedImage& image : pool.images) {
      Row row = RowOf(pool, image, now);
      if (filter.Shows(row)) rows.push_back(std::move(row));
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(b.state, a.name, a.pool->cluster_id, a.place) <
           std::tie(a.state, b.name, b.pool->cluster_id, b.place);
  });
  return rows;
}

}  // namespace

StatusService::StatusService(Rpc& rpc, StatusSources sources)
    : rpc_(rpc), sources_(std::move(sources)) {}

std::string StatusService::WhyNothing(const WatchSnapshot* seen) const {
  if (!sources_.replicates) {
    return "this daemon serves a node and watches no volume; ask the daemon "
           "that runs with --controllerserver";
  }
  if (seen == nullptr) {
    return "replication is not watched, because the daemon runs with "
           "--watch-interval 0; start it with another one (the default is "
           "60s)";
  }
  if (!seen->pools.empty()) return "";
  const auto clusters = sources_.clusters();
  if (!clusters.ok()) {
    return absl::StrCat(
        "nothing is watched, because the configuration cannot "
        "be read: ",
        clusters.status().message());
  }
  if (clusters->empty()) {
    return "nothing is watched, because config.json has no cluster of this "
           "site; add one (--site-clusters says which are this site's)";
  }
  if (!seen->own_trouble.empty()) {
    return absl::StrCat(
        "nothing is watched, because --watch-user finds nothing: ",
        seen->own_trouble);
  }
  if (sources_.named != nullptr && sources_.named() > 0) {
    return "nothing was looked at yet of what calls have named a moment ago: "
           "the first look follows within half a minute";
  }
  return "nothing is watched yet: since the daemon's start, or in the last "
         "day, no call has named a volume under replication. Name one of each "
         "pool: rbd-addons info VOLUME; or start the daemon with --watch-user";
}

absl::Status StatusService::Answer(
    const admin_pb::ListStatusRequest& request,
    admin_pb::ListStatusResponse* response) const {
  const std::shared_ptr<const WatchSnapshot> seen = sources_.watched();
  ADDONS_ASSIGN_OR_RETURN(
      const Place begin,
      ParseToken(request.token(), seen == nullptr ? 0 : seen->number));
  response->set_not_watched(WhyNothing(seen.get()));
  if (!response->not_watched().empty()) return absl::OkStatus();

  const Filter filter(request);
  const SteadyTime now = rpc_.clock().Now();
  for (const WatchedPool& pool : seen->pools) {
    if (filter.Shows(pool)) Fill(pool, now, response->add_pools());
  }
  if (response->pools().empty()) {
    response->set_not_watched(filter.WhyNoPool(*seen));
    return absl::OkStatus();
  }
  response->set_pools_left_out(Clamped<size_t>(seen->pools_left_out));
  const auto clusters = sources_.clusters();
  for (const std::string& id :
       clusters.ok() ? *clusters : std::vector<std::string>()) {
    const bool watched = std::any_of(
        seen->pools.begin(), seen->pools.end(),
        [&id](const WatchedPool& pool) { return pool.cluster_id == id; });
    if (!watched && filter.ShowsCluster(id)) {
      response->add_unwatched_clusters(Shown(id));
    }
  }

  const std::vector<Row> rows = RowsOf(*seen, filter, now);
  response->set_fitting(Clamped<size_t>(rows.size()));
  const size_t limit = std::min(
      request.limit() == 0 ? kVolumesByDefault : request.limit(), kMostVolumes);
  const size_t from = std::min<uint64_t>(begin.rows, rows.size());
  const size_t to = std::min(rows.size(), from + limit);
  for (size_t i = from; i < to; ++i) {
    Fill(rows[i], now, response->add_volumes());
  }
  if (to < rows.size()) {
    response->set_next_token(absl::StrCat(begin.number, "-", to));
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* StatusService::ListStatus(
    grpc::CallbackServerContext* context,
    const admin_pb::ListStatusRequest* request,
    admin_pb::ListStatusResponse* response) {
  return UnaryCall(rpc_, *context, *request, *response,
                   [this, request, response](const CallContext&) -> Reply {
                     return Answer(*request, response);
                   });
}

}  // namespace addons
