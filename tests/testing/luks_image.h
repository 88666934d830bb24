#ifndef ADDONS_TESTS_TESTING_LUKS_IMAGE_H_
#define ADDONS_TESTS_TESTING_LUKS_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace addons::testing {

/// How cryptsetup would have formatted an image. The key derivation is as
/// cheap as it may be.
struct LuksFormat {
  std::string type = "LUKS2";
  int key_bytes = 64;
  int sector_bytes = 512;
  std::string cipher = "aes";
  std::string mode = "xts-plain64";
  /// "pbkdf2"; "argon2id": with 32 KiB.
  std::string derivation = "pbkdf2";
};

/// A file of 24 MiB with a real LUKS header, made with libcryptsetup: in the
/// place of the device of a volume. A failure fails the test.
class LuksImage {
 public:
  /// `path` is made, and `passphrase` opens its slot 0.
  LuksImage(std::string path, const std::string& passphrase,
            const LuksFormat& format = {});

  const std::string& path() const { return path_; }

  /// Lets `passphrase` open `slot` as well; `known` is one that does already.
  void AddKey(int slot, const std::string& known,
              const std::string& passphrase) const;
  void RemoveKey(int slot) const;
  /// Makes the header (LUKS2 with a key of 32 bytes) that of a volume with
  /// integrity, which only a kernel with dm-integrity formats.
  void AddIntegrity() const;
  /// In use, ascending.
  std::vector<int> Slots() const;
  /// The slot that it opens; -1: none.
  int SlotOf(const std::string& passphrase) const;
  /// "pbkdf2 1000 iterations, 0 KiB", of one slot.
  std::string DerivationOf(int slot) const;
  /// Of the volume key, which no rotation changes, by one of its passphrases.
  std::string VolumeKey(const std::string& passphrase) const;

 private:
  std::string path_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_LUKS_IMAGE_H_
