#ifndef ADDONS_SERVER_HTTP_CONNECTION_H_
#define ADDONS_SERVER_HTTP_CONNECTION_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace addons {

struct HttpReply {
  bool ok = true;  // 200; false: 503, not now
  std::string text;
  enum class Kind { kText, kHtml, kIcon, kJson };
  Kind kind = Kind::kText;
};

/// What GET of one path is answered with, and HEAD without the text. `content`
/// gets what follows the question mark, as it was sent, must not block, and an
/// exception becomes 500.
struct HttpPage {
  std::string path;
  std::function<HttpReply(absl::string_view query)> content;
};

/// Texts of fewer bytes fit into one packet anyway, and are sent as they are.
inline constexpr size_t kLeastCompressed = 1400;

/// What a request is answered with, head and all: the page of its path for GET,
/// its head alone for HEAD, 404 and 501 for others, 400 for what is no request.
/// `head` is the request with all its header lines. A text of kLeastCompressed
/// bytes or more is compressed for clients that accept gzip. No page holds a
/// secret, so its length tells none.
std::string AnswerHttp(absl::string_view head,
                       const std::vector<HttpPage>& pages);

/// One connection of a client: reads a request, sends one answer, closes. Never
/// blocks.
class HttpConnection {
 public:
  static constexpr size_t kMaxHead = 16384;

  /// `socket` is non-blocking.
  explicit HttpConnection(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  /// What to poll() for: POLLIN or POLLOUT.
  short events() const;

  /// Goes as far as the client lets it. `answer` turns a request's head into an
  /// answer. False: over, close it.
  bool Continue(absl::FunctionRef<std::string(absl::string_view head)> answer);

 private:
  bool Read(absl::FunctionRef<std::string(absl::string_view head)> answer);
  bool Send();
  bool Drain();

  UniqueFd socket_;
  std::string head_;
  std::string answer_;
  size_t sent_ = 0;
  size_t drained_ = 0;
  enum class Phase { kRead, kSend, kDrain } phase_ = Phase::kRead;
};

}  // namespace addons

#endif  // ADDONS_SERVER_HTTP_CONNECTION_H_
