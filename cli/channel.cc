#include "cli/channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "cli/methods.h"
#include "rpc/endpoint.h"
#include "rpc/trailers.h"

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

std::string TrailerOf(const grpc::ClientContext& context, const char* name) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(name);
  return found == trailers.end()
             ? std::string()
             : std::string(found->second.data(), found->second.size());
}

std::optional<int64_t> NumberOf(const grpc::ClientContext& context,
                                const char* name) {
  int64_t number = 0;
  return absl::SimpleAtoi(TrailerOf(context, name), &number)
             ? std::optional(number)
             : std::nullopt;
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

absl::Status CheckListener(const std::string& endpoint) {
  ADDONS_ASSIGN_OR_RETURN(const std::string path, SocketPath(endpoint));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd socket(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.valid() &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  // More wait for the listener than it has places for.
  if (error == EAGAIN && socket.valid()) return absl::OkStatus();
  const std::string text = std::generic_category().message(error);
  if (error == EACCES || error == EPERM) {
    return absl::UnavailableError(absl::StrCat(
        "this user may not connect to ", path, ": ", text,
        "; run it as root, or as the user that rbd-addonsd runs as"));
  }
  return absl::UnavailableError(absl::StrCat(
      "nobody listens at ", path, ": ", text,
      "; is rbd-addonsd running, and is this its socket (--endpoint, "
      "--admin-endpoint)?"));
}

absl::Status NamingListener(const absl::Status& status,
                            const std::string& endpoint) {
  if (!absl::IsUnavailable(status) || IsOfDaemon(status)) return status;
  absl::Status listens = CheckListener(endpoint);
  return listens.ok() ? status : listens;
}

bool IsOfDaemon(const absl::Status& status) {
  return absl::StrContains(status.message(), "(request ");
}

absl::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                        const google::protobuf::MethodDescriptor& method,
                        const Message& request,
                        std::chrono::milliseconds timeout, Message& response,
                        const std::stop_token& stop, Trailers* trailers) {
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
  if (trailers != nullptr) {
    trailers->request_id = TrailerOf(context, kRequestIdTrailer);
    trailers->asked_bytes = NumberOf(context, kAskedBytesTrailer);
    trailers->without_schedule = NumberOf(context, kWithoutScheduleTrailer);
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
