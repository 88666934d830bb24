#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/librados/rados_pool.h"

namespace addons {
namespace {

/// A position in a pool's list of objects.
class ListCursor {
 public:
  ListCursor(rados_ioctx_t ioctx, rados_object_list_cursor cursor)
      : ioctx_(ioctx), cursor_(cursor) {}
  ~ListCursor() { rados_object_list_cursor_free(ioctx_, cursor_); }
  ListCursor(const ListCursor&) = delete;
  ListCursor& operator=(const ListCursor&) = delete;

  rados_object_list_cursor get() const { return cursor_; }
  rados_object_list_cursor* raw() { return &cursor_; }

 private:
  rados_ioctx_t ioctx_;
  rados_object_list_cursor cursor_;
};

}  // namespace

absl::Status RadosPool::ReachPlacementGroups(uint32_t part, uint32_t parts) {
  rados_ioctx_t ioctx = ioctx_->get();
  const ListCursor begin(ioctx, rados_object_list_begin(ioctx));
  const ListCursor end(ioctx, rados_object_list_end(ioctx));
  // Slicing replaces what its two results hold.
  ListCursor from(ioctx, rados_object_list_begin(ioctx));
  ListCursor to(ioctx, rados_object_list_end(ioctx));
  rados_object_list_slice(ioctx, begin.get(), end.get(), part, parts,
                          from.raw(), to.raw());
  // One name is enough: the answer counts, not what it says.
  std::array<rados_object_list_item, 1> items{};
  ListCursor next(ioctx, rados_object_list_begin(ioctx));
  const int result = connection_->Call("rados_object_list", [&] {
    return rados_object_list(ioctx, from.get(), to.get(), items.size(), nullptr,
                             0, items.data(), next.raw());
  });
  if (result < 0) {
    return CephError(result, "reach placement groups of",
                     absl::StrCat("pool '", name_, "'"));
  }
  rados_object_list_free(static_cast<size_t>(result), items.data());
  return absl::OkStatus();
}

}  // namespace addons
