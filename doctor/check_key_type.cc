#include "doctor/check_key_type.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/cephx_key.h"

namespace addons {

Finding CheckKeyType(const CephUser& user, const absl::Status& connected,
                     std::string object) {
  Finding finding{"cluster.key-type", FindingVerdict::kOk, std::move(object),
                  "", ""};
  const auto type = CephxKeyType(absl::StripAsciiWhitespace(user.key.Reveal()));
  if (!type.ok()) {
    finding.verdict = FindingVerdict::kProblem;
    finding.seen =
        absl::StrCat("the key is no cephx key: ", type.status().message());
    finding.remedy = "give the user's key as ceph auth get-key prints it";
    return finding;
  }
  const std::string named = absl::StrCat("the key is of type ", *type,
                                         *type == kCephxAes       ? " (aes)"
                                         : *type == kCephxAes256k ? " (aes256k)"
                                                                  : "");
  if (absl::StrContains(connected.message(), "cannot use keys of type")) {
    finding.verdict = FindingVerdict::kProblem;
    finding.seen = absl::StrCat(named, ": ", connected.message());
    finding.remedy =
        "run the daemon with librados 20.2.4 or newer (the image has it), or "
        "give it a user with a key of type aes: docs/compatibility.md";
  } else if (!connected.ok()) {
    finding.verdict = FindingVerdict::kUnclear;
    finding.seen = absl::StrCat(
        named, "; whether librados and the cluster can use it did not show");
    finding.remedy = "mend what keeps the daemon from connecting first";
  } else {
    finding.seen = absl::StrCat(
        named, ", which this librados can use and the cluster takes");
  }
  return finding;
}

}  // namespace addons
