#include "server/http_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace addons {
namespace {

constexpr size_t kMaxPath = 128;

bool IsPathSegment(absl::string_view segment) {
  return !segment.empty() && segment != "." && segment != ".." &&
         std::all_of(segment.begin(), segment.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

absl::StatusOr<std::string> ParseHttpAddress(absl::string_view text) {
  const bool brackets =
      absl::StartsWith(text, "[") && absl::EndsWith(text, "]");
  const std::string address(brackets ? text.substr(1, text.size() - 2) : text);
  std::array<char, INET6_ADDRSTRLEN> shown{};
  in_addr v4{};
  if (!brackets && inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    inet_ntop(AF_INET, &v4, shown.data(), shown.size());
    return std::string(shown.data());
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, address.c_str(), &v6) == 1) {
    inet_ntop(AF_INET6, &v6, shown.data(), shown.size());
    return std::string(shown.data());
  }
  return absl::InvalidArgumentError(
      "is not an IP address such as 127.0.0.1 or [::1]");
}

absl::Status CheckHttpPath(absl::string_view path) {
  if (path == kHealthPath || path == kReadyPath) {
    return absl::InvalidArgumentError("is the path of a probe");
  }
  if (path == kIconPath) {
    return absl::InvalidArgumentError("is the path of the page's icon");
  }
  if (path == kStatusJsonPath) {
    return absl::InvalidArgumentError("is the path of the page as JSON");
  }
  if (absl::StartsWith(path, kDocumentsPath)) {
    return absl::InvalidArgumentError(
        "is in the folder of the page's runbooks");
  }
  absl::string_view rest = path;
  bool good = path.size() <= kMaxPath && absl::ConsumePrefix(&rest, "/");
  if (good) {
    const std::vector<absl::string_view> segments = absl::StrSplit(rest, '/');
    good = std::all_of(segments.begin(), segments.end(), IsPathSegment);
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "is not a path such as /metrics: letters, digits, dots, dashes and "
      "underscores between slashes");
}

std::string UrlOf(const HttpEndpoint& endpoint) {
  const bool v6 = absl::StrContains(endpoint.address, ':');
  return absl::StrCat("http://", v6 ? "[" : "", endpoint.address, v6 ? "]" : "",
                      ":", endpoint.port, endpoint.path);
}

bool CoversLoopback(absl::string_view address) {
  return address == "127.0.0.1" || address == "0.0.0.0" || address == "::";
}

SocketAddress ToSocketAddress(const HttpEndpoint& endpoint) {
  SocketAddress address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET, endpoint.address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    address.size = sizeof(v4);
    std::memcpy(&address.storage, &v4, sizeof(v4));
  } else if (inet_pton(AF_INET6, endpoint.address.c_str(), &v6.sin6_addr) ==
             1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    address.size = sizeof(v6);
    std::memcpy(&address.storage, &v6, sizeof(v6));
  }
  return address;
}

}  // namespace addons
