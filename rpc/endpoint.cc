#include "rpc/endpoint.h"

#include <sys/un.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/log.h"

namespace addons {
namespace {

constexpr size_t kMaxSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Wrong(absl::string_view endpoint, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("endpoint ", Quoted(endpoint), " ", reason));
}

absl::Status CheckPath(absl::string_view endpoint, absl::string_view path) {
  if (path.size() > kMaxSocketPathBytes) {
    return Wrong(endpoint, absl::StrCat("has a path of ", path.size(),
                                        " bytes; a socket's can have ",
                                        kMaxSocketPathBytes));
  }
  if (path.back() == '/') return Wrong(endpoint, "is a folder, not a socket");
  for (const char c : path) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) ||
        absl::StrContains("?#%", c)) {
      return Wrong(endpoint, "has one of ? # % or a control character in it");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> SocketPath(absl::string_view endpoint) {
  absl::string_view path = endpoint;
  if (absl::ConsumePrefix(&path, "unix://")) {
    if (path.empty()) return Wrong(endpoint, "has no path");
    if (path.front() != '/') {
      return Wrong(
          endpoint,
          absl::StrCat("has a host part; did you mean unix:///", path, "?"));
    }
  } else if (path.empty() || path.front() != '/') {
    return Wrong(endpoint, "is not of the form unix:///absolute/path");
  }
  absl::Status checked = CheckPath(endpoint, path);
  if (!checked.ok()) return checked;
  return std::string(path);
}

}  // namespace addons
