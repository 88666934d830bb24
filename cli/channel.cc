#include "cli/channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "cli/methods.h"
#include "rpc/endpoint.h"
#include "rpc/request_id.h"

namespace addons {
namespace {

using google::protobuf::Message;

constexpr int kMostAnswerBytes = 256 << 20;

grpc::ByteBuffer Serialize(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

bool Parse(grpc::ByteBuffer& buffer, Message& message) {
  grpc::ProtoBufferReader reader(&buffer);
  return message.ParseFromZeroCopyStream(&reader);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& endpoint) {
  ADDONS_ASSIGN_OR_RETURN(const std::string path, SocketPath(endpoint));
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A check of a whole site names each of its volumes.
  arguments.SetMaxReceiveMessageSize(kMostAnswerBytes);
  return grpc::CreateCustomChannel(absl::StrCat("unix:", path),
                                   grpc::InsecureChannelCredentials(),
                                   arguments);
}

bool IsListening(const std::string& endpoint) {
  const absl::StatusOr<std::string> path = SocketPath(endpoint);
  sockaddr_un address{};
  if (!path.ok() || path->size() >= sizeof(address.sun_path)) return false;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path->data(), path->size());
  const UniqueFd socket(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return socket.valid() &&
         ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)) == 0;
}

absl::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                        const google::protobuf::MethodDescriptor& method,
                        const Message& request,
                        std::chrono::milliseconds timeout, Message& response,
                        const std::stop_token& stop, std::string* request_id) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, absl::StrCat("/", MethodName(method)),
                            Serialize(request), &queue);
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->StartCall();
  call->Finish(&answer, &status, &queue);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);  // the one event; comes at the deadline at the latest
  if (request_id != nullptr) {
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto id = trailers.find(kRequestIdHeader);
    *request_id = id == trailers.end()
                      ? std::string()
                      : std::string(id->second.data(), id->second.size());
  }
  if (!status.ok()) {
    return {static_cast<absl::StatusCode>(status.error_code()),
            status.error_message()};
  }
  if (!Parse(answer, response)) {
    return absl::InternalError(
        absl::StrCat("Failed to read the answer of ", MethodName(method)));
  }
  return absl::OkStatus();
}

}  // namespace addons
