#ifndef ADDONS_LEASE_HOLDER_H_
#define ADDONS_LEASE_HOLDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "lease/life_sign.h"

namespace addons {

/// A process, so that another one of the same machine can tell whether it is
/// still there. Nothing in it is secret: everybody who may read the pool sees
/// it.
struct ProcessIdentity {
  std::string host;             // its name; in Kubernetes the pod's
  std::string boot;             // id of the machine's boot
  std::string pid_namespace;    // "4026531836"
  int64_t pid = 0;              // within that
  uint64_t started = 0;         // ticks of the kernel's clock since the boot
  std::string net_namespace{};  // as pid_namespace
  std::string life{};           // its LifeSign()
  friend bool operator==(const ProcessIdentity&,
                         const ProcessIdentity&) = default;
};

/// This one. What cannot be read is left out; such a process is never proven
/// dead by others.
ProcessIdentity ThisProcess();

/// What a machine says of a pid of its own.
struct ProcessState {
  bool exists = true;               // true also where that is not known
  std::optional<uint64_t> started;  // as in ProcessIdentity
};
using ProcessProbe = std::function<ProcessState(int64_t pid)>;
ProcessState ProbeProcess(int64_t pid);

/// Whether both are one; false also where that is not known.
bool SameProcess(const ProcessIdentity& one, const ProcessIdentity& other);

/// Whether `process` was one of the pid namespace of `self`, in the same boot
/// of the same machine, and is no more: its pid is gone or somebody else's.
bool ProvenDead(const ProcessIdentity& process, const ProcessIdentity& self,
                const ProcessProbe& probe);

/// Whether `process` was one of this boot and of the network namespace of
/// `self`, and its life sign is gone: so a new container of a pod knows the one
/// before it, whose pid means nothing to it. What that one has sent may still
/// be under way: it is to be kept from the cluster first.
bool LifeEnded(const ProcessIdentity& process, const ProcessIdentity& self,
               const LifeSignProbe& gone);

/// Who holds a lease.
struct LeaseHolder {
  ProcessIdentity process;
  std::string instance;  // --instance-id
  std::string verb;      // "promote"
  std::string since;     // "2026-01-31T12:00:00Z"
  std::string token;     // another one for each lease
};

/// The cookie of its lock: at most 512 bytes, of which each text has a part.
/// What is not a letter, a digit or one of ".-_:" becomes "_".
std::string FormatLeaseHolder(const LeaseHolder& holder);
/// nullopt: not a cookie of ours.
std::optional<LeaseHolder> ParseLeaseHolder(absl::string_view cookie);

/// Whether it is of the daemons with this --instance-id.
bool OfInstance(const LeaseHolder& holder, absl::string_view instance);

/// "promote by instance 'default' on host 'csi-0' (process 7) since ...".
std::string DescribeLeaseHolder(const LeaseHolder& holder);

}  // namespace addons

#endif  // ADDONS_LEASE_HOLDER_H_
