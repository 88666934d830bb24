#ifndef ADDONS_ADMIN_SUPPORT_SERVICE_H_
#define ADDONS_ADMIN_SUPPORT_SERVICE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"

namespace addons {

/// Where SupportService has from what it tells.
struct SupportSources {
  std::string version;
  std::map<std::string, std::string> manifest;  // versions, by name
  std::string host;
  std::string flags;  // in one line, without secrets
  /// Paths of configuration files.
  std::vector<std::string> files;
  /// In Prometheus' text format. Thread-safe, and asks no cluster.
  std::function<std::string()> metrics;
  /// The last lines of its log. Thread-safe.
  std::function<std::string()> log;
};

/// rbdaddons.admin.v1.Support: what the daemon is, for those who help from
/// afar. Is no operation, so it answers also when all workers hang.
/// Thread-safe.
class SupportService final
    : public ::rbdaddons::admin::v1::Support::CallbackService {
 public:
  /// `rpc` and `operations` are not owned. Ages are by the clock of `rpc`,
  /// which is that of `operations`.
  SupportService(Rpc& rpc, OperationTable& operations, SupportSources sources);

  grpc::ServerUnaryReactor* DescribeDaemon(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::DescribeDaemonRequest* request,
      ::rbdaddons::admin::v1::DescribeDaemonResponse* response) override;

 private:
  void Fill(::rbdaddons::admin::v1::DescribeDaemonResponse* response) const;

  Rpc& rpc_;
  OperationTable& operations_;
  const SupportSources sources_;
};

}  // namespace addons

#endif  // ADDONS_ADMIN_SUPPORT_SERVICE_H_
