// The images of a pool: opened, created, removed.

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/image_header.h"
#include "ceph/image_objects.h"
#include "tests/fakes/fake_image.h"
#include "tests/fakes/fake_pool.h"

namespace addons {
namespace {

using model::Model;
using model::Site;

/// Another number for each other content of what is in the header.
uint64_t VersionOf(const model::Image& image) {
  std::string header =
      absl::StrCat(image.size.bytes, image.marked_non_primary ? " marked" : "");
  for (const auto& [key, value] : image.metadata) {
    absl::StrAppend(&header, "\n", key, "=", value);
  }
  for (const model::Snapshot& snapshot : image.snapshots) {
    absl::StrAppend(&header, "\n", snapshot.info.id, " ",
                    static_cast<int>(snapshot.info.kind), " ",
                    snapshot.info.complete, " ",
                    snapshot.info.last_copied_object);
  }
  for (const ImageSnapshot& snapshot : image.other_snapshots) {
    absl::StrAppend(&header, "\nsnapshot ", snapshot.id);
  }
  if (image.lock.has_value()) {
    absl::StrAppend(&header, "\nlocked by ", image.lock->locker.client);
  }
  return std::hash<std::string>()(header);
}

}  // namespace

absl::StatusOr<bool> FakePool::HasImage(const ImageName& name) {
  bool there = false;
  const std::string object = IdObject(name.text());
  const int r = Run("rados_stat", object, Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      there = Space(site).images.contains(name.text());
                      return there ? 0 : -ENOENT;
                    });
  if (r == -ENOENT) return false;
  if (r < 0) return CephError(r, "look for", absl::StrCat("'", object, "'"));
  return there;
}

absl::StatusOr<uint64_t> FakePool::HeaderVersion(const std::string& image_id) {
  uint64_t version = 0;
  const std::string object = HeaderObject(image_id);
  const int r = Run("rados_stat", object, Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      const auto image =
                          Model::FindImageById(Space(site), image_id);
                      if (image == nullptr) return -ENOENT;
                      version = VersionOf(*image);
                      return 0;
                    });
  if (r < 0) return CephError(r, "look at", absl::StrCat("'", object, "'"));
  return version;
}

absl::StatusOr<bool> FakePool::ClearNonPrimary(const std::string& image_id,
                                               uint64_t version) {
  bool cleared = false;
  const absl::Status status =
      Change("rbd.set_features", "let be written to through",
             HeaderObject(image_id), [&](Site& site) {
               const auto image = Model::FindImageById(Space(site), image_id);
               if (image == nullptr || VersionOf(*image) != version) return 0;
               image->marked_non_primary = false;
               cleared = true;
               return 0;
             });
  if (!status.ok()) return status;
  return cleared;
}

absl::StatusOr<ImageHeader> FakePool::Header(const std::string& image_id) {
  ImageHeader header;
  const std::string object = HeaderObject(image_id);
  const int r = Run(
      "rados_read_op_omap_get_vals2", object, Needs::kOsd, false,
      [&](Model&, Site& site, SteadyDuration*) {
        const auto image = Model::FindImageById(Space(site), image_id);
        if (image == nullptr) return -ENOENT;
        header.size = image->size;
        header.features = image->features;
        if (image->group.has_value()) {
          // The model's groups have their names for ids.
          header.group = ImageGroup{image->group->pool_id, image->group->name};
        }
        header.data_pool_id = image->data_pool.value_or(-1);
        header.created = image->created;
        header.marked_non_primary = image->marked_non_primary;
        header.has_parent = image->parent.has_value();
        header.metadata = image->metadata;
        for (const auto& snapshot : image->snapshots) {
          header.mirror_snapshots.push_back(snapshot.info);
        }
        header.other_snapshots = image->other_snapshots;
        header.snapshot_limit = image->snapshot_limit;
        return 0;
      });
  if (r < 0) return CephError(r, "read", absl::StrCat("'", object, "'"));
  return header;
}

absl::StatusOr<std::unique_ptr<Image>> FakePool::OpenImageReadOnly(
    const ImageName& name) {
  auto opened = Open("rbd_open_read_only", name.text(), false, false);
  if (opened.ok()) return opened;
  return OfOpening(*this, name, opened.status());
}

absl::StatusOr<std::unique_ptr<Image>> FakePool::OpenImageByIdReadOnly(
    const std::string& image_id) {
  auto opened = Open("rbd_open_by_id_read_only", image_id, true, false);
  if (opened.ok()) return opened;
  return OfOpeningById(*this, image_id, opened.status());
}

absl::StatusOr<std::unique_ptr<Image>> FakePool::OpenImage(
    const ImageName& name) {
  auto opened = Open("rbd_open", name.text(), false, true);
  if (opened.ok()) return opened;
  return OfOpening(*this, name, opened.status());
}

absl::Status FakePool::CreateImage(const ImageName& name,
                                   const ImageLayout& layout) {
  return ChangeImages("rbd_create4", "create", name.text(),
                      [&](Model& model, Site& site, SteadyDuration*) {
                        if (Space(site).images.contains(name.text())) {
                          return -EEXIST;
                        }
                        const auto image = model.CreateImage(
                            site, site.pools[id_], rados_namespace_,
                            name.text(), layout.bytes);
                        image->size.object_bytes = layout.object_bytes;
                        image->Resize(layout.bytes);
                        return 0;
                      });
}

absl::Status FakePool::RemoveImage(const ImageName& name) {
  return ChangeImages("rbd_remove", "remove", name.text(),
                      [&](Model&, Site& site, SteadyDuration*) {
                        auto& images = Space(site).images;
                        const auto it = images.find(name.text());
                        if (it == images.end()) return 0;
                        if (!it->second->watches.empty()) return -EBUSY;
                        if (!it->second->snapshots.empty()) return -ENOTEMPTY;
                        it->second->removed = true;
                        images.erase(it);
                        return 0;
                      });
}

absl::Status FakePool::ChangeImages(const char* call, const char* action,
                                    const std::string& name,
                                    const FakeWorld::Body& body) {
  const std::string text = absl::StrCat("image '", Spec(name), "'");
  if (!MayChange(connection_->access)) {
    world_.AddViolation(
        absl::StrCat(call, " of ", text, " through a read connection"));
    return CephError(-EROFS, action, text);
  }
  const int r = Run(call, name, Needs::kOsd, true, body);
  return r < 0 ? CephError(r, action, text) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Image>> FakePool::Open(const char* call,
                                                      const std::string& key,
                                                      bool by_id,
                                                      bool writable) {
  std::shared_ptr<model::Image> image;
  model::Image seen;
  uint64_t cookie = 0;
  const auto make_handle = [&] {
    return std::make_unique<FakeImage>(world_, connection_, Spec(seen.name),
                                       std::move(image), std::move(seen),
                                       writable, cookie);
  };
  const auto open = [&] {
    return Run(call, key, Needs::kOsd, false,
               [&](Model& model, Site& site, SteadyDuration*) {
                 model::Namespace& space = Space(site);
                 if (by_id) {
                   image = Model::FindImageById(space, key);
                 } else if (const auto it = space.images.find(key);
                            it != space.images.end()) {
                   image = it->second;
                 }
                 if (image == nullptr) return -ENOENT;
                 if (writable) {
                   cookie = 95000000000000 + model.NewClientId();
                   image->watches.push_back({{connection_->client.address,
                                              connection_->client.id, cookie},
                                             true,
                                             std::nullopt});
                   model.OpenedForWriting(site, *image);
                 }
                 seen = *image;
                 return 0;
               });
  };
  int r = 0;
  try {
    r = open();
  } catch (...) {
    // The handle unwinds like one that the caller has: a dead client's watch
    // stays for a while.
    const auto handle = image == nullptr ? nullptr : make_handle();
    throw;
  }
  const auto failed = [&] {
    return CephError(r, "open", absl::StrCat("image '", Spec(key), "'"));
  };
  if (image == nullptr) return failed();
  auto opened = make_handle();
  // An open that fails late leaves no watch behind.
  if (r < 0) return failed();
  return opened;
}

}  // namespace addons
