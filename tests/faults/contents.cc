#include "tests/faults/contents.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace addons::testing {

std::string WithoutGroup(const Rig& rig, const std::string& text) {
  constexpr size_t kUuidLength = 36;
  if (rig.group_id_.size() < kUuidLength) return text;
  return absl::StrReplaceAll(
      text,
      {{rig.group_id_.substr(rig.group_id_.size() - kUuidLength), "<group>"}});
}

Contents ContentsOf(const Rig& rig, const FakeSite& site) {
  Contents contents;
  for (const auto& [key, value] : site.Contents()) {
    contents[WithoutGroup(rig, absl::StrCat(site.name(), ": ", key))] =
        WithoutGroup(rig, value);
  }
  return contents;
}

void DropTracesOfTheDead(Contents* contents) {
  std::erase_if(*contents, [](const auto& entry) {
    return absl::EndsWith(entry.first, " lock") ||
           (absl::StrContains(entry.first, ": object ") &&
            absl::StrContains(entry.first, "rbd_addons.lease."));
  });
}

}  // namespace addons::testing
