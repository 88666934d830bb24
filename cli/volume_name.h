#ifndef ADDONS_CLI_VOLUME_NAME_H_
#define ADDONS_CLI_VOLUME_NAME_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

/// Whether `text` begins as `pattern`, in which each 'h' stands for a
/// hexadecimal digit.
bool BeginsAs(absl::string_view pattern, absl::string_view text);

/// Whether a text is a volume's id, right or wrong, by the way it begins:
/// "0001-0006-"; else it is a name that FindVolume takes.
bool LooksLikeVolumeId(const std::string& text);

/// Where names of volumes are looked for, and by whom.
struct VolumeNames {
  std::string endpoint;
  std::chrono::milliseconds timeout{};  // for each
  SecretsSource secrets;
  std::string pool;     // of PersistentVolumes; empty: any
  std::string cluster;  // empty: any
};

/// What the person has typed for the volume with this id; else the id, in clean
/// text.
std::string TypedName(const std::string& id, const Streams& streams);

/// `text` with what the person has typed in the place of ids.
std::string WithTypedNames(std::string text, const Streams& streams);

/// Makes ids of those of `volumes` that are names, as the daemon finds them,
/// and says each on the error stream; TypedName() knows them from then on.
/// Blocks. The exit code: 0, or that of what it has printed: then nothing may
/// be done with any of them.
int FindVolumeIds(const VolumeNames& names,
                  const std::vector<std::string*>& volumes, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_VOLUME_NAME_H_
