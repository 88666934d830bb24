#include "ceph/librados/monitor_addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/log.h"

namespace addons {
namespace {

/// The parts of "10.0.0.1, [v2:10.0.0.2:3300,v1:10.0.0.2:6789]": separators
/// inside brackets do not count.
std::vector<std::string> Split(absl::string_view entry) {
  std::vector<std::string> parts;
  std::string part;
  int brackets = 0;  // open ones
  for (const char c : entry) {
    const bool separates = c == ',' || c == ';' ||
                           absl::ascii_isspace(static_cast<unsigned char>(c));
    if (separates && brackets == 0) {
      if (!part.empty()) parts.push_back(std::exchange(part, {}));
      continue;
    }
    if (c == '[') ++brackets;
    if (c == ']' && brackets > 0) --brackets;
    part.push_back(c);
  }
  if (!part.empty()) parts.push_back(std::move(part));
  return parts;
}

bool ConsistsOf(absl::string_view text, absl::string_view also) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           absl::StrContains(also, c);
  });
}

bool IsAddress(int family, absl::string_view text) {
  in6_addr buffer{};
  return inet_pton(family, std::string(text).c_str(), &buffer) == 1;
}

/// "6789" or "6789/0", of 1 to 65535.
bool IsPort(absl::string_view text) {
  const size_t slash = text.find('/');
  int port = 0;
  if (!ConsistsOf(text.substr(0, slash), "") ||
      !absl::SimpleAtoi(text.substr(0, slash), &port) || port < 1 ||
      port > 65535) {
    return false;
  }
  if (slash == absl::string_view::npos) return true;
  const absl::string_view nonce = text.substr(slash + 1);
  return !nonce.empty() && ConsistsOf(nonce, "");
}

/// "[fd00::1]" or "[fd00::1]:6789".
bool IsBracketed(absl::string_view text) {
  const size_t end = text.find(']');
  if (!absl::ConsumePrefix(&text, "[") || end == absl::string_view::npos) {
    return false;
  }
  const absl::string_view rest = text.substr(end);
  return IsAddress(AF_INET6, text.substr(0, end - 1)) &&
         (rest.empty() || (rest[0] == ':' && IsPort(rest.substr(1))));
}

/// One address or name with what stands around it.
struct Endpoint {
  std::string protocol;  // "v2:" or empty
  std::string host;
  std::string port;  // ":6789" or empty
  bool literal = false;
};

std::optional<Endpoint> ParseEndpoint(absl::string_view part);

/// "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]": the addresses of one monitor.
bool IsListOfOne(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "[") || !absl::ConsumeSuffix(&text, "]")) {
    return false;
  }
  const std::vector<std::string> addresses = absl::StrSplit(text, ',');
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const std::string& address) {
                       if (address.empty() || address[0] == '[') return false;
                       const auto endpoint = ParseEndpoint(address);
                       return endpoint.has_value() && endpoint->literal;
                     });
}

std::optional<Endpoint> ParseEndpoint(absl::string_view part) {
  Endpoint endpoint;
  if (part[0] == '[') {  // a list for one monitor, or an IPv6 address
    endpoint.host = std::string(part);
    endpoint.literal = true;
    return IsBracketed(part) || IsListOfOne(part) ? std::optional(endpoint)
                                                  : std::nullopt;
  }
  for (const absl::string_view protocol : {"v1:", "v2:", "any:"}) {
    if (absl::ConsumePrefix(&part, protocol)) {
      endpoint.protocol = std::string(protocol);
      break;
    }
  }
  if (!part.empty() && part[0] == '[') {
    endpoint.host = std::string(part);
    endpoint.literal = IsBracketed(part);
    return endpoint.literal ? std::optional(endpoint) : std::nullopt;
  }
  if (IsAddress(AF_INET6, part)) {
    endpoint.host = std::string(part);
    endpoint.literal = true;
    return endpoint;
  }
  const size_t colon = part.find(':');
  const absl::string_view host = part.substr(0, colon);
  if (colon != absl::string_view::npos) {
    endpoint.port = std::string(part.substr(colon));
    if (!IsPort(part.substr(colon + 1))) return std::nullopt;
  }
  endpoint.host = std::string(host);
  endpoint.literal = IsAddress(AF_INET, host);
  if (endpoint.literal) return endpoint;
  // Digits and dots that are no address are a typing error, not a name.
  const bool name =
      !host.empty() && !ConsistsOf(host, ".") &&
      std::all_of(host.begin(), host.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
               c == '-' || c == '_';
      });
  return name ? std::optional(endpoint) : std::nullopt;
}

}  // namespace

absl::StatusOr<std::string> MonHost(HostResolver& resolver,
                                    const std::vector<std::string>& monitors,
                                    SteadyTime until) {
  std::vector<Endpoint> endpoints;
  for (const std::string& entry : monitors) {
    for (const std::string& part : Split(entry)) {
      std::optional<Endpoint> endpoint = ParseEndpoint(part);
      if (!endpoint) {
        return absl::UnavailableError(absl::StrCat(
            "monitor ", Quoted(part),
            " is neither an address nor a host name; correct config.json"));
      }
      if (!endpoint->literal) resolver.Prepare(endpoint->host);
      endpoints.push_back(*std::move(endpoint));
    }
  }
  std::vector<std::string> found;
  std::vector<std::string> missing;
  absl::Status not_asked;
  for (const Endpoint& endpoint : endpoints) {
    absl::StatusOr<std::vector<std::string>> hosts =
        std::vector<std::string>{endpoint.host};
    if (!endpoint.literal) hosts = resolver.Resolve(endpoint.host, until);
    if (!hosts.ok()) {
      not_asked = hosts.status();
      continue;
    }
    if (hosts->empty()) missing.push_back(endpoint.host);
    for (const std::string& host : *hosts) {
      found.push_back(absl::StrCat(endpoint.protocol, host, endpoint.port));
    }
  }
  if (found.empty() && !not_asked.ok()) return not_asked;
  if (found.empty() && missing.empty()) {
    return absl::UnavailableError(
        "config.json names no monitors for this cluster");
  }
  if (found.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "no address found for monitor ", absl::StrJoin(missing, ", "),
        "; check the name service or use addresses in config.json"));
  }
  return absl::StrJoin(found, ",");
}

}  // namespace addons
