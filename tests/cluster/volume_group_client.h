#ifndef ADDONS_TESTS_CLUSTER_VOLUME_GROUP_CLIENT_H_
#define ADDONS_TESTS_CLUSTER_VOLUME_GROUP_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "volumegroup/volumegroup.grpc.pb.h"

namespace addons::testing {

/// What a call of volumegroup.Controller answered.
struct GroupReply {
  grpc::Status status;
  std::string id;
  std::vector<std::string> volumes;  // sorted
  std::map<std::string, std::string> context;
  std::chrono::milliseconds took{0};
};

/// One page of ListVolumeGroups.
struct GroupListReply {
  grpc::Status status;
  std::vector<std::string> ids;  // in the order of the answer
  std::string next_token;
  std::chrono::milliseconds took{0};
};

/// The calls of volumegroup.Controller on one daemon, with the secret of its
/// site and in the pool that the bed mirrors. Each takes at most two minutes.
/// Thread-safe.
class VolumeGroupClient {
 public:
  using Ids = std::vector<std::string>;

  /// `socket` is that of a daemon of `site` ("a" or "b").
  VolumeGroupClient(std::string site, const std::string& socket);

  /// In the pool itself, or with `in_namespace` in RealBed::kNamespace.
  GroupReply Create(const std::string& name, const Ids& volumes,
                    bool in_namespace = false) const;
  GroupReply Modify(const std::string& id, const Ids& volumes) const;
  GroupReply Get(const std::string& id) const;
  GroupReply Delete(const std::string& id) const;
  GroupListReply List(int32_t max_entries, const std::string& token) const;

 private:
  template <typename Response, typename Request, typename Method>
  GroupReply Call(Request request, Method method) const;

  const std::string site_;
  const std::unique_ptr<::volumegroup::Controller::Stub> stub_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_VOLUME_GROUP_CLIENT_H_
