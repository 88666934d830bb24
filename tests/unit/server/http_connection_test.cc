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
#include "tests/testing/gunzip.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string LongText() {
  std::string text;
  while (text.size() < kLeastCompressed) text += "a 1\n";
  return text;
}

std::string Answer(absl::string_view head) {
  return AnswerHttp(
      head, {{"/metrics",
              [](absl::string_view query) {
                return HttpReply{true, absl::StrCat("a 1\n", query)};
              }},
             {"/busy",
              [](absl::string_view) {
                return HttpReply{false, "later\n"};
              }},
             {"/long",
              [](absl::string_view) {
                return HttpReply{true, LongText()};
              }},
             {"/almost",
              [](absl::string_view) {
                return HttpReply{true, LongText().substr(4)};
              }},
             {"/icon", [](absl::string_view) {
                return HttpReply{true, "picture", HttpReply::Kind::kIcon};
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
  EXPECT_THAT(Answer("head /metrics HTTP/1.1"), HasSubstr(" 501 "));
}

TEST(AnswerHttpTest, HeadIsTheSameWithoutTheText) {
  for (const char* rest :
       {" /metrics HTTP/1.1", " /metrics?x=1 HTTP/1.0", " /busy HTTP/1.1",
        " /none HTTP/1.1", " /long HTTP/1.1",
        " /long HTTP/1.1\r\nAccept-Encoding: gzip"}) {
    const std::string whole = Answer(absl::StrCat("GET", rest));
    const std::string head = Answer(absl::StrCat("HEAD", rest));
    EXPECT_EQ(head, whole.substr(0, whole.find("\r\n\r\n") + 4)) << rest;
    EXPECT_LT(head.size(), whole.size()) << rest;
  }
  // That is no request, whatever it wants to be.
  EXPECT_EQ(Answer("HEAD /metrics"), Answer("GET /metrics"));
}

TEST(AnswerHttpTest, LongTextsAreCompressedForThoseWhoTakeIt) {
  const std::string plain = Answer("GET /long HTTP/1.1");
  EXPECT_THAT(plain, AllOf(HasSubstr("\r\nVary: Accept-Encoding\r\n"),
                           Not(HasSubstr("Content-Encoding")),
                           EndsWith(absl::StrCat("\r\n\r\n", LongText()))));
  const std::string packed =
      Answer("GET /long HTTP/1.1\r\nAccept-Encoding: deflate, gzip");
  const size_t end = packed.find("\r\n\r\n");
  const std::string head = packed.substr(0, end);
  const std::string body = packed.substr(end + 4);
  EXPECT_THAT(
      head,
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
            HasSubstr("\r\nContent-Type: text/plain; version=0.0.4"),
            HasSubstr("\r\nVary: Accept-Encoding\r\n"),
            HasSubstr("\r\nContent-Encoding: gzip\r\n"),
            HasSubstr(absl::StrCat("\r\nContent-Length: ", body.size()))));
  EXPECT_LT(body.size(), LongText().size() / 2);
  EXPECT_EQ(testing::Gunzip(body), LongText());
}

TEST(AnswerHttpTest, WhatIsWrongAboutEncodingsChangesNothing) {
  const std::string plain = Answer("GET /long HTTP/1.1");
  for (const char* value :
       {"gzip;q=0", "gzip;q=2", "gzip;", "identity", "br", "", "*;q=0"}) {
    EXPECT_EQ(
        Answer(absl::StrCat("GET /long HTTP/1.1\r\nAccept-Encoding: ", value)),
        plain)
        << value;
  }
}

TEST(AnswerHttpTest, ShortTextsAndErrorsAreNotCompressed) {
  for (const char* request :
       {"GET /metrics HTTP/1.1", "GET /almost HTTP/1.1", "GET /none HTTP/1.1",
        "POST /long HTTP/1.1", "GET /long SMTP"}) {
    EXPECT_EQ(Answer(absl::StrCat(request, "\r\nAccept-Encoding: gzip")),
              Answer(request))
        << request;
  }
}

TEST(AnswerHttpTest, AnIconIsKeptForADay) {
  EXPECT_THAT(Answer("GET /icon HTTP/1.1"),
              AllOf(HasSubstr("\r\nContent-Type: image/x-icon\r\n"),
                    HasSubstr("\r\nCache-Control: max-age=86400\r\n")));
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

TEST_F(HttpConnectionTest, WhatFollowsARequestIsNoneOfIt) {
  Send("GET / HTTP/1.1\nA: b\n\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_TRUE(Continue());
  EXPECT_EQ(head_, "GET / HTTP/1.1\nA: b");
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
