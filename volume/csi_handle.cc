#include "volume/csi_handle.h"

#include "absl/strings/str_cat.h"

namespace addons {

const char* NameOf(HandleKind kind) {
  return kind == HandleKind::kVolume ? "volume" : "volume group";
}

absl::StatusOr<VolumeId> ParseHandle(HandleKind kind, absl::string_view text) {
  return VolumeId::Parse(text, absl::StrCat(NameOf(kind), " id"));
}

std::vector<std::string> Texts(const std::vector<VolumeHandle>& volumes) {
  std::vector<std::string> texts;
  texts.reserve(volumes.size());
  for (const VolumeHandle& volume : volumes) texts.push_back(volume.text());
  return texts;
}

}  // namespace addons
