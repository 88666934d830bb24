// Requests to the metrics' port, whole and in pieces: one of the known answers,
// which is as long as it says and repeats nothing of the request, whatever it
// says of encodings.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/http_connection.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/gunzip.h"

namespace addons::testing {
namespace {

constexpr char kMetrics[] = "rbd_addons_build_info 1\n";

std::string LongText() {
  std::string text;
  while (text.size() < kLeastCompressed) text += kMetrics;
  return text;
}

const std::vector<HttpPage>& Pages() {
  static const auto* const pages =
      new std::vector<HttpPage>{{"/metrics",
                                 [](absl::string_view) {
                                   return HttpReply{true, kMetrics};
                                 }},
                                {"/readyz",
                                 [](absl::string_view) {
                                   return HttpReply{false, "not ready\n"};
                                 }},
                                {"/long",
                                 [](absl::string_view) {
                                   return HttpReply{true, LongText()};
                                 }},
                                {"/broken", [](absl::string_view) -> HttpReply {
                                   throw std::runtime_error("broken");
                                 }}};
  return *pages;
}

bool Has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

/// `head_only`: the answer has no body, whatever it says of one.
void CheckAnswer(const std::string& answer, bool head_only) {
  static const auto* const kKnown =
      new std::set<std::string>{"200 OK",
                                "400 Bad Request",
                                "404 Not Found",
                                "431 Request Header Fields Too Large",
                                "500 Internal Server Error",
                                "501 Not Implemented",
                                "503 Service Unavailable"};
  const auto [head, body] = SplitInput(answer, "\r\n\r\n");
  const std::vector<std::string> lines = absl::StrSplit(head, "\r\n");
  const auto [version, status] = SplitInput(lines[0], " ");
  CheckThat(version == "HTTP/1.1" && kKnown->contains(status),
            "the answer is a known one", answer);
  for (const std::string& line : lines) CheckLine(line, 128);
  if (head_only) {
    CheckThat(body.empty(), "the answer to HEAD has no body", answer);
    return;
  }
  CheckThat(Has(lines, absl::StrCat("Content-Length: ", body.size())),
            "it is as long as it says", answer);
  if (Has(lines, "Content-Encoding: gzip")) {
    CheckThat(Gunzip(body) == LongText(), "it is gzip of the page", answer);
    return;
  }
  CheckThat(body == kMetrics || body == LongText() || body == "not ready\n" ||
                body == status + "\n",
            "nothing of the request is repeated", answer);
}

void Send(int fd, absl::string_view text) {
  // The other side may have ended already.
  static_cast<void>(
      send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

/// What a client gets that sends `request` in pieces of so many bytes.
std::string Served(absl::string_view request, size_t piece) {
  std::array<int, 2> ends{};
  CheckThat(
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0,
      "there are sockets");
  const UniqueFd client(ends[0]);
  HttpConnection connection{UniqueFd(ends[1])};
  const auto answer = [](absl::string_view head) {
    return AnswerHttp(head, Pages());
  };
  bool more = true;
  while (more && !request.empty()) {
    Send(client.get(), request.substr(0, piece));
    request.remove_prefix(std::min(piece, request.size()));
    more = connection.Continue(answer);
  }
  shutdown(client.get(), SHUT_WR);
  // Each turn reads, sends or drains as much as there is.
  for (int turn = 0; more; ++turn) {
    CheckThat(turn < 64, "a client that has ended is let go");
    more = connection.Continue(answer);
  }
  std::string got;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 1; size > 0;) {
    size = recv(client.get(), buffer.data(), buffer.size(), 0);
    if (size > 0) got.append(buffer.data(), static_cast<size_t>(size));
  }
  return got;
}

void Check(absl::string_view request) {
  const std::string answer = AnswerHttp(request, Pages());
  const bool head_only =
      absl::StartsWith(request, "HEAD ") && absl::EndsWith(answer, "\r\n\r\n");
  CheckAnswer(answer, head_only);
  const std::string whole = Served(request, 65536);
  // One that is too long is answered before it is read to its end.
  if (!whole.empty()) {
    CheckAnswer(whole, absl::StartsWith(request, "HEAD ") &&
                           absl::EndsWith(whole, "\r\n\r\n"));
  }
  const std::string pieces = Served(request, 1 + request.size() / 5);
  CheckThat(whole == pieces, "pieces are answered as the whole is", request);
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
