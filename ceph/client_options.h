#ifndef ADDONS_CEPH_CLIENT_OPTIONS_H_
#define ADDONS_CEPH_CLIENT_OPTIONS_H_

#include <string>

#include "absl/status/statusor.h"

namespace addons {

/// A cluster that tells what its configuration database, or Ceph's default,
/// says to a client of this user. A connection of ours that opens images may
/// have another value (ceph/pinned_options.h).
class ClientOptions {
 public:
  virtual ~ClientOptions() = default;

  /// NOT_FOUND: this librados has no such option. Blocks only to connect
  /// (bounded). Thread-safe. rados_conf_get
  virtual absl::StatusOr<std::string> ConfiguredOption(
      const std::string& name) = 0;
};

}  // namespace addons

#endif  // ADDONS_CEPH_CLIENT_OPTIONS_H_
