#include "tests/testing/luks_image.h"

#include <gtest/gtest.h>
#include <libcryptsetup.h>
#include <openssl/sha.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace addons::testing {
namespace {

constexpr uint64_t kBytes = uint64_t{24} << 20;

struct Free {
  void operator()(crypt_device* device) const { crypt_free(device); }
};
using Device = std::unique_ptr<crypt_device, Free>;

crypt_pbkdf_type Cheap(const LuksFormat& format) {
  crypt_pbkdf_type derivation{};
  derivation.type = format.derivation.c_str();
  derivation.hash = "sha256";
  derivation.flags = CRYPT_PBKDF_NO_BENCHMARK;
  const bool pbkdf2 = format.derivation == "pbkdf2";
  derivation.iterations = pbkdf2 ? 1000 : 4;
  derivation.max_memory_kb = pbkdf2 ? 0 : 32;
  derivation.parallel_threads = pbkdf2 ? 0 : 1;
  return derivation;
}

Device Made(const std::string& path) {
  crypt_device* device = nullptr;
  EXPECT_EQ(crypt_init(&device, path.c_str()), 0) << path;
  return Device(device);
}

Device Loaded(const std::string& path) {
  Device device = Made(path);
  EXPECT_EQ(crypt_load(device.get(), CRYPT_LUKS, nullptr), 0) << path;
  return device;
}

void Format(const std::string& path, const std::string& passphrase,
            const LuksFormat& format) {
  const Device device = Made(path);
  const crypt_pbkdf_type derivation = Cheap(format);
  crypt_params_luks1 luks1{};
  luks1.hash = "sha256";
  crypt_params_luks2 luks2{};
  luks2.pbkdf = &derivation;
  luks2.sector_size = static_cast<uint32_t>(format.sector_bytes);
  const bool old = format.type == "LUKS1";
  if (old) {
    EXPECT_EQ(crypt_set_pbkdf_type(device.get(), &derivation), 0);
  }
  EXPECT_EQ(crypt_format(device.get(), format.type.c_str(),
                         format.cipher.c_str(), format.mode.c_str(), nullptr,
                         nullptr, static_cast<size_t>(format.key_bytes),
                         old ? static_cast<void*>(&luks1) : &luks2),
            0);
  EXPECT_EQ(
      crypt_keyslot_add_by_volume_key(device.get(), 0, nullptr, 0,
                                      passphrase.data(), passphrase.size()),
      0);
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

LuksImage::LuksImage(std::string path, const std::string& passphrase,
                     const LuksFormat& format)
    : path_(std::move(path)) {
  std::filesystem::create_directories(
      std::filesystem::path(path_).parent_path());
  std::ofstream(path_).close();
  std::filesystem::resize_file(path_, kBytes);
  // Formatting writes and syncs 16 MiB: each kind is made once in a program.
  static std::map<std::string, std::string>& made =
      *new std::map<std::string, std::string>();
  std::string& header = made[absl::StrCat(
      passphrase, "/", format.type, "/", format.key_bytes, "/",
      format.sector_bytes, "/", format.mode, "/", format.derivation)];
  if (header.empty()) {
    Format(path_, passphrase, format);
    header = ContentOf(path_);
  } else {
    std::ofstream(path_, std::ios::binary) << header;
  }
}

void LuksImage::AddKey(int slot, const std::string& known,
                       const std::string& passphrase) const {
  const Device device = Loaded(path_);
  const LuksFormat format;
  const crypt_pbkdf_type derivation = Cheap(format);
  EXPECT_EQ(crypt_set_pbkdf_type(device.get(), &derivation), 0);
  EXPECT_EQ(crypt_keyslot_add_by_passphrase(device.get(), slot, known.data(),
                                            known.size(), passphrase.data(),
                                            passphrase.size()),
            slot);
}

void LuksImage::RemoveKey(int slot) const {
  EXPECT_EQ(crypt_keyslot_destroy(Loaded(path_).get(), slot), 0);
}

void LuksImage::AddIntegrity() const {
  constexpr size_t kBinary = 4096;
  constexpr size_t kSizeAt = 8;
  constexpr size_t kChecksumAt = 448;
  std::string content = ContentOf(path_);
  size_t size = 0;
  for (size_t i = 0; i < 8; ++i) {
    size = size << 8 | static_cast<unsigned char>(content[kSizeAt + i]);
  }
  ASSERT_EQ(size, 16384U);
  for (const size_t at : {size_t{0}, size}) {
    auto json = ParseJson(content.c_str() + at + kBinary);
    ASSERT_TRUE(json.is_object());
    auto& segment = json.at("segments").at("0");
    segment["encryption"] = "aes-gcm-random";
    segment["integrity"] = {{"type", "aead"},
                            {"journal_encryption", "none"},
                            {"journal_integrity", "none"}};
    std::string header = content.substr(at, kBinary) + JsonText(json);
    header.resize(size);
    header.replace(kChecksumAt, 64, 64, '\0');
    SHA256(reinterpret_cast<const unsigned char*>(header.data()), size,
           reinterpret_cast<unsigned char*>(&header[kChecksumAt]));
    content.replace(at, size, header);
  }
  std::ofstream(path_, std::ios::binary) << content;
}

std::vector<int> LuksImage::Slots() const {
  const Device device = Loaded(path_);
  std::vector<int> slots;
  for (int i = 0; i < crypt_keyslot_max(crypt_get_type(device.get())); ++i) {
    if (crypt_keyslot_status(device.get(), i) >= CRYPT_SLOT_ACTIVE) {
      slots.push_back(i);
    }
  }
  return slots;
}

int LuksImage::SlotOf(const std::string& passphrase) const {
  const int r =
      crypt_activate_by_passphrase(Loaded(path_).get(), nullptr, CRYPT_ANY_SLOT,
                                   passphrase.data(), passphrase.size(), 0);
  return r < 0 ? -1 : r;
}

std::string LuksImage::DerivationOf(int slot) const {
  const Device device = Loaded(path_);
  crypt_pbkdf_type derivation{};
  EXPECT_EQ(crypt_keyslot_get_pbkdf(device.get(), slot, &derivation), 0);
  return absl::StrCat(derivation.type, " ", derivation.iterations,
                      " iterations, ", derivation.max_memory_kb, " KiB");
}

std::string LuksImage::VolumeKey(const std::string& passphrase) const {
  const Device device = Loaded(path_);
  size_t size = static_cast<size_t>(crypt_get_volume_key_size(device.get()));
  std::string key(size, '\0');
  EXPECT_GE(crypt_volume_key_get(device.get(), CRYPT_ANY_SLOT, key.data(),
                                 &size, passphrase.data(), passphrase.size()),
            0);
  return key;
}

}  // namespace addons::testing
