#ifndef ADDONS_CLI_TAR_H_
#define ADDONS_CLI_TAR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// A file of an archive.
struct TarEntry {
  std::string name;  // of at most 100 bytes, relative
  std::string text;  // less than 8 GiB
};

/// An archive in the format ustar of POSIX, which every tar reads. All files
/// are their owner's alone and from `unix_seconds`. Written here and not by a
/// program or library, because the image has no shell and no tar.
std::string TarOf(const std::vector<TarEntry>& entries, int64_t unix_seconds);

/// Whether WriteWhole() could make `path`, as far as can be told before.
/// INVALID_ARGUMENT names what is in the way: no folder, one that may not be
/// written, or something that is there and must not be replaced.
absl::Status CheckWritable(const std::string& path, bool replace);

/// Makes the file `path` (mode 0600) of all of `content`, or nothing: it is
/// written beside it, and gets its name last. Takes the place of a file of that
/// name only with `replace`. INVALID_ARGUMENT: one has come meanwhile.
/// INTERNAL: it cannot be written, for instance because the disk is full.
/// Blocks.
absl::Status WriteWhole(const std::string& path, absl::string_view content,
                        bool replace);

}  // namespace addons

#endif  // ADDONS_CLI_TAR_H_
