#include "tests/fakes/groups.h"

#include <cerrno>

namespace addons::model {

int CreateObject(Namespace& where, const std::string& object) {
  return where.omap.try_emplace(object).second ? 0 : -EEXIST;
}

int SetOmapValues(Namespace& where, const std::string& object,
                  const OmapValues& values) {
  const auto found = where.omap.find(object);
  if (found == where.omap.end()) return -ENOENT;
  for (const auto& [key, value] : values) found->second[key] = value;
  return 0;
}

int RemoveOmapKeys(Namespace& where, const std::string& object,
                   const std::vector<std::string>& keys) {
  const auto found = where.omap.find(object);
  if (found == where.omap.end()) return -ENOENT;
  for (const std::string& key : keys) found->second.erase(key);
  return 0;
}

int RemoveOmapValue(Namespace& where, const std::string& object,
                    const std::string& key, const std::string& expected,
                    bool* removed) {
  const auto found = where.omap.find(object);
  if (found == where.omap.end()) return -ENOENT;
  const auto value = found->second.find(key);
  *removed = value != found->second.end() && value->second == expected;
  if (*removed) found->second.erase(value);
  return 0;
}

std::vector<GroupImage> GroupImages(Site& site, PoolState& pool,
                                    const std::string& rados_namespace,
                                    const std::string& group) {
  const auto& groups = pool.namespaces[rados_namespace].groups;
  const auto found = groups.find(group);
  if (found == groups.end()) return {};
  std::vector<GroupImage> images;
  for (const auto& [member, complete] : found->second) {
    const auto image = Model::FindImageById(
        site.pools[member.first].namespaces[rados_namespace], member.second);
    if (image == nullptr) return {};
    images.push_back({member.first, ImageName(image->name), complete});
  }
  return images;
}

int CreateGroup(Namespace& where, const std::string& group) {
  return where.groups.try_emplace(group).second ? 0 : -EEXIST;
}

int RemoveGroup(Site& site, PoolState& pool, const std::string& rados_namespace,
                const std::string& group) {
  Namespace& where = pool.namespaces[rados_namespace];
  const auto found = where.groups.find(group);
  if (found == where.groups.end()) return -ENOENT;
  for (const auto& [member, complete] : found->second) {
    const auto& [pool_id, image_id] = member;
    const auto image = Model::FindImageById(
        site.pools[pool_id].namespaces[rados_namespace], image_id);
    if (image != nullptr) image->group.reset();
  }
  where.groups.erase(found);
  where.group_snapshots.erase(group);
  return 0;
}

int AddGroupImage(Site& site, PoolState& pool,
                  const std::string& rados_namespace, const std::string& group,
                  int64_t image_pool_id, const std::string& image) {
  Namespace& where = pool.namespaces[rados_namespace];
  const auto found = where.groups.find(group);
  if (found == where.groups.end()) return -ENOENT;
  const auto& images =
      site.pools[image_pool_id].namespaces[rados_namespace].images;
  const auto target = images.find(image);
  if (target == images.end()) return -ENOENT;
  std::optional<GroupSpec>& present = target->second->group;
  const GroupSpec wanted{pool.id, group};
  if (present && *present != wanted) return -EEXIST;
  present = wanted;
  found->second[{image_pool_id, target->second->id}] = true;
  return 0;
}

int RemoveGroupImage(Site& site, PoolState& pool,
                     const std::string& rados_namespace,
                     const std::string& group, int64_t image_pool_id,
                     const std::string& image_id) {
  Namespace& where = pool.namespaces[rados_namespace];
  const auto found = where.groups.find(group);
  if (found == where.groups.end()) return -ENOENT;
  const auto image = Model::FindImageById(
      site.pools[image_pool_id].namespaces[rados_namespace], image_id);
  if (image != nullptr && image->group.has_value()) {
    if (*image->group != GroupSpec{pool.id, group}) {
      // What its first step wrote stays.
      found->second[{image_pool_id, image_id}] = false;
      return -EBADF;
    }
    image->group.reset();
  }
  found->second.erase({image_pool_id, image_id});
  return 0;
}

}  // namespace addons::model
