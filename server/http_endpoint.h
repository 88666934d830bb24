#ifndef ADDONS_SERVER_HTTP_ENDPOINT_H_
#define ADDONS_SERVER_HTTP_ENDPOINT_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Paths that are served beside the metrics: for probes of an orchestrator.
inline constexpr char kHealthPath[] = "/healthz";
inline constexpr char kReadyPath[] = "/readyz";
/// And for people, with what their browsers ask for by themselves.
inline constexpr char kStatusPath[] = "/";
inline constexpr char kIconPath[] = "/favicon.ico";
/// The same for programs, and the folder of what the page leads to.
inline constexpr char kStatusJsonPath[] = "/status.json";
inline constexpr char kDocumentsPath[] = "/docs/";

/// Where something is served over HTTP.
struct HttpEndpoint {
  std::string address = "127.0.0.1";  // as ParseHttpAddress() returns it
  uint16_t port = 0;                  // 0: one that is free
  std::string path = "/metrics";
};

/// An IPv4 address, or an IPv6 address with or without brackets, in its usual
/// spelling and without brackets. INVALID_ARGUMENT for names, ports and zones.
absl::StatusOr<std::string> ParseHttpAddress(absl::string_view text);

/// INVALID_ARGUMENT unless it is a path such as /metrics: at most 128 letters,
/// digits, and - _ . between slashes; and none of the above.
absl::Status CheckHttpPath(absl::string_view path);

/// "http://[::1]:9090/metrics".
std::string UrlOf(const HttpEndpoint& endpoint);

/// Whether who listens at the address can be reached at 127.0.0.1 without more:
/// it is that, or all addresses. `address` is as ParseHttpAddress() returns it.
bool CoversLoopback(absl::string_view address);

/// The endpoint as the kernel takes it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
SocketAddress ToSocketAddress(const HttpEndpoint& endpoint);

}  // namespace addons

#endif  // ADDONS_SERVER_HTTP_ENDPOINT_H_
