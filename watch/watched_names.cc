#include "watch/watched_names.h"

#include "absl/strings/str_cat.h"
#include "base/quoted_part.h"

namespace addons {

std::string SpecOf(const WatchedPool& pool, const WatchedImage& image) {
  return absl::StrCat(pool.pool, "/",
                      pool.rados_namespace.empty()
                          ? ""
                          : absl::StrCat(pool.rados_namespace, "/"),
                      image.image);
}

std::string NameOf(const WatchedPool& pool, const WatchedImage& image) {
  if (!image.claim.empty()) return image.claim;
  if (!image.volume_name.empty()) return image.volume_name;
  return SpecOf(pool, image);
}

WatchedNames::WatchedNames(const WatchSnapshot* watch) {
  if (watch == nullptr) return;
  for (const WatchedPool& pool : watch->pools) {
    for (const WatchedImage& image : pool.images) {
      if (image.volume_id.empty()) continue;
      names_[image.volume_id] = addons::NameOf(pool, image);
    }
    if (pool.groups == nullptr) continue;
    for (const auto& [uuid, group] : *pool.groups) {
      if (!group.name.empty()) names_[group.id] = group.name;
    }
  }
}

std::string WatchedNames::NameOf(const std::string& id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? "" : found->second;
}

std::string WatchedNames::NameOfObject(const std::string& object) const {
  return NameOf(std::string(QuotedPart(object)));
}

std::string WatchedNames::Named(const std::string& object) const {
  const std::string name = NameOfObject(object);
  return name.empty() ? object : WithQuotedPart(object, name);
}

}  // namespace addons
