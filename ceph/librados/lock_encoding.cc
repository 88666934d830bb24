#include "ceph/librados/lock_encoding.h"

#include "absl/strings/str_cat.h"
#include "ceph/encoding.h"

namespace addons {
namespace {

constexpr char kVersion = 1;
constexpr char kOldestVersion = 1;  // that may read it
constexpr char kExclusive = 1;

}  // namespace

std::string EncodeAssertLocked(const ObjectLock& lock) {
  // The last one is the lock's tag.
  const std::string fields =
      absl::StrCat(EncodeText(lock.name), std::string(1, kExclusive),
                   EncodeText(lock.cookie), EncodeText(""));
  return absl::StrCat(std::string{kVersion, kOldestVersion},
                      EncodeText(fields));
}

}  // namespace addons
