#ifndef ADDONS_BASE_IMAGE_NAME_H_
#define ADDONS_BASE_IMAGE_NAME_H_

#include <compare>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace addons {

/// What an image is called in its pool and namespace. A type, so that neither
/// its internal id, which stays the same in the trash and is another one after
/// a resync, nor the name of a pool or group is taken for it. An ordinary
/// value.
class ImageName {
 public:
  /// No image.
  ImageName() = default;
  explicit ImageName(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

  friend bool operator==(const ImageName&, const ImageName&) = default;
  friend auto operator<=>(const ImageName&, const ImageName&) = default;
  friend std::ostream& operator<<(std::ostream& out, const ImageName& name) {
    return out << name.text_;
  }

 private:
  std::string text_;
};

/// "pool/name" or "pool/namespace/name", as the rbd command writes where an
/// image (or a group, or an object) is.
std::string RbdSpec(absl::string_view pool, absl::string_view rados_namespace,
                    absl::string_view name);

}  // namespace addons

#endif  // ADDONS_BASE_IMAGE_NAME_H_
