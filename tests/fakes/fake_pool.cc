#include "tests/fakes/fake_pool.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ceph/encoding.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"
#include "tests/fakes/groups.h"

namespace addons {
namespace {

using model::Model;
using model::Site;

/// Null: there is none.
model::Snapshot* FindSnapshot(model::Image* image, uint64_t snapshot_id) {
  if (image == nullptr) return nullptr;
  const auto found =
      std::find_if(image->snapshots.begin(), image->snapshots.end(),
                   [&](const auto& one) { return one.info.id == snapshot_id; });
  return found == image->snapshots.end() ? nullptr : &*found;
}

bool IsHeader(const model::Namespace& space, absl::string_view object) {
  return absl::ConsumePrefix(&object, "rbd_header.") &&
         Model::FindImageById(space, object) != nullptr;
}

/// What librbd notes of an image in the directory of its pool and in its
/// header; nullopt: neither is meant, or there is no such image.
std::optional<std::string> NotedByLibrbd(const model::Namespace& space,
                                         const std::string& object,
                                         const std::string& key) {
  absl::string_view rest = key;
  if (object == "rbd_directory" && absl::ConsumePrefix(&rest, "name_")) {
    const auto image = space.images.find(std::string(rest));
    if (image == space.images.end()) return std::nullopt;
    return EncodeText(image->second->id);
  }
  if (object == "rbd_directory" && absl::ConsumePrefix(&rest, "id_")) {
    const auto image = Model::FindImageById(space, std::string(rest));
    if (image == nullptr) return std::nullopt;
    return EncodeText(image->name);
  }
  if (object == "rbd_group_directory" && absl::ConsumePrefix(&rest, "id_")) {
    if (!space.groups.contains(std::string(rest))) return std::nullopt;
    return EncodeText(rest);
  }
  rest = object;
  if (!absl::ConsumePrefix(&rest, "rbd_header.")) return std::nullopt;
  const auto image = Model::FindImageById(space, std::string(rest));
  if (image == nullptr) return std::nullopt;
  if (key == "size") return EncodeNumber(image->size.bytes, 8);
  if (key == kSnapshotLimitKey && image->snapshot_limit.has_value()) {
    return EncodeNumber(*image->snapshot_limit, 8);
  }
  return std::nullopt;
}

/// Where `key` is of an image's metadata, in the image's header: removes it if
/// it has the value `expected`. false: something else is meant.
bool RemoveMetadataOf(const model::Namespace& space, const std::string& object,
                      const std::string& key, const std::string& expected,
                      bool* removed) {
  absl::string_view header = object;
  absl::string_view name = key;
  if (!absl::ConsumePrefix(&header, HeaderObject("")) ||
      !absl::ConsumePrefix(&name, kMetadataPrefix)) {
    return false;
  }
  const auto image = Model::FindImageById(space, std::string(header));
  if (image == nullptr) return false;
  const auto value = image->metadata.find(std::string(name));
  *removed = value != image->metadata.end() && value->second == expected;
  if (*removed) image->metadata.erase(value);
  return true;
}

/// What changes when something of it does.
std::string RecordOf(const MirrorSnapshot& snapshot) {
  return absl::StrCat(snapshot.id, " ", Name(snapshot.kind), " ",
                      snapshot.complete, " ", snapshot.last_copied_object);
}

}  // namespace

absl::StatusOr<OmapValues> FakePool::ReadOmap(const std::string& object,
                                              const std::string& prefix) {
  OmapValues values;
  const int r = Run("rados_read_op_omap_get_vals2", object, Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      const auto& omap = Space(site).omap;
                      const auto it = omap.find(object);
                      if (it == omap.end()) return -ENOENT;
                      for (const auto& [key, value] : it->second) {
                        if (absl::StartsWith(key, prefix)) values[key] = value;
                      }
                      return 0;
                    });
  if (r < 0) return Error(r, "read", object);
  return values;
}

absl::StatusOr<OmapPage> FakePool::ReadOmapPage(const std::string& object,
                                                const std::string& prefix,
                                                const std::string& after,
                                                uint64_t limit) {
  OmapPage page;
  const int r = Run("rados_read_op_omap_get_vals2", object, Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      const auto& omap = Space(site).omap;
                      const auto it = omap.find(object);
                      if (it == omap.end()) return -ENOENT;
                      for (const auto& [key, value] : it->second) {
                        if (!absl::StartsWith(key, prefix) || key <= after)
                          continue;
                        if (page.values.size() == limit) {
                          page.more = true;
                          break;
                        }
                        page.values[key] = value;
                      }
                      return 0;
                    });
  if (r < 0) return Error(r, "read", object);
  return page;
}

absl::StatusOr<std::optional<std::string>> FakePool::ReadOmapKey(
    const std::string& object, const std::string& key) {
  std::optional<std::string> value;
  const int r = Run("rados_read_op_omap_get_vals_by_keys2", object, Needs::kOsd,
                    false, [&](Model&, Site& site, SteadyDuration*) {
                      const auto& omap = Space(site).omap;
                      value = NotedByLibrbd(Space(site), object, key);
                      if (value.has_value()) return 0;
                      const auto it = omap.find(object);
                      if (it == omap.end()) {
                        return IsHeader(Space(site), object) ? 0 : -ENOENT;
                      }
                      const auto found = it->second.find(key);
                      if (found != it->second.end()) value = found->second;
                      return 0;
                    });
  if (r < 0) return Error(r, "read", object);
  return value;
}

absl::Status FakePool::CreateObject(const std::string& object) {
  return Change("rados_write_op_create", "create", object, [&](Site& site) {
    return model::CreateObject(Space(site), object);
  });
}

absl::Status FakePool::RemoveObject(const std::string& object) {
  return Change("rados_write_op_remove", "remove", object, [&](Site& site) {
    Space(site).omap.erase(object);
    std::erase_if(Space(site).locks, [&](const auto& entry) {
      return entry.first.first == object;
    });
    return 0;
  });
}

absl::Status FakePool::SetOmapValues(const std::string& object,
                                     const OmapValues& values) {
  return Change("rados_write_op_omap_set2", "write", object, [&](Site& site) {
    return model::SetOmapValues(Space(site), object, values);
  });
}

absl::StatusOr<std::string> FakePool::SnapshotRecord(
    const std::string& image_id, uint64_t snapshot_id) {
  std::string record;
  const std::string header = HeaderObject(image_id);
  const int r =
      Run("rados_read_op_omap_get_vals_by_keys2", header, Needs::kOsd, false,
          [&](Model&, Site& site, SteadyDuration*) {
            const auto image = Model::FindImageById(Space(site), image_id);
            const auto* const found = FindSnapshot(image.get(), snapshot_id);
            if (found == nullptr) return -ENOENT;
            record = RecordOf(found->info);
            return 0;
          });
  if (r < 0) return Error(r, "read", header);
  return record;
}

absl::StatusOr<bool> FakePool::ChangeCopy(
    const char* call, absl::string_view action, const std::string& image_id,
    uint64_t snapshot_id, const std::string& record,
    const std::function<void(MirrorSnapshot*)>& change) {
  bool set = false;
  const absl::Status status =
      Change(call, action, HeaderObject(image_id), [&](Site& site) {
        const auto image = Model::FindImageById(Space(site), image_id);
        if (image == nullptr) return -ENOENT;
        auto* const found = FindSnapshot(image.get(), snapshot_id);
        if (found == nullptr || RecordOf(found->info) != record) {
          return 0;
        }
        change(&found->info);
        set = true;
        return 0;
      });
  if (!status.ok()) return status;
  return set;
}

absl::StatusOr<bool> FakePool::SetCopyKind(const std::string& image_id,
                                           uint64_t snapshot_id,
                                           const std::string& record,
                                           MirrorSnapshotKind kind) {
  return ChangeCopy("rados_write_op_omap_set2",
                    "set the kind of a copied snapshot in", image_id,
                    snapshot_id, record,
                    [&](MirrorSnapshot* copy) { copy->kind = kind; });
}

absl::StatusOr<bool> FakePool::SetCopyProgress(const std::string& image_id,
                                               uint64_t snapshot_id,
                                               const std::string& record,
                                               CopyNote note) {
  return ChangeCopy("rbd.mirror_image_snapshot_set_copy_progress",
                    "set the copy progress in", image_id, snapshot_id, record,
                    [&](MirrorSnapshot* copy) {
                      copy->last_copied_object = note.objects;
                      copy->complete = note.complete;
                    });
}

absl::Status FakePool::RemoveOmapKeys(const std::string& object,
                                      const std::vector<std::string>& keys) {
  return Change("rados_write_op_omap_rm_keys2", "write", object,
                [&](Site& site) {
                  return model::RemoveOmapKeys(Space(site), object, keys);
                });
}

absl::StatusOr<bool> FakePool::RemoveOmapValue(const std::string& object,
                                               const std::string& key,
                                               const std::string& expected) {
  bool removed = false;
  const absl::Status status =
      Change("rados_write_op_omap_rm_keys2", "write", object, [&](Site& site) {
        if (RemoveMetadataOf(Space(site), object, key, expected, &removed)) {
          return 0;
        }
        return model::RemoveOmapValue(Space(site), object, key, expected,
                                      &removed);
      });
  if (!status.ok()) return status;
  return removed;
}

absl::StatusOr<bool> FakePool::ReplaceOmapValue(
    const std::string& object, const std::string& key,
    const std::optional<std::string>& expected, const std::string& desired) {
  if (!MayChange(connection_->access)) {
    world_.AddViolation(
        absl::StrCat("change of ", object, " through a read connection"));
    return Error(-EROFS, "change", object);
  }
  bool replaced = false;
  const int r =
      Run("rados_write_op_omap_set2", object, Needs::kOsd, true,
          [&](Model&, Site& site, SteadyDuration*) {
            auto& omap = Space(site).omap;
            const auto it = omap.find(object);
            if (it == omap.end()) return -ENOENT;
            const auto value = it->second.find(key);
            const bool found = value != it->second.end();
            replaced = expected ? found && value->second == *expected : !found;
            if (replaced) it->second[key] = desired;
            return 0;
          });
  if (r < 0) return Error(r, "change", object);
  return replaced;
}

absl::StatusOr<std::vector<Watcher>> FakePool::ListWatchers(
    const std::string& object) {
  std::vector<Watcher> watchers;
  const int r = Run("rados_list_watchers", object, Needs::kOsd, false,
                    [&](Model& model, Site& site, SteadyDuration*) {
                      const auto& space = Space(site);
                      if (object == "rbd_mirroring") {
                        if (space.mode == PoolMirrorMode::kDisabled)
                          return -ENOENT;
                        watchers = model.MirroringWatchers(site);
                        return 0;
                      }
                      for (const auto& [name, image] : space.images) {
                        if (object != HeaderObject(image->id)) continue;
                        watchers = model.Watchers(site, *image);
                        return 0;
                      }
                      return space.omap.contains(object) ? 0 : -ENOENT;
                    });
  if (r < 0) return Error(r, "list the watchers of", object);
  return watchers;
}

absl::StatusOr<std::vector<ObjectSnapshots>> FakePool::ListSnapshots(
    const std::vector<std::string>& objects) {
  std::vector<ObjectSnapshots> found;
  const int r =
      Run("rados_list_snaps", "", Needs::kOsd, false,
          [&](Model&, Site& site, SteadyDuration*) {
            for (const std::string& object : objects) {
              found.push_back(model::SnapshotsOf(Space(site), object));
            }
            return 0;
          });
  if (r < 0) return Error(r, "list the snapshots of objects of", "");
  return found;
}

absl::StatusOr<std::optional<StoredObject>> FakePool::ReadObject(
    const std::string& object, uint64_t snapshot, uint64_t bytes) {
  uint64_t value = 0;
  std::optional<std::string> map;
  const int r = Run("rados_read", object, Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      map = model::ObjectMapAt(Space(site), object);
                      if (map) return 0;
                      value = model::ObjectAt(Space(site), object, snapshot);
                      return value == 0 ? -ENOENT : 0;
                    });
  if (r == -ENOENT) return std::nullopt;
  if (r < 0) return Error(r, "read", object);
  if (map) return StoredObject{map->substr(0, bytes), 1};
  return StoredObject{model::ObjectBytes(value, bytes), value};
}

absl::StatusOr<bool> FakePool::ReplaceObject(
    const std::string& object, const std::optional<uint64_t>& version,
    const std::optional<std::string>& bytes) {
  bool replaced = false;
  const absl::Status status =
      Change("rados_write_op_write_full", "replace", object, [&](Site& site) {
        uint64_t* const value = model::HeadObject(Space(site), object);
        if (value == nullptr) return -EINVAL;
        replaced = *value == version.value_or(0);
        if (replaced) *value = bytes ? model::ObjectValue(*bytes) : 0;
        return 0;
      });
  if (!status.ok()) return status;
  return replaced;
}

absl::Status FakePool::ReachPlacementGroups(uint32_t part, uint32_t parts) {
  const int r =
      Run("rados_object_list", absl::StrCat(part, "/", parts), Needs::kOsd,
          false, [](Model&, Site&, SteadyDuration*) { return 0; });
  if (r < 0) return Error(r, "reach placement groups of", name_);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FakePool::Namespaces() {
  std::vector<std::string> names;
  const int r =
      Run("rbd_namespace_list", "rbd_namespace", Needs::kOsd, false,
          [&](Model&, Site& site, SteadyDuration*) {
            for (const auto& [name, space] : site.pools[id_].namespaces) {
              if (!name.empty()) names.push_back(name);
            }
            return 0;
          });
  if (r < 0) return Error(r, "list the namespaces of", "");
  return names;
}

int FakePool::Run(const char* call, const std::string& object, Needs needs,
                  bool mutation, const FakeWorld::Body& body) {
  return world_.Call(
      {connection_->site, call, object, mutation, needs, connection_}, body);
}

absl::Status FakePool::Change(const char* call, absl::string_view action,
                              const std::string& object,
                              const std::function<int(Site&)>& change) {
  if (!MayChange(connection_->access)) {
    world_.AddViolation(
        absl::StrCat("change of ", object, " through a read connection"));
    return Error(-EROFS, action, object);
  }
  const int r =
      Run(call, object, Needs::kOsd, true,
          [&](Model&, Site& site, SteadyDuration*) { return change(site); });
  return r < 0 ? Error(r, action, object) : absl::OkStatus();
}

absl::Status FakePool::Error(int result, absl::string_view action,
                             const std::string& object) const {
  return object.empty()
             ? CephError(result, action, absl::StrCat("pool '", name_, "'"))
             : CephError(result, action, absl::StrCat("'", Spec(object), "'"));
}

}  // namespace addons
