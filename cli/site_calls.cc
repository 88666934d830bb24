#include "cli/site_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/call.h"
#include "cli/channel.h"
#include "cli/methods.h"
#include "cli/repeated_call.h"
#include "cli/streams.h"
#include "replication/replication.pb.h"
#include "rpc/method.h"

namespace addons {
namespace {

namespace pb = ::replication;
using std::chrono::milliseconds;

template <typename Request>
Request RequestFor(const SiteItem& item, const std::string& id) {
  Request request;
  auto& source = *request.mutable_replication_source();
  if (item.group) {
    source.mutable_volumegroup()->set_volume_group_id(id);
  } else {
    source.mutable_volume()->set_volume_id(id);
  }
  return request;
}

SiteStep Refused(const absl::Status& status, const char* before) {
  return {SiteState::kRefused, false, status.code(),
          absl::StrCat(before, ReasonToWait(status))};
}

}  // namespace

absl::StatusOr<SiteDaemon> SiteDaemon::Open(const std::string& endpoint,
                                            const std::string& admin_endpoint,
                                            const SecretsSource& source) {
  ADDONS_ASSIGN_OR_RETURN(std::string secrets, ReadSecrets(source));
  SiteDaemon daemon;
  ADDONS_ASSIGN_OR_RETURN(daemon.channel_, OpenChannel(endpoint));
  ADDONS_ASSIGN_OR_RETURN(daemon.admin_, OpenChannel(admin_endpoint));
  daemon.endpoint_ = endpoint;
  daemon.admin_endpoint_ = admin_endpoint;
  daemon.secrets_ = std::move(secrets);
  return daemon;
}

absl::Status SiteDaemon::Call(google::protobuf::Message& request,
                              google::protobuf::Message& response,
                              milliseconds timeout,
                              const std::stop_token& stop) const {
  const std::string name = MethodOfRequest(request);
  ADDONS_ASSIGN_OR_RETURN(const auto* method, FindMethod(name));
  // Not every method takes them.
  if (request.GetDescriptor()->FindFieldByName("secrets") != nullptr) {
    ADDONS_ASSIGN_OR_RETURN(
        const auto with_secrets,
        MakeRequest(*method, "{}", TextSource::kCommandLine, secrets_));
    request.MergeFrom(*with_secrets);
  }
  const bool admin = IsForAdministrators(name);
  return NamingListener(CallMethod(admin ? admin_ : channel_, *method, request,
                                   timeout, response, stop),
                        admin ? admin_endpoint_ : endpoint_);
}

SiteCalls::SiteCalls(const SiteItem& item, const SiteDaemon& here,
                     const SiteDaemon* there,
                     const std::map<std::string, std::string>& parameters)
    : item_(item),
      here_(here),
      there_(there),
      parameters_(parameters),
      phase_(item.action == SiteAction::kDemoteThere ? Phase::kDemoteThere
             : item.action == SiteAction::kPromote   ? Phase::kPromote
             : item.action == SiteAction::kResync    ? Phase::kResync
                                                     : Phase::kDemote),
      role_(item.role) {}

absl::Status SiteCalls::Call(milliseconds limit, const std::stop_token& stop,
                             bool* ready) const {
  switch (phase_) {
    case Phase::kDemoteThere: {
      auto request = RequestFor<pb::DemoteVolumeRequest>(item_, item_.id_there);
      pb::DemoteVolumeResponse response;
      return there_->Call(request, response, limit, stop);
    }
    case Phase::kDemote: {
      auto request = RequestFor<pb::DemoteVolumeRequest>(item_, item_.id);
      pb::DemoteVolumeResponse response;
      return here_.Call(request, response, limit, stop);
    }
    case Phase::kPromote:
    case Phase::kForcePromote: {
      auto request = RequestFor<pb::PromoteVolumeRequest>(item_, item_.id);
      request.mutable_parameters()->insert(parameters_.begin(),
                                           parameters_.end());
      request.set_force(phase_ == Phase::kForcePromote);
      pb::PromoteVolumeResponse response;
      return here_.Call(request, response, limit, stop);
    }
    case Phase::kResync:
    case Phase::kForceResync:
      break;
  }
  auto request = RequestFor<pb::ResyncVolumeRequest>(item_, item_.id);
  request.set_force(phase_ == Phase::kForceResync);
  pb::ResyncVolumeResponse response;
  absl::Status status = here_.Call(request, response, limit, stop);
  *ready = response.ready();
  return status;
}

SiteStep SiteCalls::GoOn(Phase phase, std::string message) {
  phase_ = phase;
  reason_ = std::move(message);
  return {SiteState::kWaiting, true, absl::StatusCode::kUnavailable, reason_};
}

/// The call was answered with OK.
SiteStep SiteCalls::After(bool ready) {
  const auto done = [](const char* what) {
    return SiteStep{SiteState::kDone, false, absl::StatusCode::kOk, what};
  };
  switch (phase_) {
    case Phase::kDemoteThere:
      return GoOn(Phase::kPromote, "demoted on the other site");
    case Phase::kPromote:
      role_ = "primary";
      return done("promoted");
    case Phase::kForcePromote:
      role_ = "primary";
      return done("promoted by force");
    case Phase::kDemote:
      role_ = "secondary";
      return GoOn(Phase::kResync, "demoted");
    case Phase::kResync:
    case Phase::kForceResync:
      break;
  }
  if (ready) {
    role_ = "secondary";
    return done("in step with the other site");
  }
  // It has begun: by force once more would begin it anew.
  phase_ = Phase::kResync;
  reason_ = "the resync is under way";
  return {SiteState::kWaiting, false, absl::StatusCode::kUnavailable, reason_};
}

SiteStep SiteCalls::Next(milliseconds limit, const std::stop_token& stop) {
  bool ready = false;
  const absl::Status status = Call(limit, stop, &ready);
  if (status.ok()) return After(ready);
  if (MustBeRepeated(status) || stop.stop_requested()) {
    // That the call took longer than it may says less than what was said.
    const bool says =
        !stop.stop_requested() && !absl::IsDeadlineExceeded(status);
    if (says || reason_.empty()) {
      reason_ = stop.stop_requested() ? "interrupted during its first call"
                                      : ReasonToWait(status);
    }
    return {SiteState::kWaiting, false, status.code(), reason_};
  }
  if (absl::IsFailedPrecondition(status) && item_.may_force) {
    if (phase_ == Phase::kPromote) {
      return GoOn(Phase::kForcePromote, ReasonToWait(status));
    }
    if (phase_ == Phase::kResync) {
      return GoOn(Phase::kForceResync, ReasonToWait(status));
    }
  }
  return Refused(status, phase_ == Phase::kDemoteThere ? kNotDemotedThere : "");
}

}  // namespace addons
