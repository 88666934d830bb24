#include "server/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/content_encoding.h"

namespace addons {
namespace {

// What is read and thrown away of a client that goes on after its request.
constexpr size_t kMaxDrained = 65536;

constexpr char kText[] = "text/plain; version=0.0.4; charset=utf-8";
// A page of ours loads nothing but its icon, runs nothing and stands in no
// other page.
constexpr char kHtml[] =
    "text/html; charset=utf-8\r\n"
    "Content-Security-Policy: default-src 'none'; img-src 'self'; style-src "
    "'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors "
    "'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store";
constexpr char kJson[] =
    "application/json; charset=utf-8\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-store";
constexpr char kIcon[] = "image/x-icon\r\nCache-Control: max-age=86400";

// Between two answers a client or a proxy may have said something else.
constexpr char kVaries[] = "\r\nVary: Accept-Encoding";
constexpr char kGzipped[] = "\r\nContent-Encoding: gzip";

std::string Answer(absl::string_view status, absl::string_view type,
                   absl::string_view body) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(),
                      "\r\nConnection: close\r\n\r\n", body);
}

std::string Error(absl::string_view status) {
  return Answer(status, "text/plain; charset=utf-8",
                absl::StrCat(status, "\n"));
}

absl::string_view TypeOf(HttpReply::Kind kind) {
  switch (kind) {
    case HttpReply::Kind::kHtml:
      return kHtml;
    case HttpReply::Kind::kIcon:
      return kIcon;
    case HttpReply::Kind::kJson:
      return kJson;
    case HttpReply::Kind::kText:
      break;
  }
  return kText;
}

std::string AnswerPage(const HttpPage& page, absl::string_view query,
                       bool takes_gzip) {
  HttpReply reply = page.content(query);
  std::string type = absl::StrCat(TypeOf(reply.kind), kVaries);
  if (takes_gzip && reply.text.size() >= kLeastCompressed) {
    if (std::optional<std::string> packed = Gzip(reply.text)) {
      reply.text = *std::move(packed);
      type += kGzipped;
    }
  }
  return Answer(reply.ok ? "200 OK" : "503 Service Unavailable", type,
                reply.text);
}

/// `target` is path and query, as the request line has them.
std::string AnswerGet(absl::string_view head, absl::string_view target,
                      const std::vector<HttpPage>& pages) {
  const size_t mark = target.find('?');
  const absl::string_view path = target.substr(0, mark);
  const absl::string_view query = mark == absl::string_view::npos
                                      ? absl::string_view()
                                      : target.substr(mark + 1);
  const auto page =
      std::find_if(pages.begin(), pages.end(),
                   [path](const HttpPage& p) { return p.path == path; });
  if (page == pages.end()) return Error("404 Not Found");
  try {
    return AnswerPage(*page, query, AcceptsGzip(head));
  } catch (...) {  // what it says may be anything
    return Error("500 Internal Server Error");
  }
}

std::string WithoutBody(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n\r\n") + 4);
}

// Where the header lines end; npos: not yet. The first of both ends, so that
// what follows it counts in no case, however much of it is there already.
size_t EndOfHead(absl::string_view text) {
  return std::min(text.find("\r\n\r\n"), text.find("\n\n"));
}

bool WouldBlock() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

std::string AnswerHttp(absl::string_view head,
                       const std::vector<HttpPage>& pages) {
  const absl::string_view line = head.substr(0, head.find_first_of("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || words[0].empty() ||
      !absl::StartsWith(words[2], "HTTP/1.")) {
    return Error("400 Bad Request");
  }
  const bool head_only = words[0] == "HEAD";
  if (words[0] != "GET" && !head_only) return Error("501 Not Implemented");
  std::string answer = AnswerGet(head, words[1], pages);
  if (head_only) answer = WithoutBody(answer);
  return answer;
}

short HttpConnection::events() const {
  return phase_ == Phase::kSend ? POLLOUT : POLLIN;
}

bool HttpConnection::Continue(
    absl::FunctionRef<std::string(absl::string_view head)> answer) {
  if (phase_ == Phase::kRead && !Read(answer)) return false;
  if (phase_ == Phase::kSend && !Send()) return false;
  return phase_ != Phase::kDrain || Drain();
}

bool HttpConnection::Read(
    absl::FunctionRef<std::string(absl::string_view head)> answer) {
  std::array<char, 4096> buffer{};
  const ssize_t size = recv(fd(), buffer.data(), buffer.size(), 0);
  if (size < 0) return WouldBlock();
  if (size == 0) return false;
  head_.append(buffer.data(), static_cast<size_t>(size));
  const size_t end = EndOfHead(head_);
  if (end != absl::string_view::npos) {
    answer_ = answer(absl::string_view(head_).substr(0, end));
  } else if (head_.size() > kMaxHead) {
    answer_ = Error("431 Request Header Fields Too Large");
  } else {
    return true;
  }
  phase_ = Phase::kSend;
  return true;
}

bool HttpConnection::Send() {
  while (sent_ < answer_.size()) {
    const ssize_t size = send(fd(), answer_.data() + sent_,
                              answer_.size() - sent_, MSG_NOSIGNAL);
    if (size < 0) return WouldBlock();
    sent_ += static_cast<size_t>(size);
  }
  // To close while there is something to read would take the answer away from
  // the client.
  shutdown(fd(), SHUT_WR);
  phase_ = Phase::kDrain;
  return true;
}

bool HttpConnection::Drain() {
  std::array<char, 4096> buffer{};
  while (drained_ < kMaxDrained) {
    const ssize_t size = recv(fd(), buffer.data(), buffer.size(), 0);
    if (size < 0) return WouldBlock();
    if (size == 0) return false;
    drained_ += static_cast<size_t>(size);
  }
  return false;
}

}  // namespace addons
