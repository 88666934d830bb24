#include "replication/group/member_status.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace addons {
namespace {

constexpr size_t kNamesShown = 3;
constexpr size_t kReasonsShown = 2;
constexpr size_t kLongestReason = 600;  // the clock of a wait is its end

/// Where a code stands in the tables of the header; smaller is worse.
int Rank(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return 0;
    case absl::StatusCode::kUnauthenticated:
      return 1;
    case absl::StatusCode::kPermissionDenied:
      return 2;
    case absl::StatusCode::kInvalidArgument:
      return 3;
    case absl::StatusCode::kFailedPrecondition:
      return 4;
    default:
      return 5;
  }
}

absl::StatusCode CodeOfRank(int rank) {
  static constexpr absl::StatusCode kCodes[] = {
      absl::StatusCode::kInternal,           absl::StatusCode::kUnauthenticated,
      absl::StatusCode::kPermissionDenied,   absl::StatusCode::kInvalidArgument,
      absl::StatusCode::kFailedPrecondition, absl::StatusCode::kUnavailable};
  return kCodes[rank];
}

/// Failures by their code, worst first, then what is not finished.
std::pair<int, int> Order(const GroupMember& member) {
  switch (member.state) {
    case MemberState::kFailed:
      return {Rank(member.status.code()),
              static_cast<int>(member.status.code())};
    case MemberState::kWaiting:
      return {10, 0};
    case MemberState::kUnseen:
      return {11, 0};
    case MemberState::kRunning:
      return {12, 0};
    case MemberState::kReady:
      return {13, 0};
    case MemberState::kDone:
      return {14, 0};
  }
  return {15, 0};
}

std::string Label(const GroupText& text, const GroupMember& member) {
  switch (member.state) {
    case MemberState::kFailed:
      switch (member.status.code()) {
        case absl::StatusCode::kFailedPrecondition:
          return "refused";
        case absl::StatusCode::kNotFound:
          return "not found (a resync may be making it anew; remove it from "
                 "the group if it was deleted)";
        case absl::StatusCode::kUnavailable:
          return "not available";
        default:
          return absl::StatusCodeToString(member.status.code());
      }
    case MemberState::kWaiting:
      return "waiting";
    case MemberState::kUnseen:
      return "not looked at yet";
    case MemberState::kRunning:
      return text.running;
    case MemberState::kReady:
      return "ready";
    case MemberState::kDone:
      return text.done;
  }
  return "";
}

using Classes = std::map<std::pair<int, int>, std::vector<const GroupMember*>>;

Classes Classify(const GroupMembers& members) {
  Classes classes;
  for (const GroupMember& member : members) {
    classes[Order(member)].push_back(&member);
  }
  return classes;
}

std::string DescribeClass(const GroupText& text,
                          const std::vector<const GroupMember*>& members) {
  std::string description =
      absl::StrCat(members.size(), " ", Label(text, *members.front()), ": ");
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(members.size(), kNamesShown); ++i) {
    std::string name = absl::StrCat("'", members[i]->volume_id.text(), "'");
    if (i < kReasonsShown && !members[i]->status.ok()) {
      absl::StrAppend(&name, " (",
                      ClipText(members[i]->status.message(), kLongestReason),
                      ")");
    }
    names.push_back(std::move(name));
  }
  absl::StrAppend(&description, absl::StrJoin(names, ", "));
  if (members.size() > kNamesShown) {
    absl::StrAppend(&description, " and ", members.size() - kNamesShown,
                    " more");
  }
  return description;
}

}  // namespace

std::string ClipText(absl::string_view text, size_t longest) {
  if (text.size() <= longest) return std::string(text);
  size_t end = longest - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return absl::StrCat(text.substr(0, end), "...");
}

std::string CountMembers(const GroupText& text, const GroupMembers& members) {
  std::vector<std::string> counts;
  for (const auto& [order, list] : Classify(members)) {
    counts.push_back(absl::StrCat(list.size(), " ", Label(text, *list[0])));
  }
  return absl::StrJoin(counts, ", ");
}

std::string DescribeFailure(const GroupText& text,
                            const GroupMembers& members) {
  std::vector<std::string> classes;
  for (const auto& [order, list] : Classify(members)) {
    classes.push_back(DescribeClass(text, list));
  }
  return ClipText(absl::StrCat("Failed to ", text.action, " volume group '",
                               text.group_id.text(), "' with ", members.size(),
                               members.size() == 1 ? " member: " : " members: ",
                               absl::StrJoin(classes, "; ")),
                  kLongestGroupMessage);
}

bool AnyFailed(const GroupMembers& members) {
  return std::any_of(members.begin(), members.end(),
                     [](const GroupMember& member) {
                       return member.state == MemberState::kFailed;
                     });
}

absl::StatusCode GroupCode(const GroupMembers& members) {
  int worst = Rank(absl::StatusCode::kUnavailable);
  for (const GroupMember& member : members) {
    if (member.state != MemberState::kFailed) continue;
    worst = std::min(worst, Rank(member.status.code()));
  }
  return CodeOfRank(worst);
}

absl::StatusCode PromoteGroupCode(const GroupMembers& members) {
  const absl::StatusCode worst = GroupCode(members);
  if (worst != absl::StatusCode::kFailedPrecondition) return worst;
  const bool only_refusals = std::all_of(
      members.begin(), members.end(), [](const GroupMember& member) {
        return member.state == MemberState::kReady ||
               member.state == MemberState::kDone ||
               (member.state == MemberState::kFailed &&
                absl::IsFailedPrecondition(member.status));
      });
  return only_refusals ? worst : absl::StatusCode::kUnavailable;
}

}  // namespace addons
