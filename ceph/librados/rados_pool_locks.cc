// RadosPool: locks with an end on objects of our own.

#include <sys/time.h>

#include <cerrno>
#include <cstddef>

#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/librados/lock_encoding.h"
#include "ceph/librados/rados_pool.h"

namespace addons {
namespace {

// A lock of ours has one owner; a text of it is bounded (lease/holder.h).
constexpr size_t kTextBytes = 4096;
constexpr size_t kMaxTextBytes = size_t{1} << 20;

/// The texts that lie one after the other, each with its NUL.
std::vector<std::string> Split(const std::string& texts, size_t count) {
  std::vector<std::string> split;
  size_t begin = 0;
  while (split.size() < count && begin < texts.size()) {
    split.emplace_back(texts.c_str() + begin);
    begin += split.back().size() + 1;
  }
  split.resize(count);
  return split;
}

}  // namespace

int RadosPool::LockExclusive(const ObjectLock& lock,
                             std::chrono::seconds duration, uint8_t flags) {
  return connection_->Call("rados_lock_exclusive", [&] {
    timeval until{};
    until.tv_sec = duration.count();
    return rados_lock_exclusive(ioctx_->get(), lock.object.c_str(),
                                lock.name.c_str(), lock.cookie.c_str(),
                                /*desc=*/"", &until, flags);
  });
}

absl::StatusOr<bool> RadosPool::TakeObjectLock(const ObjectLock& lock,
                                               std::chrono::seconds duration) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(lock.object)));
  int result = LockExclusive(lock, duration, 0);
  if (lock.although_full && (result == -EDQUOT || result == -ENOSPC)) {
    const std::string arguments = EncodeLock(lock, duration);
    const WriteOp op(rados_create_write_op());
    rados_write_op_exec(op.get(), "lock", "lock", arguments.data(),
                        arguments.size(), nullptr);
    result = Operate(op, lock.object, LIBRADOS_OPERATION_FULL_FORCE);
  }
  if (result == -EBUSY) return false;
  if (result < 0) return CephError(result, "lock", ObjectText(lock.object));
  return true;
}

absl::StatusOr<bool> RadosPool::RenewObjectLock(const ObjectLock& lock,
                                                std::chrono::seconds duration) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(lock.object)));
  const int result =
      LockExclusive(lock, duration, LIBRADOS_LOCK_FLAG_MUST_RENEW);
  if (result == -ENOENT || result == -EBUSY) return false;
  if (result < 0) {
    return CephError(result, "renew the lock of", ObjectText(lock.object));
  }
  return true;
}

absl::StatusOr<std::vector<Locker>> RadosPool::ObjectLockers(
    const ObjectLock& lock) {
  std::string clients;
  std::string cookies;
  std::string addresses;
  int count = -ERANGE;
  for (size_t size = kTextBytes; count == -ERANGE && size <= kMaxTextBytes;
       size *= 16) {
    count = connection_->Call("rados_list_lockers", [&] {
      int exclusive = 0;
      std::string tag(kTextBytes, '\0');
      size_t tag_size = tag.size();
      clients.assign(size, '\0');
      cookies.assign(size, '\0');
      addresses.assign(size, '\0');
      size_t clients_size = size;
      size_t cookies_size = size;
      size_t addresses_size = size;
      return static_cast<int>(rados_list_lockers(
          ioctx_->get(), lock.object.c_str(), lock.name.c_str(), &exclusive,
          tag.data(), &tag_size, clients.data(), &clients_size, cookies.data(),
          &cookies_size, addresses.data(), &addresses_size));
    });
  }
  std::vector<Locker> lockers;
  if (count == -ENOENT) return lockers;
  if (count < 0) {
    return CephError(count, "list the lockers of", ObjectText(lock.object));
  }
  const auto number = static_cast<size_t>(count);
  const std::vector<std::string> who = Split(clients, number);
  const std::vector<std::string> with = Split(cookies, number);
  const std::vector<std::string> from = Split(addresses, number);
  for (size_t i = 0; i < number; ++i) {
    lockers.push_back({who[i], with[i], from[i]});
  }
  return lockers;
}

absl::Status RadosPool::BreakObjectLock(const ObjectLock& lock,
                                        const Locker& locker) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(lock.object)));
  const int result = connection_->Call("rados_break_lock", [&] {
    return rados_break_lock(ioctx_->get(), lock.object.c_str(),
                            lock.name.c_str(), locker.client.c_str(),
                            locker.cookie.c_str());
  });
  return result < 0 && result != -ENOENT
             ? CephError(result, "break the lock of", ObjectText(lock.object))
             : absl::OkStatus();
}

absl::StatusOr<bool> RadosPool::RemoveLockedObject(const ObjectLock& lock) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(lock.object)));
  const std::string proof = EncodeAssertLocked(lock);
  const WriteOp op(rados_create_write_op());
  rados_write_op_exec(op.get(), "lock", "assert_locked", proof.data(),
                      proof.size(), nullptr);
  rados_write_op_remove(op.get());
  const int result = Operate(op, lock.object);
  if (result == -EBUSY || result == -ENOENT) return false;
  if (result < 0) return CephError(result, "remove", ObjectText(lock.object));
  return true;
}

}  // namespace addons
