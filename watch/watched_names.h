#ifndef ADDONS_WATCH_WATCHED_NAMES_H_
#define ADDONS_WATCH_WATCHED_NAMES_H_

#include <map>
#include <string>

#include "watch/watch_snapshot.h"

namespace addons {

/// "pool/image" or "pool/namespace/image", as commands take it.
std::string SpecOf(const WatchedPool& pool, const WatchedImage& image);
/// What people call the volume: the claim, else the PersistentVolume, else
/// "pool/image".
std::string NameOf(const WatchedPool& pool, const WatchedImage& image);

/// What people call volumes and volume groups, by their ids. A group has the
/// name of the request that made it.
class WatchedNames {
 public:
  /// `watch` may be null.
  explicit WatchedNames(const WatchSnapshot* watch);
  /// "volume 'NAME'" of "volume 'ID'"; what is not known stays as it is.
  std::string Named(const std::string& object) const;
  /// Empty when it is not known.
  std::string NameOf(const std::string& id) const;
  /// The same of "volume 'ID'".
  std::string NameOfObject(const std::string& object) const;

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace addons

#endif  // ADDONS_WATCH_WATCHED_NAMES_H_
