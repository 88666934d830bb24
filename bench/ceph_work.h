#ifndef ADDONS_BENCH_CEPH_WORK_H_
#define ADDONS_BENCH_CEPH_WORK_H_

#include <rados/librados.h>

#include <functional>
#include <map>
#include <string>

namespace addons {

/// What a call makes Ceph do, and nothing else, of one object: an image, or a
/// range for fences. Returns what librbd or librados does: an errno below 0.
/// Blocking; for any number of threads.
using CephWork = std::function<int(rados_t cluster, rados_ioctx_t pool,
                                   const std::string& object)>;

/// Replication info by the pool's lists: its objects are ids of images.
inline constexpr char kInfoFromLists[] = "info-from-lists";

/// By name: the changes and questions of the calls, and what a benchmark needs
/// besides: "demoted" and "follows" ask whether a move has come to a site
/// (-EAGAIN: not yet), "half-zero" fills an image.
const std::map<std::string, CephWork>& AllCephWork();

/// Throws std::runtime_error.
std::string ImageIdOf(rados_ioctx_t pool, const std::string& image);

}  // namespace addons

#endif  // ADDONS_BENCH_CEPH_WORK_H_
