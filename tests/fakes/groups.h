#ifndef ADDONS_TESTS_FAKES_GROUPS_H_
#define ADDONS_TESTS_FAKES_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/model.h"

namespace addons::model {

// Objects with omap, and rbd groups, as librados and librbd 16.2 change them.
// Results are those of the C API.

int CreateObject(Namespace& where, const std::string& object);
int SetOmapValues(Namespace& where, const std::string& object,
                  const OmapValues& values);
int RemoveOmapKeys(Namespace& where, const std::string& object,
                   const std::vector<std::string>& keys);
int RemoveOmapValue(Namespace& where, const std::string& object,
                    const std::string& key, const std::string& expected,
                    bool* removed);

/// Of none when one of them is gone, as rbd_group_image_list.
std::vector<GroupImage> GroupImages(Site& site, PoolState& pool,
                                    const std::string& rados_namespace,
                                    const std::string& group);
int CreateGroup(Namespace& where, const std::string& group);
int RemoveGroup(Site& site, PoolState& pool, const std::string& rados_namespace,
                const std::string& group);
int AddGroupImage(Site& site, PoolState& pool,
                  const std::string& rados_namespace, const std::string& group,
                  int64_t image_pool_id, const std::string& image);
int RemoveGroupImage(Site& site, PoolState& pool,
                     const std::string& rados_namespace,
                     const std::string& group, int64_t image_pool_id,
                     const std::string& image_id);

}  // namespace addons::model

#endif  // ADDONS_TESTS_FAKES_GROUPS_H_
