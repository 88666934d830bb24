#ifndef ADDONS_REPLICATION_GROUP_MEMBER_STATUS_H_
#define ADDONS_REPLICATION_GROUP_MEMBER_STATUS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "volume/csi_handle.h"

namespace addons {

/// How a verb stands with one member of a volume group.
enum class MemberState {
  kUnseen,   // not looked at yet
  kWaiting,  // `status` says for what
  kReady,    // would be changed now
  kRunning,  // is being changed
  kDone,     // is as the verb wants it
  kFailed,   // `status` says why
};

struct GroupMember {
  VolumeHandle volume_id;
  MemberState state = MemberState::kUnseen;
  absl::Status status;
  SteadyTime at{};  // when the verb last came to a result
};
using GroupMembers = std::vector<GroupMember>;

/// So many of those that have the same to tell are named in a message.
inline constexpr size_t kNamedMembers = 3;

/// A group verb in the words of its messages.
struct GroupText {
  GroupHandle group_id;
  std::string action;   // "promote": "Failed to promote volume group '...'"
  std::string running;  // "being promoted"
  std::string done;     // "primary"
};

/// "1 waiting, 2 ready, 2 primary".
std::string CountMembers(const GroupText& text, const GroupMembers& members);

/// "Failed to promote volume group '...' with 5 members: 1 waiting: '...'
/// (why); 4 ready: '...', '...', '...' and 1 more". By state, failures first,
/// with the first names and reasons of each; at most kLongestGroupMessage
/// bytes, however many members there are.
std::string DescribeFailure(const GroupText& text, const GroupMembers& members);
inline constexpr size_t kLongestGroupMessage = 3500;

/// The code of a group verb other than promote that failed for some members.
/// The first row that holds for any of them:
///
///   a member's code                       the group's code
///   INTERNAL, UNKNOWN, DATA_LOSS          INTERNAL (a bug: nothing is sure)
///   UNAUTHENTICATED                       UNAUTHENTICATED (fix the secret)
///   PERMISSION_DENIED                     PERMISSION_DENIED (fix the caps)
///   INVALID_ARGUMENT                      INVALID_ARGUMENT (not a volume)
///   FAILED_PRECONDITION                   FAILED_PRECONDITION
///   anything else, NOT_FOUND included     UNAVAILABLE (repeat)
///
/// NOT_FOUND of a member never becomes NOT_FOUND of the group: the operator
/// takes that for "there is no such group", and for the end of a disable.
absl::StatusCode GroupCode(const GroupMembers& members);

/// The code of a promote of the group that failed for some members. As
/// GroupCode(), except that FAILED_PRECONDITION, which makes the operator
/// promote by force at once, stands only where every member that failed
/// refuses in this way, and each other one is ready or primary; UNAVAILABLE
/// otherwise.
absl::StatusCode PromoteGroupCode(const GroupMembers& members);

/// At most `longest` bytes of `text`, ending in "..." when it is longer, never
/// within a character of UTF-8.
std::string ClipText(absl::string_view text, size_t longest);

/// Whether any member has failed.
bool AnyFailed(const GroupMembers& members);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_MEMBER_STATUS_H_
