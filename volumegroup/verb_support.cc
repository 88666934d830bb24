#include "volumegroup/verb_support.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kLookPatience{30};

}  // namespace

SteadyTime LookDeadline(OperationContext& context) {
  return context.DeadlineWithin(kLookPatience);
}

std::set<std::string> KeysOf(Resolver& resolver,
                             const std::vector<std::string>& volume_ids) {
  std::set<std::string> keys;
  for (const std::string& id : volume_ids) {
    auto key = resolver.OperationKey(id);
    if (key.ok()) keys.insert(*std::move(key));
  }
  return keys;
}

std::set<std::string> MissingKeys(const std::set<std::string>& needed,
                                  const HeldKeys& held) {
  std::set<std::string> missing;
  std::set_difference(needed.begin(), needed.end(), held.begin(), held.end(),
                      std::inserter(missing, missing.end()));
  return missing;
}

absl::Status CheckMemberCount(const VolumeGroupOptions& options, size_t count) {
  if (count <= options.max_members) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "a volume group of ", count, " volumes is too large: at most ",
      options.max_members, " are allowed (flag --group-max-members)"));
}

}  // namespace addons
