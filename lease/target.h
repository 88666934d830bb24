#ifndef ADDONS_LEASE_TARGET_H_
#define ADDONS_LEASE_TARGET_H_

#include <string>

#include "volume/resolved.h"

namespace addons {

/// What a lease is about, and the object of our own that carries it.
struct LeaseTarget {
  ResolvedPlace place;
  std::string object;  // "rbd_addons.lease.<uuid>", in pool and namespace
  std::string text;    // for messages
  /// It is taken also where the pool is full: for what gives space back.
  bool although_full = false;
};

LeaseTarget LeaseOf(const ResolvedVolume& volume, bool although_full = false);
/// Also for one that is about to be made; it has its uuid already.
LeaseTarget LeaseOf(const ResolvedGroup& group, bool although_full = false);

}  // namespace addons

#endif  // ADDONS_LEASE_TARGET_H_
