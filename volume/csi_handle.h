#ifndef ADDONS_VOLUME_CSI_HANDLE_H_
#define ADDONS_VOLUME_CSI_HANDLE_H_

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "volume/volume_id.h"

namespace addons {

/// What a handle stands for; it does not say so itself.
enum class HandleKind { kVolume, kGroup };

/// "volume", "volume group".
const char* NameOf(HandleKind kind);

/// VolumeId::Parse(), whose message calls the handle by its kind.
absl::StatusOr<VolumeId> ParseHandle(HandleKind kind, absl::string_view text);

/// How CSI names a volume or a volume group: the text, as a caller or the
/// journal wrote it, and what it says. Decoded once, where it comes in. Also
/// what does not decode is a handle: a member of a group may be a static
/// volume. An ordinary value; handles are equal when their texts are, and two
/// texts may mean one volume (see OperationKey).
template <HandleKind kKind>
class CsiHandle {
 public:
  static constexpr HandleKind kHandleKind = kKind;

  /// No volume; does not decode.
  CsiHandle() : CsiHandle(std::string()) {}
  explicit CsiHandle(std::string text)
      : text_(std::move(text)), id_(ParseHandle(kKind, text_)) {}

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  /// INVALID_ARGUMENT, as VolumeId::Parse(): the text does not decode.
  const absl::StatusOr<VolumeId>& id() const { return id_; }

  friend bool operator==(const CsiHandle& a, const CsiHandle& b) {
    return a.text_ == b.text_;
  }
  friend auto operator<=>(const CsiHandle& a, const CsiHandle& b) {
    return a.text_ <=> b.text_;
  }
  /// With what others wrote.
  friend bool operator==(const CsiHandle& a, absl::string_view text) {
    return a.text_ == text;
  }
  friend std::ostream& operator<<(std::ostream& out, const CsiHandle& handle) {
    return out << handle.text_;
  }

 private:
  std::string text_;
  absl::StatusOr<VolumeId> id_;
};

using VolumeHandle = CsiHandle<HandleKind::kVolume>;
using GroupHandle = CsiHandle<HandleKind::kGroup>;

std::vector<std::string> Texts(const std::vector<VolumeHandle>& volumes);

}  // namespace addons

#endif  // ADDONS_VOLUME_CSI_HANDLE_H_
