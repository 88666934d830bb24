#ifndef ADDONS_TESTS_CLUSTER_PRIVILEGES_H_
#define ADDONS_TESTS_CLUSTER_PRIVILEGES_H_

namespace addons::testing {

/// Whether this process may make namespaces of these kinds (CLONE_NEWNS,
/// CLONE_NEWNET): being root is not enough in most containers. A child tries
/// it, so nothing changes for the caller.
bool CanMakeNamespaces(int flags);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_PRIVILEGES_H_
