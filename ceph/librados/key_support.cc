#include "ceph/librados/key_support.h"

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ceph/cephx_key.h"

namespace addons {
namespace {

using Release = std::array<unsigned, 3>;

bool ParseRelease(absl::string_view text, Release& release) {
  // A build between releases is "19.2.6-123-gabcdef0".
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(text.substr(0, text.find('-')), '.');
  if (numbers.size() != release.size()) return false;
  for (size_t i = 0; i < release.size(); ++i) {
    if (!absl::SimpleAtoi(numbers[i], &release[i])) return false;
  }
  return true;
}

/// The fix of CVE-2025-30156 brought the type, in three releases.
bool KnowsAes256k(const Release& release) {
  if (release[0] == 19) return release >= Release{19, 2, 6};
  return release >= Release{20, 2, 4};
}

}  // namespace

std::string LibradosVersion() {
  // rados_version() tells the version of the interface, which has been 3.0.0
  // since Ceph 14. This function of libceph-common, which librados stands on,
  // is not in its headers: const char* ceph_version_to_str().
  void* symbol = dlsym(RTLD_DEFAULT, "_Z19ceph_version_to_strv");
  if (symbol == nullptr) return "";
  const char* version = reinterpret_cast<const char* (*)()>(symbol)();
  return version == nullptr ? "" : version;
}

std::string UnusableKeyType(int result, unsigned key_type,
                            absl::string_view version) {
  // librados decodes the key before it asks anybody; a type that it does not
  // know is EINVAL.
  if (result != -EINVAL || key_type != kCephxAes256k) return "";
  Release release{};
  if (!ParseRelease(version, release) || KnowsAes256k(release)) return "";
  return absl::StrCat("this librados ", version, " cannot use keys of type ",
                      key_type, " (aes256k); 19.2.6, 20.2.4 or newer can");
}

}  // namespace addons
