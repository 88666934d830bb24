#include "tests/cluster/reclaim_client.h"

#include <grpcpp/grpcpp.h>

namespace addons::testing {

Reclaimed CallReclaim(const std::string& socket, const ReclaimAsk& ask) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::ClientContext context;
  return CallReclaim(
      grpc::CreateCustomChannel("unix:" + socket,
                                grpc::InsecureChannelCredentials(), arguments),
      ask, &context);
}

}  // namespace addons::testing
