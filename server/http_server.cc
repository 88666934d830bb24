#include "server/http_server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr int kBacklog = 16;
constexpr int kIdleSeconds = 5;
constexpr ev_ssize_t kMaxHeaders = 16384;
constexpr ev_ssize_t kMaxBody = 4096;

absl::Status ListenError(const HttpEndpoint& endpoint, int error) {
  const std::string message =
      absl::StrCat("Failed to listen on ", UrlOf(endpoint), ": ",
                   std::generic_category().message(error));
  switch (error) {
    case EADDRINUSE:
    case EADDRNOTAVAIL:
      return absl::FailedPreconditionError(absl::StrCat(
          message, "; choose another --metricsport or --metrics-address"));
    case EACCES:
      return absl::PermissionDeniedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status NoMemory(const HttpEndpoint& endpoint) {
  return absl::InternalError(absl::StrCat("Failed to serve ", UrlOf(endpoint),
                                          ": no memory or descriptors left"));
}

uint16_t PortOf(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(socket, address, &size) != 0) return 0;
  return storage.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<sockaddr_in6*>(address)->sin6_port)
             : ntohs(reinterpret_cast<sockaddr_in*>(address)->sin_port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const HttpEndpoint& endpoint, Content content) {
  std::unique_ptr<HttpServer> server(
      new HttpServer(endpoint, std::move(content)));
  ADDONS_RETURN_IF_ERROR(server->Prepare());
  server->thread_ = std::jthread([raw = server.get()] { raw->Run(); });
  return server;
}

HttpServer::~HttpServer() { Stop(); }

absl::StatusOr<UniqueFd> HttpServer::Listen() {
  const SocketAddress address = ToSocketAddress(endpoint_);
  UniqueFd listening(socket(address.storage.ss_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listening.valid()) return ListenError(endpoint_, errno);
  // A restarted daemon gets its port although old connections still close.
  const int on = 1;
  setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address.storage),
           address.size) != 0 ||
      listen(listening.get(), kBacklog) != 0) {
    return ListenError(endpoint_, errno);
  }
  endpoint_.port = PortOf(listening.get());
  url_ = UrlOf(endpoint_);
  return listening;
}

absl::Status HttpServer::Prepare() {
  ADDONS_ASSIGN_OR_RETURN(UniqueFd listening, Listen());
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  base_.reset(event_base_new());
  if (!wake_.valid() || base_ == nullptr) return NoMemory(endpoint_);
  woken_.reset(event_new(
      base_.get(), wake_.get(), EV_READ,
      [](evutil_socket_t, short, void* base) {
        event_base_loopbreak(static_cast<event_base*>(base));
      },
      base_.get()));
  http_.reset(evhttp_new(base_.get()));
  if (woken_ == nullptr || http_ == nullptr ||
      event_add(woken_.get(), nullptr) != 0) {
    return NoMemory(endpoint_);
  }
  evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET);
  evhttp_set_timeout(http_.get(), kIdleSeconds);
  evhttp_set_max_headers_size(http_.get(), kMaxHeaders);
  evhttp_set_max_body_size(http_.get(), kMaxBody);
  evhttp_set_cb(
      http_.get(), endpoint_.path.c_str(),
      [](evhttp_request* request, void* self) {
        static_cast<const HttpServer*>(self)->Answer(request);
      },
      this);
  if (evhttp_accept_socket(http_.get(), listening.get()) != 0) {
    return NoMemory(endpoint_);
  }
  listening.Release();  // evhttp closes it
  return absl::OkStatus();
}

void HttpServer::Answer(evhttp_request* request) const {
  std::string text;
  try {
    text = content_();
  } catch (...) {  // must not pass through libevent
    Log().error("exception while answering {}", url_);
    evhttp_send_error(request, HTTP_INTERNAL, nullptr);
    return;
  }
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type",
                    "text/plain; version=0.0.4; charset=utf-8");
  evbuffer* body = evhttp_request_get_output_buffer(request);
  if (evbuffer_add(body, text.data(), text.size()) != 0) {
    evhttp_send_error(request, HTTP_INTERNAL, nullptr);
    return;
  }
  evhttp_send_reply(request, HTTP_OK, "OK", nullptr);
}

void HttpServer::Run() {
  // A client that hangs up must not end the process.
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  event_base_dispatch(base_.get());
}

void HttpServer::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(wake_.get(), 1);
  thread_.join();
  http_.reset();
}

}  // namespace addons
