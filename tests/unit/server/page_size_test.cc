// What the status page of the most volumes that are kept by name takes: time
// until its first byte, and bytes over the wire.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "server/http_connection.h"
#include "tests/testing/gunzip.h"
#include "tests/testing/html_faults.h"
#include "tests/unit/server/page_testing.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kMostVolumes = 5000;
constexpr size_t kMostBytesOfPage = 300'000;
constexpr size_t kMostBytesOfJson = 1'000'000;
constexpr double kMostMillisecondsOfPage = 50;

/// Of this thread alone: other programs of the machine do not count.
double ThreadMilliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 +
         static_cast<double>(time.tv_nsec) / 1e6;
}

/// A sanitizer makes everything several times slower.
constexpr bool Sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

class PageSizeTest : public ::testing::TestWithParam<const char*> {
 protected:
  /// As a browser asks, who gets nothing before all of it is made.
  std::string Answer(const std::string& path) {
    return AnswerHttp(
        absl::StrCat("GET ", path, " HTTP/1.1\r\nAccept-Encoding: gzip"),
        {{"/",
          [this](absl::string_view query) {
            page_.query = std::string(query);
            return HttpReply{true, RenderStatusPage(page_),
                             HttpReply::Kind::kHtml};
          }},
         {"/status.json", [this](absl::string_view query) {
            page_.query = std::string(query);
            return HttpReply{true, StatusJson(page_), HttpReply::Kind::kJson};
          }}});
  }
  static std::string Unpacked(const std::string& answer) {
    EXPECT_THAT(answer.substr(0, 1024),
                HasSubstr("Content-Encoding: gzip\r\n"));
    return Gunzip(answer.substr(answer.find("\r\n\r\n") + 4)).value_or("");
  }

  StatusPage page_ = PageOf(kMostVolumes);
};

INSTANTIATE_TEST_SUITE_P(Queries, PageSizeTest,
                         ::testing::Values("/", "/?q=postgres-1&role=primary",
                                           "/?sort=age&page=25",
                                           "/?state=trouble&sort=left"));

TEST_P(PageSizeTest, AFirstByteComesAtOnce) {
  for (const StatusPage& page :
       {PageOf(kMostVolumes), WithDeadPeer(PageOf(kMostVolumes), seconds(100)),
        WithDeadCluster(PageOf(kMostVolumes), seconds(100))}) {
    page_ = page;
    double took = std::numeric_limits<double>::max();
    std::string answer;
    for (int i = 0; i < 5; ++i) {
      const double begin = ThreadMilliseconds();
      answer = Answer(GetParam());
      took = std::min(took, ThreadMilliseconds() - begin);
    }
    const std::string html = Unpacked(answer);
    std::cout << GetParam() << ": " << html.size() << " bytes of HTML, "
              << answer.size() << " as gzip, in " << took << " ms\n";
    EXPECT_LE(answer.size(), kMostBytesOfPage);
    EXPECT_THAT(HtmlFaults::Of(html), IsEmpty());
    if (!Sanitized()) {
      EXPECT_LE(took, kMostMillisecondsOfPage);
    }
  }
}

TEST_F(PageSizeTest, JsonHasAllVolumesUnlessAPageIsAsked) {
  const double begin = ThreadMilliseconds();
  const std::string answer = Answer("/status.json");
  const double took = ThreadMilliseconds() - begin;
  const std::string text = Unpacked(answer);
  std::cout << "JSON: " << text.size() << " bytes, " << answer.size()
            << " as gzip, in " << took << " ms\n";
  EXPECT_LE(answer.size(), kMostBytesOfJson);
  EXPECT_EQ(ParseJson(text)["volumes"].size(), kMostVolumes);
  const auto page = ParseJson(Unpacked(Answer("/status.json?page=25")));
  EXPECT_EQ(page["volumes"].size(), kRowsOfPage);
  EXPECT_EQ(page["fitting"], kMostVolumes);
  page_.query = "page=26";
  EXPECT_EQ(ParseJson(StatusJson(page_))["volumes"].size(), 0U);
}

}  // namespace
}  // namespace addons::testing
