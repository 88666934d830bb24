#include "ceph/librados/lock_encoding.h"

#include "absl/strings/str_cat.h"
#include "ceph/encoding.h"

namespace addons {
namespace {

constexpr char kVersion = 1;
constexpr char kOldestVersion = 1;  // that may read it
constexpr char kExclusive = 1;

std::string Versioned(const std::string& fields) {
  return absl::StrCat(std::string{kVersion, kOldestVersion},
                      EncodeText(fields));
}

}  // namespace

std::string EncodeAssertLocked(const ObjectLock& lock) {
  // The last one is the lock's tag.
  return Versioned(absl::StrCat(EncodeText(lock.name),
                                std::string(1, kExclusive),
                                EncodeText(lock.cookie), EncodeText("")));
}

std::string EncodeLock(const ObjectLock& lock, std::chrono::seconds duration) {
  // After the cookie: tag, description, seconds and nanoseconds, flags.
  return Versioned(
      absl::StrCat(EncodeText(lock.name), std::string(1, kExclusive),
                   EncodeText(lock.cookie), EncodeText(""), EncodeText(""),
                   EncodeNumber(static_cast<uint64_t>(duration.count()), 4),
                   EncodeNumber(0, 4), EncodeNumber(0, 1)));
}

}  // namespace addons
