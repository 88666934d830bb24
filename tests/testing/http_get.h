#ifndef ADDONS_TESTS_TESTING_HTTP_GET_H_
#define ADDONS_TESTS_TESTING_HTTP_GET_H_

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace addons::testing {

struct HttpAnswer {
  int code = 0;  // 0: nobody answered
  std::string headers;
  std::string body;
};

/// Where "http://[::1]:9090/metrics" points to.
struct HttpTarget {
  explicit HttpTarget(const std::string& url) {
    const std::string rest = url.substr(std::string("http://").size());
    const size_t slash = rest.find('/');
    const size_t colon = rest.rfind(':', slash);
    host = rest.substr(0, colon);
    if (host.front() == '[') host = host.substr(1, host.size() - 2);
    port = rest.substr(colon + 1, slash - colon - 1);
    path = rest.substr(slash);
  }
  std::string host;
  std::string port;
  std::string path;
};

/// A connection to it, with timeouts; not valid when nobody listens.
inline UniqueFd HttpConnect(const HttpTarget& target) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found) !=
      0) {
    return {};
  }
  UniqueFd connection(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{20, 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const int failed =
      connect(connection.get(), found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return failed == 0 ? std::move(connection) : UniqueFd();
}

/// Sends `method` for the target, with one more header line if there is one,
/// and reads until the server closes.
inline HttpAnswer HttpRequest(const std::string& method,
                              const HttpTarget& target,
                              const std::string& field = "") {
  HttpAnswer answer;
  const UniqueFd connection = HttpConnect(target);
  if (!connection.valid()) return answer;
  const std::string request = method + " " + target.path +
                              " HTTP/1.1\r\nHost: localhost\r\n"
                              "Connection: close\r\n" +
                              (field.empty() ? "" : field + "\r\n") + "\r\n";
  if (send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return answer;
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0;
       (size = recv(connection.get(), buffer.data(), buffer.size(), 0)) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return answer;
  answer.headers = text.substr(0, end);
  answer.body = text.substr(end + 4);
  answer.code = std::stoi(answer.headers.substr(answer.headers.find(' ')));
  return answer;
}

inline HttpAnswer HttpGet(const std::string& url) {
  return HttpRequest("GET", HttpTarget(url));
}

/// A port of the loopback address that is free now.
inline uint16_t FreePort() {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(probe.get(), generic, size) != 0 ||
      getsockname(probe.get(), generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_HTTP_GET_H_
