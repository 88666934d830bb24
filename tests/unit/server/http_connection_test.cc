#include "server/http_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Answer(absl::string_view head) {
  return AnswerHttp(head,
                    {{"/metrics",
                      [](absl::string_view query) {
                        return HttpReply{true, absl::StrCat("a 1\n", query)};
                      }},
                     {"/busy", [](absl::string_view) {
                        return HttpReply{false, "later\n"};
                      }}});
}

TEST(AnswerHttpTest, GivesTheTextOfItsPath) {
  EXPECT_THAT(
      Answer("GET /metrics HTTP/1.1\r\nHost: x"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
            HasSubstr("Content-Type: text/plain; version=0.0.4"),
            HasSubstr("Content-Length: 4\r\n"), EndsWith("\r\n\r\na 1\n")));
  EXPECT_THAT(Answer("GET /metrics?x=1?2 HTTP/1.0"),
              AllOf(HasSubstr(" 200 "), EndsWith("\r\n\r\na 1\nx=1?2")));
}

TEST(AnswerHttpTest, APageMaySayNotNow) {
  EXPECT_THAT(Answer("GET /busy HTTP/1.1"),
              AllOf(StartsWith("HTTP/1.1 503 Service Unavailable\r\n"),
                    EndsWith("\r\n\r\nlater\n")));
}

TEST(AnswerHttpTest, RefusesEverythingElse) {
  EXPECT_THAT(Answer("GET / HTTP/1.1"), HasSubstr(" 404 "));
  EXPECT_THAT(Answer("GET /metrics/ HTTP/1.1"), HasSubstr(" 404 "));
  EXPECT_THAT(Answer("GET http://x/metrics HTTP/1.1"), HasSubstr(" 404 "));
  EXPECT_THAT(Answer("POST /metrics HTTP/1.1"), HasSubstr(" 501 "));
  EXPECT_THAT(Answer("get /metrics HTTP/1.1"), HasSubstr(" 501 "));
}

TEST(AnswerHttpTest, RefusesWhatIsNoRequest) {
  for (const char* head : {"", "GET", "GET /metrics", "GET  /metrics HTTP/1.1",
                           "GET /metrics SMTP", "GET /metrics HTTP/2.0",
                           "\x16\x03\x01\x02", " /metrics HTTP/1.1"}) {
    EXPECT_THAT(Answer(head), StartsWith("HTTP/1.1 400 ")) << head;
  }
}

TEST(AnswerHttpTest, DoesNotTellWhatWentWrong) {
  EXPECT_THAT(
      AnswerHttp("GET /metrics HTTP/1.1", {{"/metrics",
                                            [](absl::string_view) -> HttpReply {
                                              throw std::runtime_error("hush");
                                            }}}),
      AllOf(StartsWith("HTTP/1.1 500 "), Not(HasSubstr("hush"))));
}

// A client's end and the connection under test.
class HttpConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                         ends.data()),
              0);
    client_ = UniqueFd(ends[0]);
    connection_.emplace(UniqueFd(ends[1]));
  }
  void Send(const std::string& text) const {
    ASSERT_EQ(send(client_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  bool Continue() {
    return connection_->Continue([this](absl::string_view head) {
      head_ = std::string(head);
      return answer_;
    });
  }
  std::string Receive() const {
    std::string text;
    std::array<char, 65536> buffer{};
    ssize_t size = 0;
    while ((size = recv(client_.get(), buffer.data(), buffer.size(), 0)) > 0) {
      text.append(buffer.data(), static_cast<size_t>(size));
    }
    return text;
  }

  UniqueFd client_;
  std::optional<HttpConnection> connection_;
  std::string head_;
  std::string answer_ = "the answer";
};

TEST_F(HttpConnectionTest, TakesARequestInPieces) {
  for (const char* piece : {"GET / HT", "TP/1.1\r\nA", ": b\r\n", "\r"}) {
    Send(piece);
    EXPECT_TRUE(Continue());
    EXPECT_EQ(connection_->events(), POLLIN);
    EXPECT_EQ(head_, "");
  }
  Send("\n");
  EXPECT_TRUE(Continue());
  EXPECT_EQ(head_, "GET / HTTP/1.1\r\nA: b");
  EXPECT_EQ(Receive(), "the answer");
  client_.Reset();
  EXPECT_FALSE(Continue());
}

TEST_F(HttpConnectionTest, WaitsForAClientThatReadsSlowly) {
  answer_ = std::string(size_t{4} << 20, 'x');
  Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Continue());
  EXPECT_EQ(connection_->events(), POLLOUT);
  std::string received = Receive();
  while (received.size() < answer_.size()) {
    ASSERT_TRUE(Continue());
    const std::string more = Receive();
    ASSERT_FALSE(more.empty());
    received += more;
  }
  EXPECT_EQ(received, answer_);
}

TEST_F(HttpConnectionTest, IsOverWhenTheClientHangsUp) {
  Send("GET /");
  EXPECT_TRUE(Continue());
  client_.Reset();
  EXPECT_FALSE(Continue());
}

TEST_F(HttpConnectionTest, DoesNotReadHeadersWithoutEnd) {
  bool open = true;
  size_t sent = 0;
  for (; sent < size_t{10} << 20 && open; sent += 1024) {
    Send(std::string(1024, 'a'));
    open = Continue();
  }
  EXPECT_FALSE(open);
  EXPECT_LT(sent, size_t{1} << 20);
  EXPECT_THAT(Receive(), HasSubstr(" 431 "));
}

}  // namespace
}  // namespace addons
