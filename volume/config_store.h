#ifndef ADDONS_VOLUME_CONFIG_STORE_H_
#define ADDONS_VOLUME_CONFIG_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "volume/cluster_config.h"

namespace addons {

/// Serves the newest good ClusterConfig of a folder. Looks at the files (not
/// into them) on each call and reads them again when they changed: also when a
/// ConfigMap swaps the folder's symbolic link. A file that cannot be parsed,
/// for instance because it is half written, is logged once per change and its
/// last good content stays; so it is for a config.json that was removed. A
/// missing cluster-mapping.json means no mapping; for one that has never been
/// readable see ClusterConfig::mapping_problem(). Thread-safe.
class ConfigStore {
 public:
  explicit ConfigStore(const std::string& directory);
  ~ConfigStore();
  ConfigStore(const ConfigStore&) = delete;
  ConfigStore& operator=(const ConfigStore&) = delete;

  /// UNAVAILABLE: there has never been a readable config.json; the message
  /// names the file and the reason.
  absl::StatusOr<std::shared_ptr<const ClusterConfig>> Current();
  /// The same, and reads the files also when they look unchanged.
  absl::StatusOr<std::shared_ptr<const ClusterConfig>> Reload();

  /// What is wrong with the files as Current() found them last.
  struct Troubles {
    std::vector<std::string> files;    // not usable: what was read before stays
    std::vector<std::string> entries;  // of what is used
  };
  Troubles troubles() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_CONFIG_STORE_H_
