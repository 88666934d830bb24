#include "server/http_server.h"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr int kHttpBacklog = 128;
// Clients in between get their turn.
constexpr int kAcceptsPerTurn = 8;
constexpr std::chrono::milliseconds kBackOff(500);

bool NothingLeft(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

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

uint16_t PortOf(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(socket, address, &size) != 0) return 0;
  return storage.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<sockaddr_in6*>(address)->sin6_port)
             : ntohs(reinterpret_cast<sockaddr_in*>(address)->sin_port);
}

absl::StatusOr<UniqueFd> ListenAt(const HttpEndpoint& endpoint) {
  const SocketAddress address = ToSocketAddress(endpoint);
  UniqueFd listening(socket(address.storage.ss_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listening.valid()) return ListenError(endpoint, errno);
  // A restarted daemon gets its port although old connections still close.
  const int on = 1;
  setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address.storage),
           address.size) != 0 ||
      listen(listening.get(), kHttpBacklog) != 0) {
    return ListenError(endpoint, errno);
  }
  return listening;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const HttpEndpoint& endpoint, Content content, std::vector<HttpPage> more) {
  more.push_back(
      {endpoint.path, [content = std::move(content)](absl::string_view) {
         return HttpReply{true, content()};
       }});
  std::unique_ptr<HttpServer> server(new HttpServer(endpoint, std::move(more)));
  for (HttpPage& page : server->pages_) {
    page.content = [raw = server.get(), content = std::move(page.content)](
                       absl::string_view query) {
      try {
        return content(query);
      } catch (...) {
        raw->Report("exception while answering");
        throw;
      }
    };
  }
  ADDONS_RETURN_IF_ERROR(server->Listen());
  auto thread =
      StartThread("metrics-http", [raw = server.get()] { raw->Run(); });
  if (!thread) {
    return absl::InternalError(absl::StrCat("Failed to serve ", server->url_,
                                            ": the system has no thread left"));
  }
  server->thread_ = *std::move(thread);
  return server;
}

HttpServer::~HttpServer() { Stop(); }

absl::Status HttpServer::Listen() {
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return ListenError(endpoint_, errno);
  ADDONS_ASSIGN_OR_RETURN(UniqueFd socket, ListenAt(endpoint_));
  endpoint_.port = PortOf(socket.get());
  url_ = UrlOf(endpoint_);
  listening_.push_back(std::move(socket));
  if (!CoversLoopback(endpoint_.address)) ListenOnLoopback();
  return absl::OkStatus();
}

void HttpServer::ListenOnLoopback() {
  HttpEndpoint loopback = endpoint_;
  loopback.address = HttpEndpoint().address;
  auto socket = ListenAt(loopback);
  if (socket.ok()) {
    listening_.push_back(*std::move(socket));
    return;
  }
  Log().warn(
      "metrics and status page cannot be reached by port-forward "
      "error={}",
      Quoted(socket.status().message()));
}

void HttpServer::Run() {
  bool go_on = true;
  while (go_on) {
    try {
      go_on = Turn();
    } catch (...) {
      // No memory, for once. What there is is given back before the next try.
      clients_.clear();
      accept_from_ = RealClock().Now() + kBackOff;
    }
  }
}

bool HttpServer::Turn() {
  events_.assign({{wake_.get(), POLLIN, 0}});
  for (const Client& client : clients_) {
    events_.push_back({client.connection.fd(), client.connection.events(), 0});
  }
  SteadyTime now = RealClock().Now();
  const bool accepts = now >= accept_from_;
  for (const UniqueFd& listening : listening_) {
    if (accepts) events_.push_back({listening.get(), POLLIN, 0});
  }
  poll(events_.data(), events_.size(), PollTimeout(now));
  if (events_.front().revents != 0) return false;
  ServeClients();
  now = RealClock().Now();
  clients_.remove_if(
      [now](const Client& client) { return client.until <= now; });
  if (!accepts) return true;
  for (auto event = events_.end() - static_cast<ptrdiff_t>(listening_.size());
       event != events_.end(); ++event) {
    if (event->revents != 0) AcceptClients(event->fd);
  }
  return true;
}

// All clients have the same patience, so the first one's ends first.
int HttpServer::PollTimeout(SteadyTime now) const {
  SteadyTime next = SteadyTime::max();
  if (!clients_.empty()) next = clients_.front().until;
  if (accept_from_ > now) next = std::min(next, accept_from_);
  if (next == SteadyTime::max()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

void HttpServer::ServeClients() {
  auto event = std::next(events_.begin());
  for (auto client = clients_.begin(); client != clients_.end(); ++event) {
    const bool over =
        event->revents != 0 &&
        !client->connection.Continue([this](absl::string_view head) {
          return AnswerHttp(head, pages_);
        });
    client = over ? clients_.erase(client) : std::next(client);
  }
}

void HttpServer::AcceptClients(int listening) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd socket(
        accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (NothingLeft(errno)) NoDescriptors(errno);
      return;
    }
    if (clients_.size() >= kMaxConnections) clients_.pop_front();
    clients_.push_back(
        {RealClock().Now() + kPatience, HttpConnection(std::move(socket))});
  }
}

// The connection stays in the queue, so poll() would return at once.
void HttpServer::NoDescriptors(int error) {
  accept_from_ = RealClock().Now() + kBackOff;
  if (!clients_.empty()) clients_.pop_front();
  Report(absl::StrCat("failed to accept a connection: ",
                      std::generic_category().message(error)));
}

void HttpServer::Report(absl::string_view trouble) {
  if (const auto left_out = errors_.Admit(RealClock().Now())) {
    Log().warn("trouble with metrics url={} cause={} left_out={}", url_,
               Quoted(trouble), *left_out);
  }
}

void HttpServer::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(wake_.get(), 1);
  thread_.join();
  clients_.clear();
  listening_.clear();
}

}  // namespace addons
