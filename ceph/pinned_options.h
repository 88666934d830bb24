#ifndef ADDONS_CEPH_PINNED_OPTIONS_H_
#define ADDONS_CEPH_PINNED_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ceph/image.h"

namespace addons {

/// An option of librbd that a change of an image rests on, and the value that
/// it needs.
struct PinnedOption {
  const char* name;
  const char* value;
};

/// Set on each connection that opens images, because the monitors' database
/// may say otherwise for its clients: what a program sets itself wins. What a
/// pool or an image overrides (rbd config pool set) wins over both.
const std::vector<PinnedOption>& PinnedOptions();

/// Options that a pool or image overrides stand in metadata under such keys.
inline constexpr char kImageOptionPrefix[] = "conf_";
/// Those of a pool, in an object of it, under such keys.
inline constexpr char kPoolOptionsObject[] = "rbd_info";
inline constexpr char kPoolOptionPrefix[] = "metadata_conf_";

/// "rbd_plugins=x", for each entry of `metadata` that sets a pinned option to
/// something else. Its keys have the prefix `prefix`.
std::vector<std::string> Overridden(
    const std::map<std::string, std::string>& metadata,
    const std::string& prefix);

/// "client.4 at 10.0.0.1:0/9 has its lock 'x', which 'rbd lock rm' breaks": of
/// a lock that somebody took by hand (`rbd lock add`), beside which librbd's
/// changes of an image are EROFS or never end; empty: there is none.
std::string LockTakenByHand(const std::vector<Locker>& lockers);
/// The same, when OfChange() has found that to be why `answer` is no other.
std::string LockTakenByHand(const absl::Status& answer);

/// The answer to a change of `image`. After EROFS, which says only that the
/// lock could not be had or the image is not primary, with who has its lock,
/// what ends that, and the pinned options that the image overrides. Other
/// answers are given back as they are, without a call.
absl::Status OfChange(Image& image, absl::Status answer);

}  // namespace addons

#endif  // ADDONS_CEPH_PINNED_OPTIONS_H_
