#ifndef ADDONS_VOLUME_STAMPED_FILE_H_
#define ADDONS_VOLUME_STAMPED_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace addons {

/// Tells one state of a file from another without reading it. Links are
/// followed, so the swap of a ConfigMap's link changes it as well.
struct FileStamp {
  int error = 0;  // errno; the rest is meaningful without one
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Of the file as it is now.
FileStamp StampOf(const std::string& path);

/// The clock of a file system advances in ticks: a file that was touched just
/// now can change once more without looking different.
bool MayChangeUnnoticed(const FileStamp& stamp);

/// What a file held when it was looked at.
struct FileContent {
  FileStamp stamp;
  std::string text;
  std::string problem;  // why there is no text; empty: there is
};

/// Reads at most 16 MiB; opening a named pipe does not hang.
FileContent ReadStampedFile(const std::string& path);

}  // namespace addons

#endif  // ADDONS_VOLUME_STAMPED_FILE_H_
