#ifndef ADDONS_RPC_UNREAD_ANSWERS_H_
#define ADDONS_RPC_UNREAD_ANSWERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace addons {

/// What the answers take that gRPC has and could not write yet, because their
/// callers do not read. Who asks for long lists and reads none of them must not
/// take all memory: beyond a bound large answers are refused, small ones such
/// as Probe's never. Thread-safe.
class UnreadAnswers {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;
  /// An answer of so many bytes costs no more than the call itself does.
  static constexpr size_t kSmallBytes = size_t{16} << 10;

  /// false: an answer of this size is to be refused. Otherwise Release() is
  /// owed when it was written.
  bool Take(size_t bytes) {
    const size_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (bytes <= kSmallBytes || before + bytes <= kMostBytes) return true;
    Release(bytes);
    return false;
  }
  void Release(size_t bytes) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<size_t> bytes_{0};
};

}  // namespace addons

#endif  // ADDONS_RPC_UNREAD_ANSWERS_H_
