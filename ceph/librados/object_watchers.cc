#include "ceph/librados/object_watchers.h"

#include <cstring>
#include <list>
#include <rados/librados.hpp>

namespace addons {

int ListObjectWatchers(rados_ioctx_t ioctx, const std::string& object,
                       std::vector<ObjectWatcher>& watchers) {
  librados::IoCtx io;  // shares the C handle, does not own it
  librados::IoCtx::from_rados_ioctx_t(ioctx, io);
  std::list<obj_watch_t> entries;
  const int result = io.list_watchers(object, &entries);
  if (result < 0) return result;
  watchers.clear();
  watchers.reserve(entries.size());
  for (const obj_watch_t& entry : entries) {
    watchers.push_back(
        {std::string(entry.addr, strnlen(entry.addr, sizeof(entry.addr))),
         static_cast<uint64_t>(entry.watcher_id), entry.cookie});
  }
  return 0;
}

}  // namespace addons
