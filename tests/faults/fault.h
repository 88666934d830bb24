#ifndef ADDONS_TESTS_FAULTS_FAULT_H_
#define ADDONS_TESTS_FAULTS_FAULT_H_

#include <map>
#include <string>
#include <vector>

#include "tests/fakes/fake_world.h"

namespace addons::testing {

/// What happens at one call of Ceph.
enum class Strike {
  kError,         // the call has no effect and answers an errno
  kErrorAfter,    // it did what it was asked, and the caller hears an errno
  kHang,          // it answers, after the caller's deadline
  kDieBefore,     // the process ends
  kDieAfter,      // the same, when the call has taken effect
  kDieWithin,     // the same, between two changes that one call makes
  kPause,         // 50 s pass before it; the caller is still there
  kCallerLeaves,  // the client disconnects
  kCancel,        // an administrator cancels the operation
  kBlocklist,     // this client is blocklisted
  kThrow,         // no memory
  kThrowAfter,    // the same, when the call has taken effect
  kNoThreads,     // no thread can be made until this call of the verb ends
};

struct Fault {
  Strike strike = Strike::kError;
  int error = 0;  // kError, kErrorAfter
};

/// "EIO", "ETIMEDOUT after its effect", "dies before".
std::string Name(const Fault& fault);

/// Whether what happens at a call makes the process a new one.
bool EndsProcess(Strike strike);

/// The errnos that each call of Ceph can give, by the C function.
const std::map<std::string, std::vector<int>>& ErrnosOfCalls();

/// A place in a verb where a thread of this name is made, as if it were a call
/// of Ceph: "thread promote-barrier".
std::string ThreadCall(const std::string& thread);
bool IsThreadCall(const std::string& call);

/// All faults that can happen at `call`; empty: ErrnosOfCalls() has no row.
std::vector<Fault> FaultsAt(const CallRecord& call);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_FAULT_H_
