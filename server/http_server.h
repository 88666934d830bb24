#ifndef ADDONS_SERVER_HTTP_SERVER_H_
#define ADDONS_SERVER_HTTP_SERVER_H_

#include <event2/event.h>
#include <event2/http.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "server/http_endpoint.h"

namespace addons {

/// Answers GET of one path with a text, on a thread of its own. Every other
/// path is 404, every other method 501. A client that is slow or says nothing
/// holds up nobody and is cut off after some seconds.
///
/// Start() and Stop() are for one thread.
class HttpServer {
 public:
  /// The text to answer with. Called on the server's thread, one at a time;
  /// must not block. An exception becomes 500.
  using Content = std::function<std::string()>;

  /// FAILED_PRECONDITION: the address is taken or not this host's.
  /// PERMISSION_DENIED: a port that is reserved. INTERNAL: the operating system
  /// refuses otherwise.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const HttpEndpoint& endpoint, Content content);
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
  struct Free {
    void operator()(event_base* base) const { event_base_free(base); }
    void operator()(event* event) const { event_free(event); }
    void operator()(evhttp* http) const { evhttp_free(http); }
  };

  HttpServer(HttpEndpoint endpoint, Content content)
      : endpoint_(std::move(endpoint)), content_(std::move(content)) {}

  absl::StatusOr<UniqueFd> Listen();
  absl::Status Prepare();
  void Answer(evhttp_request* request) const;
  void Run();

  HttpEndpoint endpoint_;
  const Content content_;
  std::string url_;
  UniqueFd wake_;  // readable: stop
  std::unique_ptr<event_base, Free> base_;
  std::unique_ptr<event, Free> woken_;
  std::unique_ptr<evhttp, Free> http_;
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_SERVER_HTTP_SERVER_H_
