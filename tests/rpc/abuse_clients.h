#ifndef ADDONS_TESTS_RPC_ABUSE_CLIENTS_H_
#define ADDONS_TESTS_RPC_ABUSE_CLIENTS_H_

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace addons::testing {

/// A client of gRPC's that is written by hand, so that it can do what gRPC's
/// own would not. Blocking, for one thread.
class RawHttp2 {
 public:
  /// Connects, and says that it speaks HTTP/2, unless told to say nothing.
  static RawHttp2 Connect(const std::string& path, bool speak = true) {
    RawHttp2 client;
    client.fd_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(client.fd_.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
      client.fd_.Reset();
      return client;
    }
    if (speak) {
      // The preface, and empty settings.
      client.Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                               Frame(kSettings, 0, 0, "")));
    }
    return client;
  }

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }

  /// Asks for `count` answers of a method whose request is empty, and does not
  /// read them. How many of them the server has taken within `patience`.
  size_t AskAndNotRead(const std::string& method, size_t count,
                       std::chrono::milliseconds patience) {
    fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
    for (size_t i = 0; i < count; ++i) {
      const std::string call = absl::StrCat(
          Frame(kHeaders, kEndHeaders, next_stream_, Headers(method)),
          // gRPC's prefix of a message: not compressed, no bytes.
          Frame(kData, kEndStream, next_stream_, std::string(5, '\0')));
      if (!Send(call, patience)) return i;
      next_stream_ += 2;
    }
    return count;
  }

  /// Reads `size` bytes of what has come, if there are any. False: the server
  /// has closed the connection.
  bool ReadSome(size_t size) const {
    std::vector<char> buffer(size);
    const ssize_t got =
        recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return got > 0 || (got < 0 && errno == EAGAIN);
  }

  /// The same of a server that has sent much which is not read here: nothing is
  /// taken away from what it sent.
  bool IsCutOff(std::chrono::milliseconds patience) const {
    pollfd event{fd_.get(), POLLRDHUP, 0};
    return poll(&event, 1, static_cast<int>(patience.count())) == 1;
  }

  /// Whether the server closes the connection within `patience`.
  bool IsClosed(std::chrono::milliseconds patience) const {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      pollfd event{fd_.get(), POLLIN, 0};
      if (left.count() <= 0 ||
          poll(&event, 1, static_cast<int>(left.count())) != 1) {
        return false;
      }
      char buffer[4096];
      if (read(fd_.get(), buffer, sizeof(buffer)) <= 0) return true;
    }
  }

 private:
  static constexpr char kData = 0;
  static constexpr char kHeaders = 1;
  static constexpr char kSettings = 4;
  static constexpr char kEndStream = 1;
  static constexpr char kEndHeaders = 4;

  static std::string Frame(char type, char flags, uint32_t stream,
                           const std::string& payload) {
    const auto size = static_cast<uint32_t>(payload.size());
    const auto byte = [](uint32_t value, int shift) {
      return static_cast<char>((value >> shift) & 0xFFU);
    };
    return std::string{byte(size, 16),
                       byte(size, 8),
                       byte(size, 0),
                       type,
                       flags,
                       byte(stream, 24),
                       byte(stream, 16),
                       byte(stream, 8),
                       byte(stream, 0)} +
           payload;
  }

  /// RFC 7541: literals without indexing, whose names and values are short.
  static std::string Headers(const std::string& method) {
    std::string block;
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{
             {":method", "POST"},
             {":scheme", "http"},
             {":path", "/" + method},
             {":authority", "localhost"},
             {"content-type", "application/grpc"},
             {"te", "trailers"}}) {
      block += '\0';
      for (const std::string& text : {name, value}) {
        block += static_cast<char>(text.size());
        block += text;
      }
    }
    return block;
  }

  bool Send(const std::string& bytes,
            std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t size =
          send(fd_.get(), &bytes[sent], bytes.size() - sent, MSG_NOSIGNAL);
      if (size > 0) {
        sent += static_cast<size_t>(size);
        continue;
      }
      if (errno != EAGAIN) return false;
      pollfd event{fd_.get(), POLLOUT, 0};
      if (poll(&event, 1, static_cast<int>(patience.count())) != 1) {
        return false;
      }
    }
    return true;
  }

  UniqueFd fd_;
  uint32_t next_stream_ = 1;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_ABUSE_CLIENTS_H_
