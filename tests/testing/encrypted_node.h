#ifndef ADDONS_TESTS_TESTING_ENCRYPTED_NODE_H_
#define ADDONS_TESTS_TESTING_ENCRYPTED_NODE_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "keyrotation/key_store.h"
#include "keyrotation/passphrase_wrap.h"
#include "keyrotation/rotate.h"
#include "node/luks_header.h"
#include "tests/fakes/fake_site.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/linux_tree.h"
#include "tests/testing/luks_image.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {

/// A node of site a on which an encrypted volume is mapped as rbd0. The cluster
/// is played; the LUKS header is a real one, in a file. The volume's KMS is
/// "kms-1", of kind "metadata", unless said otherwise.
class EncryptedNode {
 public:
  static constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
  static constexpr char kSecret[] = "of the Secret";
  static constexpr char kFirst[] = "the first passphrase";

  explicit EncryptedNode(FakeWorld& world, const LuksFormat& format = {},
                         const std::string& opened_by = kFirst)
      : pair_(world), luks_(dir_.File("dev/rbd0"), opened_by, format) {
    pair_.WriteConfig(dir_.path());
    id_ = pair_.AddVolume(site(), kUuid);
    std::filesystem::create_directories(dir_.File("kms"));
    dir_.Write("kms/config.json", R"({
      "kms-1": {"encryptionKMSType": "metadata"},
      "vault-1": {"KMS_PROVIDER": "vaulttokens", "VAULT_ADDR": "x"},
      "tenant-1": {"encryptionKMSType": "metadata", "secretName": "theirs"}})");
    SetKms("kms-1", "block");
    SetMetadata(kEncryptedKey, "encrypted");
    SetMetadata(kPassphraseKey, Wrapped(kFirst));
    tree_.AddDisk("rbd0", "252:0");
    Map(MirroredPair::ImageOf(kUuid));
  }

  FakeSite& site() { return pair_.a(); }
  MirroredPair& pair() { return pair_; }
  LinuxTree& tree() { return tree_; }
  const LuksImage& luks() const { return luks_; }
  const TempDir& dir() const { return dir_; }
  const std::string& id() const { return id_; }
  static std::string Image() { return MirroredPair::ImageOf(kUuid); }

  /// What rbd0 is.
  void Map(const std::string& image) {
    tree_.SetKrbd(0, {"replicapool", "2", "", image, site().fsid()});
  }
  /// Where the header is: "rbd0".
  void SetDevice(const std::string& device) { device_ = device; }
  void SetKms(const std::string& kms, const std::string& type) {
    const std::string object = absl::StrCat("csi.volume.", kUuid);
    site().AddOmapValue(MirroredPair::kPool, "", object,
                        "csi.volume.encryptKMS", kms);
    site().AddOmapValue(MirroredPair::kPool, "", object,
                        "csi.volume.encryptionType", type);
  }
  void SetMetadata(const std::string& key, const std::string& value) {
    site().SetImageMetadata(Image(), key, value);
  }
  std::map<std::string, std::string> Metadata() {
    return site().ImageMetadata(Image());
  }

  std::string Wrapped(const std::string& passphrase) const {
    return *Wrap().Wrap(Secret(passphrase));
  }
  /// What the KMS "metadata" has now; empty: nothing that can be read.
  std::string InMetadata() {
    const auto metadata = Metadata();
    auto it = metadata.find(kPassphraseKey);
    if (it == metadata.end()) it = metadata.find(kOldPassphraseKey);
    if (it == metadata.end()) return "";
    const auto passphrase = Wrap().Unwrap(it->second);
    return passphrase.ok() ? passphrase->Reveal() : "";
  }

  RotationRequest Ask() {
    RotationRequest request;
    request.volume_id = VolumeHandle(id_);
    request.user = site().user();
    request.secret_passphrase = Secret(kSecret);
    return request;
  }

  /// In the place of libcryptsetup's.
  using Wrapper =
      std::function<std::unique_ptr<LuksHeader>(std::unique_ptr<LuksHeader>)>;
  RotationEnvironment Environment(Resolver& resolver,
                                  Wrapper wrapper = nullptr) {
    RotationEnvironment environment{resolver};
    environment.kms_config_dir = dir_.File("kms");
    environment.roots = tree_.roots();
    environment.check_node = [](const LinuxRoots&, const MappedDevice&) {
      return absl::OkStatus();
    };
    environment.open_header =
        [this, wrapper = std::move(wrapper)](const std::string& path)
        -> absl::StatusOr<std::unique_ptr<LuksHeader>> {
      EXPECT_EQ(path, absl::StrCat(tree_.roots().dev, "/", device_));
      auto header = OpenLuksHeader(luks_.path());
      if (!header.ok() || !wrapper) return header;
      return wrapper(*std::move(header));
    };
    return environment;
  }

 private:
  /// Deriving it takes long, and all volumes of these tests have one id.
  const PassphraseWrap& Wrap() const {
    static const PassphraseWrap wrap =
        *PassphraseWrap::Derive(Secret(kSecret), id_);
    return wrap;
  }

  MirroredPair pair_;
  const TempDir dir_;
  LinuxTree tree_;
  std::string id_;
  std::string device_ = "rbd0";
  const LuksImage luks_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_ENCRYPTED_NODE_H_
