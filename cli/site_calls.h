#ifndef ADDONS_CLI_SITE_CALLS_H_
#define ADDONS_CLI_SITE_CALLS_H_

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>

#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/secrets.h"
#include "cli/site_plan.h"
#include "cli/site_run.h"

namespace addons {

/// The daemon of one site: one channel, and the secrets for it, read once.
/// Thread-safe.
class SiteDaemon {
 public:
  /// INVALID_ARGUMENT: no secrets, or no such endpoint.
  static absl::StatusOr<SiteDaemon> Open(const std::string& endpoint,
                                         const std::string& admin_endpoint,
                                         const SecretsSource& source);

  /// CallMethod() of the method that `request` belongs to, on the socket that
  /// serves it, with the secrets added to it where it takes any. Errors also
  /// those of NamingListener().
  absl::Status Call(google::protobuf::Message& request,
                    google::protobuf::Message& response,
                    std::chrono::milliseconds timeout,
                    const std::stop_token& stop = {}) const;

  /// Of the administrators' services.
  const std::shared_ptr<grpc::Channel>& admin() const { return admin_; }

 private:
  SiteDaemon() = default;

  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<grpc::Channel> admin_;
  std::string endpoint_;
  std::string admin_endpoint_;
  std::string secrets_;  // as ReadSecrets() has them
};

/// The calls that one volume or group needs, one after the other. Never by
/// force but where `may_force` says so, and there only after the same call
/// without force was answered with FAILED_PRECONDITION. One thread at a time.
class SiteCalls {
 public:
  /// `there` is null but for kDemoteThere. Both are not owned. `parameters` are
  /// of promotions.
  SiteCalls(const SiteItem& item, const SiteDaemon& here,
            const SiteDaemon* there,
            const std::map<std::string, std::string>& parameters);

  /// Makes the next call.
  SiteStep Next(std::chrono::milliseconds limit, const std::stop_token& stop);
  /// What the image is on this site now, as far as calls have shown.
  const std::string& role() const { return role_; }

 private:
  enum class Phase {
    kDemoteThere,
    kPromote,
    kForcePromote,
    kDemote,
    kResync,
    kForceResync
  };

  absl::Status Call(std::chrono::milliseconds limit,
                    const std::stop_token& stop, bool* ready) const;
  SiteStep After(bool ready);
  SiteStep GoOn(Phase phase, std::string message);

  const SiteItem& item_;
  const SiteDaemon& here_;
  const SiteDaemon* there_;
  const std::map<std::string, std::string>& parameters_;
  Phase phase_;
  std::string role_;
  std::string reason_;  // the last one that the daemon gave
};

}  // namespace addons

#endif  // ADDONS_CLI_SITE_CALLS_H_
