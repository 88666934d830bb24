#include "inspection/find_volume.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "inspection/named_pool.h"
#include "volume/pools.h"
#include "volume/resolved.h"
#include "volume/volume_directory.h"
#include "volume/volume_id.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

constexpr size_t kShownPlaces = 10;

std::string DescribePlace(const ResolvedPlace& place) {
  return absl::StrCat(
      "pool '", place.pool_name, place.rados_namespace.empty() ? "" : "/",
      place.rados_namespace, "' of cluster '", place.cluster_id.text(), "'");
}

std::string DescribeFound(const FoundVolume& found) {
  return absl::StrCat("'", found.volume_id, "' (image '", found.image,
                      "' of cluster '", found.cluster_id.text(), "')");
}

/// The first of `texts`, and how many there are besides.
std::string Some(const std::vector<std::string>& texts) {
  const size_t shown = std::min(texts.size(), kShownPlaces);
  const auto end = texts.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string text = absl::StrJoin(texts.begin(), end, ", ");
  if (texts.size() > shown) {
    absl::StrAppend(&text, " and ", texts.size() - shown, " more");
  }
  return text;
}

/// One search, which remembers where it has looked, and where it could not.
class NameSearch {
 public:
  NameSearch(ClusterProvider& clusters, const std::string& instance_id,
             const VolumeName& name)
      : clusters_(clusters), instance_id_(instance_id), name_(name) {}

  /// What the user of the call may not read, no verb could change for it.
  void NotSeen(const std::string& where, const absl::Status& status) {
    if (absl::IsPermissionDenied(status)) {
      refused_.push_back(where);
      denied_.Update(status);
      return;
    }
    unseen_.push_back(absl::StrCat(where, ": ", status.message()));
    // That something on the way is gone is no answer.
    first_.Update(absl::IsNotFound(status)
                      ? absl::UnavailableError(status.message())
                      : status);
  }
  void Look(const ClusterEntry& entry);
  absl::StatusOr<FoundVolume> Result();

 private:
  using Pools = std::map<int64_t, std::string>;

  absl::Status LookIn(const ResolvedPlace& place, const Pools& pools);
  absl::StatusOr<std::optional<ResolvedPlace>> OfImage(ResolvedPlace place);
  void NoteWithoutEntry(Pool& pool);
  void NoteMirrored(const ResolvedPlace& place);
  /// Of a PersistentVolume; `image` is what its entry of the journal says.
  absl::StatusOr<std::optional<ResolvedPlace>> OfRequest(ResolvedPlace place,
                                                         const Pools& pools,
                                                         std::string* image);

  ClusterProvider& clusters_;
  const std::string& instance_id_;
  const VolumeName& name_;
  std::set<std::pair<std::string, std::string>> seen_;  // fsid and namespace
  std::vector<std::string> looked_;
  std::vector<std::string> unseen_;
  std::vector<std::string> refused_;  // the user may not look there
  std::string without_entry_;         // of an image that is there, or may be
  std::map<std::string, FoundVolume> found_;  // by id
  absl::Status first_;
  absl::Status denied_;
};

absl::StatusOr<std::optional<ResolvedPlace>> NameSearch::OfImage(
    ResolvedPlace place) {
  ADDONS_ASSIGN_OR_RETURN(const auto pool, place.OpenPool(Access::kRead));
  auto entry = FindEntryOfImage(*pool, ImageName(name_.image));
  if (absl::IsNotFound(entry.status())) {
    NoteWithoutEntry(*pool);
    return std::nullopt;
  }
  ADDONS_RETURN_IF_ERROR(entry.status());
  place.uuid = std::move(entry->uuid);
  return place;
}

/// The image may be there all the same: that tells what to do. Errors here do
/// not matter any more.
void NameSearch::NoteWithoutEntry(Pool& pool) {
  const auto id = FindImageId(pool, ImageName(name_.image));
  if (!id.ok()) return;
  const std::string spec = pool.Spec(name_.image);
  if (UuidIn(ImageName(name_.image)).empty()) {
    without_entry_ = absl::StrCat(
        "image '", spec,
        "' is there, but its name does not end with a uuid, so ceph-csi did "
        "not make it, and it has no volume id");
    return;
  }
  const auto record = pool.MirrorRecord(*id);
  const bool mirrored = record.ok() && record->has_value();
  without_entry_ =
      mirrored ? absl::StrCat(
                     "image '", spec,
                     "' is there and mirrored, but ceph-csi's journal on this "
                     "site has no entry of it: `rbd-addons adopt ",
                     spec, " --yes` writes it")
               : absl::StrCat("image '", spec,
                              "' is there, but ceph-csi's journal on this site "
                              "has no entry of it");
}

/// Ceph mirrors images, and not ceph-csi's journal, which has the names. An
/// image that is not there was not mirrored.
void NameSearch::NoteMirrored(const ResolvedPlace& place) {
  if (!without_entry_.empty() || !name_.image.empty()) return;
  const auto pool = place.OpenPool(Access::kRead);
  if (!pool.ok()) return;
  const auto mode = (*pool)->MirrorMode();
  if (!mode.ok() || *mode == PoolMirrorMode::kDisabled) return;
  without_entry_ = absl::StrCat(
      "where it was mirrored to this site, the journal here does not have its "
      "name yet: `rbd-addons adopt --pool ",
      place.pool_name, "` makes such volumes known");
}

absl::StatusOr<std::optional<ResolvedPlace>> NameSearch::OfRequest(
    ResolvedPlace place, const Pools& pools, std::string* image) {
  ADDONS_ASSIGN_OR_RETURN(auto pool, place.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(
      const auto entry, VolumeDirectory(*pool, instance_id_).Find(name_.text));
  if (!entry.has_value()) return std::nullopt;
  if (entry->pool_id.has_value() && *entry->pool_id != place.pool_id) {
    const auto image_pool = pools.find(*entry->pool_id);
    if (image_pool == pools.end()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "its journal has the name, with an image in the pool with id ",
          *entry->pool_id, ", which this cluster does not have"));
    }
    place.pool_id = image_pool->first;
    place.pool_name = image_pool->second;
    ADDONS_ASSIGN_OR_RETURN(pool, place.OpenPool(Access::kRead));
  }
  const auto attributes = VolumeJournal(*pool).Read(entry->uuid);
  // A name that a creation or deletion left which did not end.
  if (absl::IsNotFound(attributes.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(attributes.status());
  if (attributes->request_name != name_.text) return std::nullopt;
  place.uuid = entry->uuid;
  *image = attributes->image_name.text();
  return place;
}

absl::Status NameSearch::LookIn(const ResolvedPlace& place,
                                const Pools& pools) {
  std::string image = name_.image;
  ADDONS_ASSIGN_OR_RETURN(const auto at, image.empty()
                                             ? OfRequest(place, pools, &image)
                                             : OfImage(place));
  looked_.push_back(DescribePlace(place));
  if (!at.has_value()) {
    NoteMirrored(place);
    return absl::OkStatus();
  }
  VolumeId id;
  id.cluster_id = at->cluster_id;
  id.pool_id = at->pool_id;
  id.uuid = at->uuid;
  ADDONS_ASSIGN_OR_RETURN(std::string volume_id, id.ToString());
  FoundVolume found{volume_id, at->cluster_id, at->Spec(image)};
  found_.emplace(std::move(volume_id), std::move(found));
  return absl::OkStatus();
}

void NameSearch::Look(const ClusterEntry& entry) {
  if (!name_.image.empty() && entry.rados_namespace != name_.rados_namespace) {
    return;
  }
  ResolvedPlace place;
  place.cluster_id = entry.cluster_id;
  place.rados_namespace = entry.rados_namespace;
  const std::string cluster =
      absl::StrCat("cluster '", entry.cluster_id.text(), "'");
  auto connected =
      clusters_.Connect({entry.cluster_id, entry.monitors}, name_.user);
  if (!connected.ok()) return NotSeen(cluster, connected.status());
  place.cluster = *std::move(connected);
  // Two ids may mean one cluster.
  if (!seen_.emplace(place.cluster->fsid(), entry.rados_namespace).second) {
    return;
  }
  const auto pools = ListPools(*place.cluster);
  if (!pools.ok()) return NotSeen(cluster, pools.status());
  bool any = false;
  for (const auto& [id, name] : *pools) {
    if (name_.pool.empty() ? absl::StartsWith(name, ".") : name != name_.pool) {
      continue;
    }
    any = true;
    place.pool_id = id;
    place.pool_name = name;
    const absl::Status looked = LookIn(place, *pools);
    if (!looked.ok()) NotSeen(DescribePlace(place), looked);
  }
  if (!any) {
    looked_.push_back(
        name_.pool.empty()
            ? absl::StrCat(cluster, ", which has no pools")
            : absl::StrCat(cluster, ", which has no pool '", name_.pool, "'"));
  }
}

absl::StatusOr<FoundVolume> NameSearch::Result() {
  std::vector<std::string> found;
  found.reserve(found_.size());
  for (const auto& [id, volume] : found_) {
    found.push_back(DescribeFound(volume));
  }
  if (found.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", name_.text, "' names several volumes: ", Some(found),
                     "; say which one by its id, or by its cluster and pool"));
  }
  if (!unseen_.empty()) {
    const std::string so_far =
        found.empty() ? "" : absl::StrCat("; found so far: ", found.front());
    return Annotate(
        first_, absl::StrCat(
                    "Failed to look everywhere for volume '", name_.text,
                    "' (not looked at: ", Some(unseen_), so_far,
                    "); say its id, or its cluster and pool. The first error"));
  }
  if (!found.empty()) {
    FoundVolume volume = found_.begin()->second;
    volume.refused_places = refused_;
    return volume;
  }
  if (!refused_.empty()) {
    return Annotate(
        denied_,
        absl::StrCat("volume '", name_.text,
                     "' is nowhere that this user may read (not looked at: ",
                     Some(refused_),
                     "); name it by its id or as POOL/IMAGE, "
                     "with a user who may read its pool",
                     without_entry_.empty() ? "" : "; ", without_entry_,
                     ". The first error"));
  }
  if (looked_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "config.json has no cluster of this site with the namespace '",
        name_.rados_namespace, "', so volume '", name_.text,
        "' was looked for nowhere"));
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no volume '", name_.text, "'; looked at: ", Some(looked_),
      without_entry_.empty() ? "" : "; ", without_entry_));
}

/// Entries of config.json that cannot be used are places, too.
void NoteBrokenEntries(const ClusterConfig& config,
                       const ConfigStore::Troubles& troubles,
                       const std::vector<ClusterId>& home, NameSearch& search) {
  for (const ClusterId& cluster_id : home) {
    const absl::Status usable = config.Find(cluster_id).status();
    if (usable.ok()) continue;
    search.NotSeen(absl::StrCat("cluster '", cluster_id.text(), "'"),
                   absl::FailedPreconditionError(usable.message()));
  }
  if (!home.empty()) return;
  for (const std::string& trouble : troubles.entries) {
    search.NotSeen("config.json", absl::FailedPreconditionError(trouble));
  }
}

}  // namespace

absl::StatusOr<VolumeName> VolumeName::Parse(absl::string_view text,
                                             absl::string_view pool) {
  const auto wrong = [](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("name: ", what));
  };
  if (text.empty()) return wrong("is missing");
  if (!std::all_of(text.begin(), text.end(),
                   [](unsigned char c) { return !absl::ascii_iscntrl(c); })) {
    return wrong("has control characters");
  }
  VolumeName name;
  name.text = std::string(text);
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  if (parts.size() == 1) {
    name.pool = std::string(pool);
    return name;
  }
  if (parts.size() > 3 || std::count(parts.begin(), parts.end(), "") > 0) {
    return wrong("is neither POOL/IMAGE nor POOL/NAMESPACE/IMAGE");
  }
  if (!pool.empty()) return wrong("says the pool, and so does the field pool");
  name.pool = parts.front();
  name.image = parts.back();
  if (parts.size() == 3) name.rados_namespace = parts[1];
  return name;
}

absl::StatusOr<FoundVolume> FindVolume(ConfigStore& config,
                                       ClusterProvider& clusters,
                                       const std::vector<ClusterId>& home,
                                       const std::string& instance_id,
                                       const VolumeName& name) {
  ADDONS_ASSIGN_OR_RETURN(const auto current, config.Current());
  ADDONS_ASSIGN_OR_RETURN(const auto entries,
                          FindEntries(*current, home, name.cluster_id));
  return RetryWhenBlocklisted([&] {
    NameSearch search(clusters, instance_id, name);
    if (name.cluster_id.empty()) {
      NoteBrokenEntries(*current, config.troubles(), home, search);
    }
    for (const ClusterEntry* const entry : entries) search.Look(*entry);
    return search.Result();
  });
}

}  // namespace addons
