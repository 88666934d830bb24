#ifndef ADDONS_NODE_RBD_NBD_COMMAND_H_
#define ADDONS_NODE_RBD_NBD_COMMAND_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/image_name.h"

namespace addons {

/// The image that an rbd-nbd process serves.
struct RbdNbdImage {
  std::string pool;
  std::string rados_namespace;
  ImageName image;
  bool encrypted = false;  // by librbd (--encryption-format)
  friend bool operator==(const RbdNbdImage&, const RbdNbdImage&) = default;
};

/// Reads the command line of a process as /proc/<pid>/cmdline has it, arguments
/// ended by NUL: "rbd-nbd map pool/namespace/image --device /dev/nbd0 ...".
/// nullopt when it is no rbd-nbd that maps or attaches an image, or when it
/// cannot be told for certain which argument is the image.
std::optional<RbdNbdImage> ParseRbdNbdCommand(absl::string_view command_line);

}  // namespace addons

#endif  // ADDONS_NODE_RBD_NBD_COMMAND_H_
