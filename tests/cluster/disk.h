#ifndef ADDONS_TESTS_CLUSTER_DISK_H_
#define ADDONS_TESTS_CLUSTER_DISK_H_

#include <cstdint>
#include <memory>
#include <string>

namespace addons::testing {

/// An image as a workload uses it: opened through librbd by a client of its
/// own, with the administrator's rights. All methods return 0 or a negative
/// errno. One thread at a time.
class Disk {
 public:
  enum class Mode { kReadOnly, kWritable };

  /// Connects with `ceph_conf` and opens `image`. Check result() first.
  Disk(const std::string& ceph_conf, const std::string& pool,
       const std::string& rados_namespace, const std::string& image, Mode mode);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  int result() const { return result_; }
  /// Writes `text` at the start of each object in [0, bytes), and flushes.
  int Fill(const std::string& text, uint64_t bytes);
  int Write(uint64_t offset, const std::string& data);
  /// Of what librbd does not leave out: whole pieces of 64 KiB.
  int Discard(uint64_t offset, uint64_t bytes);
  /// As who asks for zeros without space for them, if that is possible.
  int WriteZeroes(uint64_t offset, uint64_t bytes);
  /// The `size` bytes at `offset`; empty on an error.
  std::string Read(uint64_t offset, size_t size);
  /// A metadata value of the image; empty when there is none, or on an error.
  std::string Metadata(const std::string& key);
  /// Wants to be asked before each snapshot, and never answers that it is
  /// quiet.
  int HangWhenQuiesced();
  /// A number that tells the content of the whole image from any other.
  uint64_t Digest();
  uint64_t size() const { return size_; }

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
  int result_ = 0;
  uint64_t size_ = 0;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_DISK_H_
