#include "ceph/librados/object_snapshots.h"

#include <cerrno>
#include <cstddef>
#include <deque>
#include <memory>
#include <rados/librados.hpp>

namespace addons {
namespace {

constexpr size_t kInFlight = 64;

struct ReleaseCompletion {
  void operator()(librados::AioCompletion* completion) const {
    completion->release();
  }
};

/// One object that is being asked. librados writes into it until it has ended.
struct Asked {
  librados::ObjectReadOperation operation;
  librados::snap_set_t snapshots;
  int result = 0;
  std::unique_ptr<librados::AioCompletion, ReleaseCompletion> completion{
      librados::Rados::aio_create_completion()};
};

ListedObject Listed(const librados::snap_set_t& snapshots) {
  ListedObject object;
  object.newest_snapshot = snapshots.seq;
  for (const librados::clone_info_t& clone : snapshots.clones) {
    ListedClone listed;
    listed.head = clone.cloneid == librados::SNAP_HEAD;
    listed.id = clone.cloneid;
    listed.snapshots.assign(clone.snaps.begin(), clone.snaps.end());
    listed.overlap = clone.overlap;
    listed.bytes = clone.size;
    object.clones.push_back(std::move(listed));
  }
  return object;
}

}  // namespace

int ListObjectSnapshots(rados_ioctx_t ioctx,
                        const std::vector<std::string>& objects,
                        std::vector<ListedObject>& listed) {
  librados::IoCtx shared;  // the C handle, which others use, too
  librados::IoCtx::from_rados_ioctx_t(ioctx, shared);
  librados::IoCtx io;
  io.dup(shared);
  io.snap_set_read(librados::SNAP_DIR);
  listed.assign(objects.size(), ListedObject());
  std::deque<std::unique_ptr<Asked>> in_flight;
  int error = 0;
  size_t next = 0;
  for (size_t done = 0; done < objects.size(); ++done) {
    while (error == 0 && next < objects.size() &&
           in_flight.size() < kInFlight) {
      auto asked = std::make_unique<Asked>();
      asked->operation.list_snaps(&asked->snapshots, &asked->result);
      const int begun = io.aio_operate(objects[next], asked->completion.get(),
                                       &asked->operation, nullptr);
      if (begun < 0) {
        error = begun;
        break;
      }
      in_flight.push_back(std::move(asked));
      ++next;
    }
    if (in_flight.empty()) break;
    const Asked& first = *in_flight.front();
    first.completion->wait_for_complete();
    int result = first.completion->get_return_value();
    if (result >= 0) result = first.result;
    if (result >= 0) {
      listed[done] = Listed(first.snapshots);
    } else if (result != -ENOENT && error == 0) {
      error = result;
    }
    in_flight.pop_front();
  }
  return error;
}

}  // namespace addons
