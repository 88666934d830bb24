#ifndef ADDONS_SERVER_HTTP_SERVER_H_
#define ADDONS_SERVER_HTTP_SERVER_H_

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "base/unique_fd.h"
#include "server/http_connection.h"
#include "server/http_endpoint.h"

namespace addons {

/// Answers GET and HEAD of a few paths, on a thread of its own, as AnswerHttp()
/// says. One request per connection.
///
/// Whoever reaches the port costs the daemon little: it holds kMaxConnections
/// at a time, and closes the oldest for the next one, so that a client that
/// sends its request at once is answered however many others say nothing; each
/// is cut off kPatience after it came, whatever it does. Without descriptors it
/// waits, and the log has one line per minute.
///
/// An address of this host's network is served at 127.0.0.1 as well, where the
/// port is free there: `kubectl port-forward` connects to that in a pod.
///
/// Start() and Stop() are for one thread.
class HttpServer {
 public:
  static constexpr size_t kMaxConnections = 64;
  static constexpr std::chrono::milliseconds kPatience =
      std::chrono::seconds(5);

  /// The text to answer with. Called on the server's thread, one at a time;
  /// must not block. An exception becomes 500.
  using Content = std::function<std::string()>;

  /// Serves `content` at the endpoint's path, and `more` beside it, under the
  /// same conditions. FAILED_PRECONDITION: the address is taken or not this
  /// host's. PERMISSION_DENIED: a port that is reserved. INTERNAL: the
  /// operating system refuses otherwise.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const HttpEndpoint& endpoint, Content content,
      std::vector<HttpPage> more = {});
  /// Stop().
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Ends at once: connections are cut, and Content is not called any more.
  /// Waits for a call of it under way.
  void Stop();

  /// With the port that is really used.
  const std::string& url() const { return url_; }

 private:
  struct Client {
    SteadyTime until;
    HttpConnection connection;
  };

  HttpServer(HttpEndpoint endpoint, std::vector<HttpPage> pages)
      : endpoint_(std::move(endpoint)), pages_(std::move(pages)) {}

  absl::Status Listen();
  // Not being able to is no error: the log says so.
  void ListenOnLoopback();
  void Run();
  // False: it is time to end.
  bool Turn();
  int PollTimeout(SteadyTime now) const;
  void ServeClients();
  void AcceptClients(int listening);
  void NoDescriptors(int error);
  void Report(absl::string_view trouble);

  HttpEndpoint endpoint_;
  std::vector<HttpPage> pages_;
  std::string url_;
  std::vector<UniqueFd> listening_;  // the endpoint's, perhaps loopback's
  UniqueFd wake_;                    // readable: stop
  // Of the thread.
  std::list<Client> clients_;  // the oldest first
  std::vector<pollfd> events_;
  SteadyTime accept_from_;
  LogLimit errors_{std::chrono::minutes(1)};
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_SERVER_HTTP_SERVER_H_
