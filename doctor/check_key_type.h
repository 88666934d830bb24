#ifndef ADDONS_DOCTOR_CHECK_KEY_TYPE_H_
#define ADDONS_DOCTOR_CHECK_KEY_TYPE_H_

#include <string>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "doctor/finding.h"

namespace addons {

/// Whether the key that `user` has is of a type that this librados can use and
/// the cluster takes; `connected` is what connecting came to, `object` the
/// cluster. Asks nobody.
Finding CheckKeyType(const CephUser& user, const absl::Status& connected,
                     std::string object);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_KEY_TYPE_H_
