#ifndef ADDONS_CEPH_LIBRADOS_SIZED_BUFFER_H_
#define ADDONS_CEPH_LIBRADOS_SIZED_BUFFER_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

namespace addons {

/// Calls `fn(capacity, needed)` with growing capacities while it returns
/// -ERANGE. `fn` sets `needed` to what it asks for, if it learns that;
/// otherwise the capacity doubles. Returns the first other result, or -ERANGE
/// when `cap` is not enough, so that no answer of Ceph can make us take memory
/// without end.
template <typename Fn>
int GrowUntilItFits(size_t capacity, size_t cap, Fn fn) {
  for (;;) {
    size_t needed = 0;
    const int result = fn(capacity, needed);
    if (result != -ERANGE || capacity >= cap) return result;
    capacity = std::min(cap, std::max(needed, capacity * 2));
  }
}

/// What a C call left in a buffer or in an answer; a null pointer is empty.
inline std::string CString(const char* text) {
  return text == nullptr ? "" : text;
}

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_SIZED_BUFFER_H_
