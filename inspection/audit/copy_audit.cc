#include "inspection/audit/copy_audit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/shell_command.h"
#include "base/status_macros.h"
#include "ceph/image_diff.h"
#include "ceph/object_map.h"
#include "replication/look/image_directory.h"

namespace addons {
namespace {

/// Objects that are asked at a time.
constexpr size_t kPerRound = 1024;
/// A workload's image gets new snapshots while it is looked at.
constexpr int kTries = 3;
constexpr size_t kMostPlaces = 3;

/// An image as a snapshot has it, or as it is now (kHead).
struct State {
  uint64_t id = kHead;
  uint64_t objects = 0;
  /// nullopt: there is none that is valid, and a copy asks each object.
  std::optional<ObjectMap> map;
};

/// What a copy from one state to a later one leaves out.
struct Gap {
  uint64_t from = 0;
  uint64_t to = kHead;
  /// Of all states from the earlier one to the later one.
  std::vector<ObjectMap> maps{};
  /// What the OSDs call changed and the maps do not.
  std::vector<uint64_t> suspects{};
  size_t compared = 0;  // of them, the first ones
  /// Of those that were compared: they hold something else.
  std::vector<uint64_t> lacking{};
  std::vector<uint64_t> places{};  // in the image, of the first ones

  bool HidesFromCopy(uint64_t object) const {
    return maps.back().At(object) != ObjectState::kNonexistent &&
           CalledUnchanged(maps, object);
  }
};

bool CanBeRolledBack(const ImageHeader& header) {
  const auto to = [](const ImageSnapshot& snapshot) {
    return snapshot.kind == SnapshotKind::kUser ||
           snapshot.kind == SnapshotKind::kGroup;
  };
  return PrimaryBySnapshots(header.mirror_snapshots) && !header.has_parent &&
         std::any_of(header.other_snapshots.begin(),
                     header.other_snapshots.end(), to);
}

/// All snapshots, ascending.
std::vector<uint64_t> SnapshotIds(const ImageHeader& header) {
  std::vector<uint64_t> ids;
  for (const auto& snapshot : header.mirror_snapshots) {
    ids.push_back(snapshot.id);
  }
  for (const auto& snapshot : header.other_snapshots) {
    ids.push_back(snapshot.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// Those that a copy has been or will be made from, the newest first. A copied
/// one reads as what was there before it came.
std::vector<uint64_t> NewestOfPrimary(const ImageHeader& header) {
  std::vector<uint64_t> ids;
  for (auto one = header.mirror_snapshots.rbegin();
       one != header.mirror_snapshots.rend() && ids.size() < 2; ++one) {
    if (one->copied()) break;
    if (one->complete) ids.push_back(one->id);
  }
  return ids;
}

/// The first byte that differs; where one ends the rest of it is zeros.
std::optional<uint64_t> Difference(const std::string& one,
                                   const std::string& other) {
  const std::string& longer = one.size() < other.size() ? other : one;
  const size_t common = std::min(one.size(), other.size());
  const auto differs =
      std::mismatch(one.begin(), one.begin() + static_cast<ptrdiff_t>(common),
                    other.begin())
          .first;
  const auto at = static_cast<uint64_t>(differs - one.begin());
  if (at < common) return at;
  const size_t rest = longer.find_first_not_of('\0', common);
  if (rest == std::string::npos) return std::nullopt;
  return rest;
}

/// One image that is looked at.
class CopyAudit {
 public:
  CopyAudit(Pool& pool, Cluster& cluster, std::string image_id,
            const CopyAuditOptions& options, const std::stop_token& stop)
      : pool_(pool),
        cluster_(cluster),
        image_id_(std::move(image_id)),
        options_(options),
        stop_(stop) {}

  /// ABORTED: it got other snapshots meanwhile. NOT_FOUND: it is gone.
  absl::Status Run() {
    gaps_.clear();
    ADDONS_ASSIGN_OR_RETURN(const ImageHeader header, pool_.Header(image_id_));
    if (!CanBeRolledBack(header)) return absl::OkStatus();
    const std::vector<uint64_t> newest = NewestOfPrimary(header);
    if (newest.empty()) return absl::OkStatus();
    ADDONS_RETURN_IF_ERROR(ReadStates(header, newest.back()));
    if (newest.size() == 2) AddGap(newest[1], newest[0]);
    AddGap(newest[0], kHead);
    if (gaps_.empty()) return absl::OkStatus();

    ADDONS_ASSIGN_OR_RETURN(
        data_, cluster_.OpenPool(layout_.data_pool_id, pool_.rados_namespace(),
                                 Access::kRead));
    ADDONS_RETURN_IF_ERROR(FindSuspects());
    for (Gap& gap : gaps_) ADDONS_RETURN_IF_ERROR(Compare(gap));
    ADDONS_RETURN_IF_ERROR(LeaveOutWhatIsWritten());
    ADDONS_ASSIGN_OR_RETURN(const ImageHeader now, pool_.Header(image_id_));
    return SnapshotIds(now) == SnapshotIds(header)
               ? absl::OkStatus()
               : absl::AbortedError("it got other snapshots meanwhile");
  }

  const std::string& spec() const { return spec_; }
  const std::vector<Gap>& gaps() const { return gaps_; }

 private:
  absl::Status ReadStates(const ImageHeader& header, uint64_t first) {
    states_.clear();
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                            pool_.OpenImageByIdReadOnly(image_id_));
    spec_ = pool_.Spec(image->name());
    ADDONS_ASSIGN_OR_RETURN(layout_, image->Layout());
    ADDONS_ASSIGN_OR_RETURN(const State head, ReadState(*image, kHead));
    for (const uint64_t id : SnapshotIds(header)) {
      if (id < first) continue;
      absl::Status selected = image->SelectSnapshot(id);
      if (absl::IsNotFound(selected)) {
        return absl::AbortedError("a snapshot was removed meanwhile");
      }
      ADDONS_RETURN_IF_ERROR(selected);
      ADDONS_ASSIGN_OR_RETURN(State state, ReadState(*image, id));
      states_.push_back(std::move(state));
    }
    states_.push_back(head);
    return image->Close();
  }

  absl::StatusOr<State> ReadState(Image& image, uint64_t id) {
    State state;
    state.id = id;
    ADDONS_ASSIGN_OR_RETURN(const ImageSize size, image.Size());
    ADDONS_ASSIGN_OR_RETURN(const ImageFeatures features, image.Features());
    state.objects = size.objects;
    if (!features.fast_diff) return state;
    ADDONS_ASSIGN_OR_RETURN(state.map,
                            ReadObjectMap(pool_, image_id_, id, size.objects));
    if (state.map && state.map->objects() < size.objects) state.map.reset();
    return state;
  }

  /// Not where a map is missing between: then a copy looks at each object.
  void AddGap(uint64_t from, uint64_t to) {
    Gap gap{from, to};
    for (const State& state : states_) {
      if (state.id < from || state.id > to) continue;
      if (!state.map) return;
      gap.maps.push_back(*state.map);
    }
    gaps_.push_back(std::move(gap));
  }

  absl::Status FindSuspects() {
    uint64_t objects = 0;
    for (const State& state : states_) {
      objects = std::max(objects, state.objects);
    }
    std::vector<uint64_t> asked;
    for (uint64_t object = 0; object < objects; ++object) {
      if (std::any_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
            return gap.HidesFromCopy(object);
          })) {
        asked.push_back(object);
      }
      if (asked.size() == kPerRound) ADDONS_RETURN_IF_ERROR(Ask(&asked));
    }
    return Ask(&asked);
  }

  absl::Status Ask(std::vector<uint64_t>* asked) {
    if (asked->empty()) return absl::OkStatus();
    if (stop_.stop_requested()) {
      return absl::CancelledError("nobody waits for the audit any more");
    }
    std::vector<std::string> names;
    for (const uint64_t object : *asked) {
      names.push_back(DataObjectName(layout_, object));
    }
    ADDONS_ASSIGN_OR_RETURN(const std::vector<ObjectSnapshots> found,
                            data_->ListSnapshots(names));
    for (size_t i = 0; i < found.size(); ++i) {
      for (Gap& gap : gaps_) {
        if (gap.HidesFromCopy((*asked)[i]) &&
            !ObjectDifference(found[i], {gap.from, gap.to}).empty()) {
          gap.suspects.push_back((*asked)[i]);
        }
      }
    }
    asked->clear();
    return absl::OkStatus();
  }

  /// Space reclaim changes objects without changing what they hold, and so does
  /// a rollback of what was written since the mirror snapshot.
  absl::Status Compare(Gap& gap) {
    gap.compared = std::min(gap.suspects.size(), options_.most_compared);
    for (size_t i = 0; i < gap.compared; ++i) {
      if (stop_.stop_requested()) {
        return absl::CancelledError("nobody waits for the audit any more");
      }
      const uint64_t object = gap.suspects[i];
      ADDONS_ASSIGN_OR_RETURN(const std::string before,
                              Content(object, gap.from));
      ADDONS_ASSIGN_OR_RETURN(const std::string after, Content(object, gap.to));
      const std::optional<uint64_t> differs = Difference(before, after);
      if (!differs) continue;
      gap.lacking.push_back(object);
      std::vector<ImageRange> range;
      AddImageRanges(layout_, object, {*differs, 1}, &range);
      gap.places.push_back(range.front().offset);
    }
    return absl::OkStatus();
  }

  /// Who writes notes it in the map before.
  absl::Status LeaveOutWhatIsWritten() {
    Gap& gap = gaps_.back();
    if (gap.to != kHead || gap.lacking.empty()) return absl::OkStatus();
    ADDONS_ASSIGN_OR_RETURN(
        const std::optional<ObjectMap> now,
        ReadObjectMap(pool_, image_id_, kHead, states_.back().objects));
    if (!now) return absl::AbortedError("the object map was removed meanwhile");
    gap.maps.back() = *now;
    std::vector<uint64_t> lacking;
    std::vector<uint64_t> places;
    for (size_t i = 0; i < gap.lacking.size(); ++i) {
      if (!gap.HidesFromCopy(gap.lacking[i])) continue;
      lacking.push_back(gap.lacking[i]);
      places.push_back(gap.places[i]);
    }
    gap.lacking = std::move(lacking);
    gap.places = std::move(places);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Content(uint64_t object, uint64_t state) {
    ADDONS_ASSIGN_OR_RETURN(const std::optional<StoredObject> found,
                            data_->ReadObject(DataObjectName(layout_, object),
                                              state, layout_.object_bytes));
    return found ? found->bytes : "";
  }

  Pool& pool_;
  Cluster& cluster_;
  const std::string image_id_;
  const CopyAuditOptions& options_;
  const std::stop_token& stop_;
  std::string spec_;
  ImageLayout layout_;
  std::vector<State> states_;  // in their order; the last one is the head
  std::unique_ptr<Pool> data_;
  std::vector<Gap> gaps_;
};

/// "3 objects (from byte 0, byte 8192 ... on)".
std::string Describe(const Gap& gap) {
  const size_t shown = std::min(gap.places.size(), kMostPlaces);
  const bool all = gap.compared == gap.suspects.size();
  const size_t count = gap.lacking.size();
  return absl::StrCat(
      all ? "" : "at least ", count, count == 1 ? " object" : " objects",
      " (from byte ",
      absl::StrJoin(gap.places.begin(),
                    gap.places.begin() + static_cast<ptrdiff_t>(shown),
                    ", byte "),
      shown < count ? " ... on)" : " on)");
}

void Tell(AuditedPlace& place, const std::string& spec, const Gap& gap) {
  const bool head = gap.to == kHead;
  if (gap.lacking.empty()) {
    if (gap.compared == gap.suspects.size()) return;
    return place.Unclear(
        AuditKind::kCopies, spec,
        absl::StrCat("its object map calls ", gap.suspects.size(),
                     " objects unchanged that were written ",
                     head ? "since its newest mirror snapshot"
                          : "between its two newest mirror snapshots",
                     "; the first ", gap.compared,
                     " hold what they held before, the others were not "
                     "compared"));
  }
  if (head) {
    return place.Found(
        AuditKind::kCopies, spec,
        absl::StrCat(Describe(gap),
                     " changed since its newest mirror snapshot, and its "
                     "object map calls them unchanged, as after a rollback to "
                     "a snapshot: the next one will not bring them to the "
                     "other site. Before it is made"),
        ShellCommand({"rbd", "object-map", "rebuild", spec}));
  }
  place.Found(
      AuditKind::kCopies, spec,
      absl::StrCat(Describe(gap),
                   " changed between its two newest mirror snapshots, and its "
                   "object map calls them unchanged, as after a rollback to a "
                   "snapshot: the other site's copy lacks them. There, unless "
                   "the copy was made anew since"),
      ShellCommand({"rbd", "mirror", "image", "resync", spec}));
}

}  // namespace

absl::Status AuditCopies(AuditedPlace& place, Cluster& cluster,
                         const CopyAuditOptions& options,
                         const std::stop_token& stop) {
  const auto ids = ReadMirroredImageIds(place.pool);
  if (!ids.ok()) {
    place.NotSeen(AuditKind::kCopies, place.pool.Spec(""), ids.status());
    return absl::OkStatus();
  }
  for (const std::string& id : *ids) {
    CopyAudit audit(place.pool, cluster, id, options, stop);
    absl::Status seen = audit.Run();
    for (int i = 1; i < kTries && absl::IsAborted(seen); ++i) {
      seen = audit.Run();
    }
    if (absl::IsCancelled(seen)) return seen;
    if (absl::IsNotFound(seen)) continue;  // removed meanwhile
    const std::string spec =
        audit.spec().empty() ? place.pool.Spec(id) : audit.spec();
    if (!seen.ok()) {
      place.NotSeen(AuditKind::kCopies, spec, seen);
      continue;
    }
    for (const Gap& gap : audit.gaps()) Tell(place, spec, gap);
  }
  return absl::OkStatus();
}

}  // namespace addons
