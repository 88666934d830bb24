// Requests to the metrics' port, whole and in pieces: one of the known answers,
// which is as long as it says and repeats nothing of the request.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/http_connection.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

constexpr char kMetrics[] = "rbd_addons_build_info 1\n";

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
                                {"/broken", [](absl::string_view) -> HttpReply {
                                   throw std::runtime_error("broken");
                                 }}};
  return *pages;
}

void CheckAnswer(const std::string& answer) {
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
  CheckThat(body == kMetrics || body == "not ready\n" || body == status + "\n",
            "nothing of the request is repeated", answer);
  CheckThat(
      std::find(lines.begin(), lines.end(),
                absl::StrCat("Content-Length: ", body.size())) != lines.end(),
      "it is as long as it says", answer);
  for (const std::string& line : lines) CheckLine(line, 128);
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
  CheckAnswer(AnswerHttp(request, Pages()));
  const std::string whole = Served(request, 65536);
  if (!whole.empty()) CheckAnswer(whole);
  const std::string pieces = Served(request, 1 + request.size() / 5);
  CheckThat(whole == pieces, "pieces are answered as the whole is", request);
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
