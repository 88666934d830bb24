#include "cli/site_survey.h"

#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rbdaddons/admin.pb.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using std::chrono::milliseconds;

constexpr uint32_t kMostFindings = 100000;
/// Asked about in one call.
constexpr int kGroupsAtOnce = 500;

/// The uuid that ends a handle and the name of an image. A member may be named
/// as the other site would, so only this part is compared.
std::string UuidOf(const std::string& text) {
  constexpr size_t kLength = 36;
  return text.size() < kLength ? text : text.substr(text.size() - kLength);
}

class Look {
 public:
  Look(const SiteDaemon& daemon, const SurveyScope& scope, milliseconds timeout)
      : daemon_(daemon), scope_(scope), timeout_(timeout) {}

  absl::StatusOr<SiteSurvey> Run() {
    for (const std::string& pool :
         std::set<std::string>(scope_.pools.begin(), scope_.pools.end())) {
      ADDONS_RETURN_IF_ERROR(AtPool(pool));
    }
    if (scope_.without_groups) return std::move(survey_);
    ADDONS_RETURN_IF_ERROR(ListGroups());
    ADDONS_RETURN_IF_ERROR(AtGroups());
    AddForgottenMembers();
    return std::move(survey_);
  }

 private:
  absl::Status AtPool(const std::string& pool);
  absl::Status ListGroups();
  absl::Status AtGroups();
  void AddForgottenMembers();

  const SiteDaemon& daemon_;
  const SurveyScope& scope_;
  const milliseconds timeout_;
  SiteSurvey survey_;
  std::map<std::string, admin_pb::FailoverFinding> by_uuid_;
  std::map<std::string, std::set<std::string>> groups_;  // id; uuids
};

absl::Status Look::AtPool(const std::string& pool) {
  admin_pb::CheckFailoverRequest request;
  request.set_pool(pool);
  request.set_cluster_id(scope_.cluster);
  request.mutable_parameters()->insert(scope_.parameters.begin(),
                                       scope_.parameters.end());
  request.set_most_findings(kMostFindings);
  admin_pb::CheckFailoverResponse found;
  ADDONS_RETURN_IF_ERROR(daemon_.Call(request, found, timeout_));
  if (found.more()) {
    survey_.unseen.push_back(absl::StrCat("more than ", kMostFindings,
                                          " images of pool '", pool, "'"));
  }
  for (const admin_pb::FailoverFinding& finding : found.findings()) {
    by_uuid_[UuidOf(finding.image())] = finding;
  }
  survey_.unseen.insert(survey_.unseen.end(), found.unseen().begin(),
                        found.unseen().end());
  survey_.volumes.MergeFrom(found);
  return absl::OkStatus();
}

/// Those with a member in the pools.
absl::Status Look::ListGroups() {
  ::volumegroup::ListVolumeGroupsRequest request;
  ::volumegroup::ListVolumeGroupsResponse page;
  do {
    request.set_starting_token(page.next_token());
    request.clear_secrets();
    page.Clear();
    if (const absl::Status listed = daemon_.Call(request, page, timeout_);
        !listed.ok()) {
      return {listed.code(),
              absl::StrCat(listed.message(),
                           " (--without-groups takes each volume by itself)")};
    }
    for (const auto& entry : page.entries()) {
      std::set<std::string> members;
      bool here = false;
      for (const auto& volume : entry.volume_group().volumes()) {
        const std::string uuid = UuidOf(volume.volume_id());
        here = here || by_uuid_.count(uuid) > 0;
        members.insert(uuid);
      }
      if (here) groups_[entry.volume_group().volume_group_id()] = members;
    }
  } while (!page.next_token().empty());
  return absl::OkStatus();
}

absl::Status Look::AtGroups() {
  admin_pb::CheckFailoverRequest request;
  size_t left = groups_.size();
  for (const auto& [id, members] : groups_) {
    request.add_group_ids(id);
    if (--left > 0 && request.group_ids_size() < kGroupsAtOnce) continue;
    request.mutable_parameters()->insert(scope_.parameters.begin(),
                                         scope_.parameters.end());
    request.set_most_findings(kMostFindings);
    admin_pb::CheckFailoverResponse found;
    ADDONS_RETURN_IF_ERROR(daemon_.Call(request, found, timeout_));
    survey_.groups.MergeFrom(found);
    request.Clear();
  }
  return absl::OkStatus();
}

/// Members of a group that could not be read or that were not found in it are
/// still no volumes of their own.
void Look::AddForgottenMembers() {
  std::set<std::pair<std::string, std::string>> known;
  for (const admin_pb::FailoverFinding& finding : survey_.groups.findings()) {
    known.insert({finding.group_id(), UuidOf(finding.image())});
  }
  for (const auto& [id, members] : groups_) {
    for (const std::string& uuid : members) {
      const auto volume = by_uuid_.find(uuid);
      if (volume == by_uuid_.end() || known.count({id, uuid}) > 0) continue;
      admin_pb::FailoverFinding& added = *survey_.groups.add_findings();
      added = volume->second;
      added.set_group_id(id);
    }
  }
}

}  // namespace

absl::StatusOr<SiteSurvey> LookAtSite(const SiteDaemon& daemon,
                                      const SurveyScope& scope,
                                      milliseconds timeout) {
  return Look(daemon, scope, timeout).Run();
}

}  // namespace addons
