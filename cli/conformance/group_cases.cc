#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/conformance/cases.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

using absl::StatusCode;
using Json = ServerUnderTest::Json;

constexpr char kGroupCapability[] = "volume_group.VOLUME_GROUP";
constexpr char kModifyCapability[] = "volume_group.MODIFY_VOLUME_GROUP";
constexpr char kGetCapability[] = "volume_group.GET_VOLUME_GROUP";
constexpr char kListCapability[] = "volume_group.LIST_VOLUME_GROUPS";
constexpr char kCreate[] = "volumegroup.Controller/CreateVolumeGroup";
constexpr char kModify[] = "volumegroup.Controller/ModifyVolumeGroupMembership";
constexpr char kDelete[] = "volumegroup.Controller/DeleteVolumeGroup";
constexpr char kGet[] = "volumegroup.Controller/ControllerGetVolumeGroup";
constexpr char kList[] = "volumegroup.Controller/ListVolumeGroups";

/// The group of a run: made by its first case, deleted by its last.
struct Group {
  std::string name;
  std::string id;
};
using GroupRef = std::shared_ptr<Group>;
using Volumes = std::vector<std::string>;

Json CreateRequest(const Subject& subject, const std::string& name,
                   const Volumes& volumes) {
  Json request = {{"name", name}, {"volume_ids", volumes}};
  for (const auto& [key, value] : subject.group_parameters) {
    request["parameters"][key] = value;
  }
  return request;
}

Volumes MembersOf(const ::volumegroup::VolumeGroup& group) {
  Volumes volumes;
  for (const auto& volume : group.volumes()) {
    volumes.push_back(volume.volume_id());
  }
  std::sort(volumes.begin(), volumes.end());
  return volumes;
}

Volumes Sorted(Volumes volumes) {
  std::sort(volumes.begin(), volumes.end());
  return volumes;
}

bool HasMembers(const ::volumegroup::VolumeGroup& group, const Volumes& wanted,
                Steps& steps) {
  const Volumes found = MembersOf(group);
  return steps.Holds(
      found == Sorted(wanted),
      absl::StrCat("the members are [", absl::StrJoin(found, ", "), "]"));
}

Outcome Create(const Subject& subject, Group& group) {
  const Json request =
      CreateRequest(subject, group.name, subject.group_volumes);
  Steps steps;
  const Reply made = subject.server.CallPatiently(kCreate, request);
  if (!steps.Answers("at first", made, {StatusCode::kOk})) {
    return steps.outcome();
  }
  const auto& first =
      made.As<::volumegroup::CreateVolumeGroupResponse>().volume_group();
  group.id = first.volume_group_id();
  steps.Holds(!group.id.empty(), "the id is empty");
  HasMembers(first, subject.group_volumes, steps);
  const Reply again = subject.server.CallPatiently(kCreate, request);
  if (!steps.Answers("again", again, {StatusCode::kOk})) {
    return steps.outcome();
  }
  const auto& second =
      again.As<::volumegroup::CreateVolumeGroupResponse>().volume_group();
  steps.Holds(second.volume_group_id() == group.id,
              absl::StrCat("the second answer has another id, ",
                           second.volume_group_id()));
  return steps.outcome();
}

Outcome CreateWithOthers(const Subject& subject, const Group& group) {
  return Expect(
      subject.server.Call(kCreate, CreateRequest(subject, group.name, {})),
      {StatusCode::kAlreadyExists});
}

Outcome Get(const Subject& subject, const Group& group) {
  const Reply reply =
      subject.server.Call(kGet, {{"volume_group_id", group.id}});
  Steps steps;
  if (!steps.Answers("", reply, {StatusCode::kOk})) return steps.outcome();
  HasMembers(reply.As<::volumegroup::ControllerGetVolumeGroupResponse>()
                 .volume_group(),
             subject.group_volumes, steps);
  return steps.outcome();
}

Outcome List(const Subject& subject, const Group& group) {
  Steps steps;
  std::string token;
  bool found = false;
  do {
    const Reply reply = subject.server.Call(
        kList, {{"max_entries", 1}, {"starting_token", token}});
    if (!steps.Answers("a page", reply, {StatusCode::kOk})) break;
    const auto& page = reply.As<::volumegroup::ListVolumeGroupsResponse>();
    if (!steps.Holds(page.entries_size() <= 1,
                     "a page of one has more entries")) {
      break;
    }
    for (const auto& entry : page.entries()) {
      found = found || entry.volume_group().volume_group_id() == group.id;
    }
    token = page.next_token();
  } while (!token.empty() && !found);
  steps.Holds(found, "no page has the group");
  return steps.outcome();
}

Outcome ListBadly(const Subject& subject) {
  Steps steps;
  steps.Answers("a negative number of entries",
                subject.server.Call(kList, {{"max_entries", -1}}),
                {StatusCode::kInvalidArgument});
  steps.Answers(
      "a token that is none",
      subject.server.Call(kList, {{"starting_token", "conformance?"}}),
      {StatusCode::kAborted});
  return steps.outcome();
}

/// The membership is `wanted`, and again.
void ModifyTo(const Subject& subject, const Group& group, const Volumes& wanted,
              Steps& steps) {
  const Json request = {{"volume_group_id", group.id}, {"volume_ids", wanted}};
  for (const char* const step : {"at first", "again"}) {
    const Reply reply = subject.server.CallPatiently(kModify, request);
    if (!steps.Answers(step, reply, {StatusCode::kOk}) ||
        !HasMembers(
            reply.As<::volumegroup::ModifyVolumeGroupMembershipResponse>()
                .volume_group(),
            wanted, steps)) {
      return;
    }
  }
}

Outcome Modify(const Subject& subject, const Group& group) {
  Steps steps;
  ModifyTo(subject, group, {}, steps);
  if (!steps.failed()) ModifyTo(subject, group, subject.group_volumes, steps);
  if (!steps.failed()) ModifyTo(subject, group, {}, steps);
  return steps.outcome();
}

Outcome Delete(const Subject& subject, const Group& group) {
  const Json request = {{"volume_group_id", group.id}};
  Steps steps;
  steps.Answers("at first", subject.server.CallPatiently(kDelete, request),
                {StatusCode::kOk});
  steps.Answers("again", subject.server.CallPatiently(kDelete, request),
                {StatusCode::kOk});
  const Reply gone = subject.server.Call(kGet, request);
  if (!absl::IsUnimplemented(gone.status)) {
    steps.Answers("ControllerGetVolumeGroup afterwards", gone,
                  {StatusCode::kNotFound});
  }
  return steps.outcome();
}

Case Of(const GroupRef& group, const char* id, const std::string& promise,
        const char* capability,
        std::function<Outcome(const Subject&, Group&)> run) {
  return {absl::StrCat("group.", id), promise, capability,
          [group, run = std::move(run)](const Subject& subject) {
            if (subject.group_volumes.empty()) {
              return Outcome::Skipped("it needs volumes: --group-volume");
            }
            if (group->id.empty() && group->name.empty()) {
              return Outcome::Skipped("the group could not be made");
            }
            return run(subject, *group);
          }};
}

}  // namespace

Cases GroupCases() {
  const auto group = std::make_shared<Group>();
  group->name =
      absl::StrCat("conformance-",
                   std::chrono::system_clock::now().time_since_epoch().count());
  return {
      Of(group, "create", "creating a group is OK, and again, with one id",
         kGroupCapability,
         [](const Subject& subject, Group& made) {
           Outcome outcome = Create(subject, made);
           if (made.id.empty()) made.name.clear();
           return outcome;
         }),
      Of(group, "create.other-members",
         "creating a group of this name with other members is ALREADY_EXISTS",
         kGroupCapability, CreateWithOthers),
      Of(group, "get", "the group has its members", kGetCapability, Get),
      Of(group, "list", "the pages of the list have the group", kListCapability,
         List),
      {"group.list.bad",
       "a negative number of entries is INVALID_ARGUMENT, a token that is none "
       "ABORTED",
       kListCapability, ListBadly},
      Of(group, "modify",
         "the members are as they were asked for, and again: none, all, none",
         kModifyCapability, Modify),
      Of(group, "delete", "deleting is OK, and OK again, and the group is gone",
         kGroupCapability, Delete),
  };
}

}  // namespace addons
