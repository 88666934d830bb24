#include "server/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/rpc/log_capture.h"
#include "tests/testing/gunzip.h"
#include "tests/testing/http_get.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<HttpServer> Serve(HttpServer::Content content,
                                  const std::string& address = "127.0.0.1",
                                  uint16_t port = 0) {
  auto server =
      HttpServer::Start({address, port, "/metrics"}, std::move(content));
  EXPECT_OK(server);
  return server.ok() ? *std::move(server) : nullptr;
}

std::string Numbers() { return "a 1\n"; }

std::string SiblingOf(const std::string& url, const std::string& path) {
  return url.substr(0, url.rfind('/')) + path;
}

TEST(HttpServerTest, AnswersItsPath) {
  const auto server = Serve(Numbers);
  const HttpAnswer answer = HttpGet(server->url());
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(answer.body, "a 1\n");
  EXPECT_THAT(answer.headers,
              HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_EQ(HttpGet(server->url() + "?x=1").code, 200);
}

TEST(HttpServerTest, AsksAnewEachTime) {
  std::atomic<int> asked{0};
  const auto server = Serve([&] { return std::to_string(++asked); });
  EXPECT_EQ(HttpGet(server->url()).body, "1");
  EXPECT_EQ(HttpGet(server->url()).body, "2");
}

TEST(HttpServerTest, HasNothingElse) {
  const auto server = Serve(Numbers);
  for (const char* path : {"/", "/metrics/more", "/etc/passwd",
                           "/../../../../etc/passwd", "/metricsx"}) {
    EXPECT_EQ(HttpGet(SiblingOf(server->url(), path)).code, 404) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    EXPECT_EQ(HttpRequest(method, HttpTarget(server->url())).code, 501)
        << method;
  }
}

TEST(HttpServerTest, HeadHasNoBody) {
  const auto server = Serve(Numbers);
  const HttpAnswer whole = HttpGet(server->url());
  const HttpAnswer head = HttpRequest("HEAD", HttpTarget(server->url()));
  EXPECT_EQ(head.headers, whole.headers);
  EXPECT_THAT(head.headers, HasSubstr("Content-Length: 4"));
  EXPECT_EQ(head.body, "");
}

TEST(HttpServerTest, CompressesForThoseWhoTakeIt) {
  const std::string text(size_t{8} << 20, 'x');
  const auto server = Serve([&text] { return text; });
  const HttpAnswer answer =
      HttpRequest("GET", HttpTarget(server->url()), "Accept-Encoding: gzip");
  EXPECT_THAT(answer.headers, HasSubstr("Content-Encoding: gzip"));
  EXPECT_LT(answer.body.size(), text.size() / 100);
  EXPECT_EQ(Gunzip(answer.body), text);
}

// The longest that is read, and nothing but commas.
TEST(HttpServerTest, AListWithoutEndIsNoBurden) {
  const auto server = Serve(Numbers);
  for (const char* element : {",", "a,", "gzip;q=0,", "gzip;q=x,"}) {
    std::string field = "Accept-Encoding: ";
    while (field.size() < HttpConnection::kMaxHead - 256) field += element;
    const HttpAnswer answer =
        HttpRequest("GET", HttpTarget(server->url()), field);
    EXPECT_EQ(answer.code, 200) << element;
    EXPECT_EQ(answer.body, "a 1\n") << element;
  }
}

TEST(HttpServerTest, ServesMorePagesBesideIt) {
  auto server = HttpServer::Start({"127.0.0.1", 0, "/metrics"}, Numbers,
                                  {{"/readyz", [](absl::string_view) {
                                      return HttpReply{false, "starting\n"};
                                    }}});
  ASSERT_OK(server);
  EXPECT_EQ(HttpGet((*server)->url()).body, "a 1\n");
  const HttpAnswer answer = HttpGet(SiblingOf((*server)->url(), "/readyz"));
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.body, "starting\n");
}

TEST(HttpServerTest, AnswersOnSix) {
  const auto server = Serve(Numbers, "::1");
  EXPECT_THAT(server->url(), HasSubstr("http://[::1]:"));
  EXPECT_EQ(HttpGet(server->url()).code, 200);
}

std::string AtLoopback(const HttpServer& server) {
  return "http://127.0.0.1:" + HttpTarget(server.url()).port + "/metrics";
}

// As in a pod, whose address is not the one that port-forward connects to.
TEST(HttpServerTest, AnAddressOfTheNetworkIsServedAtLoopbackToo) {
  for (const char* address : {"127.0.0.2", "::1"}) {
    auto server = Serve(Numbers, address);
    const std::string url = AtLoopback(*server);
    EXPECT_EQ(HttpGet(server->url()).body, "a 1\n") << address;
    EXPECT_EQ(HttpGet(url).body, "a 1\n") << address;
    server->Stop();
    EXPECT_EQ(HttpGet(server->url()).code, 0) << address;
    EXPECT_EQ(HttpGet(url).code, 0) << address;
  }
}

TEST(HttpServerTest, ATakenPortAtLoopbackIsSaidAndNoError) {
  LogCapture log;
  const auto other = Serve([] { return std::string("other\n"); });
  const auto port =
      static_cast<uint16_t>(std::stoi(HttpTarget(other->url()).port));
  EXPECT_EQ(log.text(), "");
  const auto server = Serve(Numbers, "127.0.0.2", port);
  EXPECT_EQ(HttpGet(server->url()).body, "a 1\n");
  EXPECT_EQ(HttpGet(AtLoopback(*server)).body, "other\n");
  EXPECT_THAT(log.text(),
              AllOf(HasSubstr("port-forward"), HasSubstr(AtLoopback(*server)),
                    HasSubstr("Address already in use")));
}

TEST(HttpServerTest, AllAddressesAreListenedAtOnce) {
  LogCapture log;
  for (const char* address : {"0.0.0.0", "::", "127.0.0.1"}) {
    const auto server = Serve(Numbers, address);
    EXPECT_EQ(HttpGet(AtLoopback(*server)).body, "a 1\n") << address;
  }
  EXPECT_EQ(log.text(), "");
}

TEST(HttpServerTest, ATakenPortIsRefusedAndSaysWhatToDo) {
  const auto server = Serve(Numbers);
  const auto port =
      static_cast<uint16_t>(std::stoi(HttpTarget(server->url()).port));
  EXPECT_THAT(
      HttpServer::Start({"127.0.0.1", port, "/metrics"}, Numbers),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("Address already in use"),
                     HasSubstr(server->url()), HasSubstr("--metricsport"))));
  EXPECT_EQ(HttpGet(server->url()).code, 200);
}

TEST(HttpServerTest, AnAddressOfAnotherHostIsRefused) {
  EXPECT_THAT(HttpServer::Start({"192.0.2.1", 0, "/metrics"}, Numbers),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("--metrics-address")));
}

TEST(HttpServerTest, ThePortIsFreeAfterTheStop) {
  auto server = Serve(Numbers);
  const std::string url = server->url();
  EXPECT_EQ(HttpGet(url).code, 200);
  server->Stop();
  server->Stop();
  EXPECT_EQ(HttpGet(url).code, 0);
  const auto again =
      Serve(Numbers, "127.0.0.1",
            static_cast<uint16_t>(std::stoi(HttpTarget(url).port)));
  EXPECT_EQ(HttpGet(url).code, 200);
}

// Neither those who say nothing nor those who stop in the middle.
TEST(HttpServerTest, SilentClientsHoldUpNobody) {
  auto server = Serve(Numbers);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(HttpConnect(HttpTarget(server->url())));
    ASSERT_TRUE(silent.back().valid());
    ASSERT_EQ(send(silent.back().get(), "GET /me", 7, MSG_NOSIGNAL), 7);
  }
  const auto begin = steady_clock::now();
  EXPECT_EQ(HttpGet(server->url()).code, 200);
  server->Stop();
  EXPECT_LT(steady_clock::now() - begin, seconds(4));
}

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// As many as would take every descriptor: 1500 that send one byte and wait.
TEST(HttpServerTest, ManySilentClientsTakeNeitherTheAnswerNorTheDescriptors) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  ASSERT_GE(limit.rlim_cur, 2000U);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto server = Serve(Numbers);
  const size_t at_first = OpenDescriptors();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 1500; ++i) {
    silent.push_back(HttpConnect(HttpTarget(server->url())));
    ASSERT_TRUE(silent.back().valid()) << i;
    ASSERT_EQ(send(silent.back().get(), "G", 1, MSG_NOSIGNAL), 1) << i;
    if (i % 100 == 99) {
      EXPECT_EQ(HttpGet(server->url()).code, 200) << i;
    }
  }
  EXPECT_LE(OpenDescriptors(),
            at_first + silent.size() + HttpServer::kMaxConnections);
  silent.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// One byte now and then keeps nobody in.
TEST(HttpServerTest, AClientIsCutOffHoweverItKeepsBusy) {
  const auto server = Serve(Numbers);
  const UniqueFd client = HttpConnect(HttpTarget(server->url()));
  const auto begin = steady_clock::now();
  const auto until = begin + 3 * HttpServer::kPatience;
  bool cut = false;
  while (!cut && steady_clock::now() < until) {
    cut = send(client.get(), "G", 1, MSG_NOSIGNAL) != 1;
    pollfd hangup{client.get(), POLLRDHUP, 0};
    cut = cut || poll(&hangup, 1, 100) == 1;
  }
  EXPECT_TRUE(cut);
  EXPECT_GE(steady_clock::now() - begin,
            HttpServer::kPatience - std::chrono::milliseconds(500));
}

// Nothing else happens that could wake the server.
TEST(HttpServerTest, AClientThatSaysNothingIsCutOff) {
  const auto server = Serve(Numbers);
  const UniqueFd client = HttpConnect(HttpTarget(server->url()));
  ASSERT_TRUE(client.valid());
  pollfd hangup{client.get(), POLLRDHUP, 0};
  const std::chrono::milliseconds limit = 3 * HttpServer::kPatience;
  EXPECT_EQ(poll(&hangup, 1, static_cast<int>(limit.count())), 1);
}

TEST(HttpServerTest, WithoutDescriptorsItWaitsAndSaysSoOnce) {
#if defined(ADDONS_SANITIZED)
  GTEST_SKIP() << "the sanitizer looks at memory through a pipe of its own";
#endif
  LogCapture log;
  const auto server = Serve(Numbers);
  EXPECT_EQ(HttpGet(server->url()).code, 200);
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  std::vector<UniqueFd> all;
  while (all.empty() || all.back().valid()) all.emplace_back(dup(0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(static_cast<uint16_t>(std::stoi(HttpTarget(server->url()).port)));
  for (const UniqueFd& client : waiting) {
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)),
              0);
  }
  // Long enough for several tries, not for the next line.
  EXPECT_EQ(poll(nullptr, 0, 2000), 0);
  all.clear();
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  for (const UniqueFd& client : waiting) {
    send(client.get(), request.data(), request.size(), MSG_NOSIGNAL);
  }
  EXPECT_EQ(HttpGet(server->url()).code, 200);
  const std::string text = log.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, HasSubstr("Too many open files"));
}

TEST(HttpServerTest, AClientThatHangsUpHarmsNobody) {
  const auto server = Serve([] { return std::string(size_t{8} << 20, 'x'); });
  for (int i = 0; i < 20; ++i) {
    const UniqueFd client = HttpConnect(HttpTarget(server->url()));
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    ASSERT_EQ(send(client.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
  }
  EXPECT_EQ(HttpGet(server->url()).body.size(), size_t{8} << 20);
}

TEST(HttpServerTest, RefusesHeadersWithoutEnd) {
  const auto server = Serve(Numbers);
  const UniqueFd client = HttpConnect(HttpTarget(server->url()));
  const std::string line = "GET /metrics HTTP/1.1\r\nX: ";
  ASSERT_GT(send(client.get(), line.data(), line.size(), MSG_NOSIGNAL), 0);
  const std::string more(4096, 'a');
  bool cut = false;
  for (int i = 0; i < 10000 && !cut; ++i) {
    cut = send(client.get(), more.data(), more.size(), MSG_NOSIGNAL) < 0;
  }
  EXPECT_TRUE(cut);
  EXPECT_EQ(HttpGet(server->url()).code, 200);
}

TEST(HttpServerTest, AnExceptionIsAnError) {
  const auto server =
      Serve([]() -> std::string { throw std::runtime_error("hush"); });
  const HttpAnswer answer = HttpGet(server->url());
  EXPECT_EQ(answer.code, 500);
  EXPECT_THAT(answer.body, ::testing::Not(HasSubstr("hush")));
}

TEST(HttpServerTest, StopWaitsForTheAnswerUnderWay) {
  std::promise<void> entered;
  std::promise<void> release;
  std::atomic<bool> returned{false};
  auto server = Serve([&] {
    entered.set_value();
    release.get_future().wait();
    returned = true;
    return std::string("late");
  });
  auto get = std::async(std::launch::async,
                        [url = server->url()] { return HttpGet(url); });
  entered.get_future().wait();
  auto stop = std::async(std::launch::async, [&] { server->Stop(); });
  EXPECT_EQ(stop.wait_for(std::chrono::milliseconds(50)),
            std::future_status::timeout);
  release.set_value();
  stop.get();
  EXPECT_TRUE(returned);
  get.get();
}

}  // namespace
}  // namespace addons::testing
