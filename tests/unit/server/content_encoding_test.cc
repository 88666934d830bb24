#include "server/content_encoding.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/gunzip.h"

namespace addons::testing {
namespace {

bool Accepts(const std::string& value) {
  return AcceptsGzip(
      absl::StrCat("GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding:", value));
}

TEST(AcceptsGzipTest, WhereTheClientSaysSo) {
  for (const char* value : {" gzip",
                            "gzip",
                            " GZip ",
                            " x-gzip",
                            " deflate, gzip",
                            " gzip, br",
                            " gzip;q=1",
                            " gzip;q=1.",
                            " gzip;q=1.000",
                            " gzip;q=0.001",
                            " gzip ; Q=0.5",
                            " br;q=1, gzip;q=0.2",
                            " *",
                            " *;q=0.1",
                            "\tgzip\t",
                            " ,, gzip ,",
                            " identity, gzip",
                            " identity;q=0.5, gzip;q=0.5",
                            " identity;q=0, gzip",
                            " *;q=0, gzip",
                            " gzip, *;q=0"}) {
    EXPECT_TRUE(Accepts(value)) << value;
  }
}

TEST(AcceptsGzipTest, NotWhereItIsRefusedOrNotNamed) {
  for (const char* value :
       {"", " ", " ,", " identity", " br", " deflate, br;q=0.5", " gzip;q=0",
        " gzip;q=0.", " gzip;q=0.000", " *;q=0", " gzip;q=0, *", " *, gzip;q=0",
        " gzip, gzip;q=0", " x-gzip;q=0, gzip", " gzipped", " gzip2",
        " identity;q=1, gzip;q=0.9", " identity, gzip;q=0.5"}) {
    EXPECT_FALSE(Accepts(value)) << value;
  }
}

// One wrong element, and nothing that stands beside it counts.
TEST(AcceptsGzipTest, AFieldThatIsWrongCountsAsMissing) {
  for (const char* wrong : {"gzip;",          "gzip;q",
                            "gzip;q=",        "gzip;q=2",
                            "gzip;q=1.001",   "gzip;q=1.0000",
                            "gzip;q=0.0001",  "gzip;q=-1",
                            "gzip;q=.5",      "gzip;q=0,5",
                            "gzip;q=0.5;q=1", "gzip;level=9",
                            "gzip;q =1",      "gzip;q= 1",
                            "gzip q=1",       "gz ip",
                            "\"gzip\"",       "gzip/1",
                            "gz\x01ip",       "gz\rip",
                            ";q=1",           "=",
                            "\xc3\xa9"}) {
    EXPECT_FALSE(Accepts(absl::StrCat(" ", wrong))) << wrong;
    EXPECT_FALSE(Accepts(absl::StrCat(" gzip, ", wrong))) << wrong;
    EXPECT_FALSE(Accepts(absl::StrCat(" ", wrong, ", gzip"))) << wrong;
  }
}

TEST(AcceptsGzipTest, OnlyTheFieldItselfCounts) {
  for (const char* head : {
           "GET / HTTP/1.1",
           "Accept-Encoding: gzip",  // where the request line stands
           "GET /?Accept-Encoding: gzip HTTP/1.1",
           "GET / HTTP/1.1\r\nAccept: gzip",
           "GET / HTTP/1.1\r\nX-Accept-Encoding: gzip",
           "GET / HTTP/1.1\r\nAccept-Encoding : gzip",
           "GET / HTTP/1.1\r\nAccept-Encoding gzip",
           "GET / HTTP/1.1\r\nX: y\r\n Accept-Encoding: gzip",
           "GET / HTTP/1.1\r\nAccept-Encoding:\r\n gzip",
           "GET / HTTP/1.1\r\nAccept-Encoding: gzip,\r\n br",
       }) {
    EXPECT_FALSE(AcceptsGzip(head)) << head;
  }
  EXPECT_TRUE(AcceptsGzip("GET / HTTP/1.1\naccept-ENCODING: gzip"));
  EXPECT_TRUE(AcceptsGzip(
      "GET / HTTP/1.1\r\nX: y\r\n z\r\nAccept-Encoding: gzip\r\nZ: a"));
}

TEST(AcceptsGzipTest, SeveralFieldsAreOneList) {
  const std::string two =
      "GET / HTTP/1.1\r\nAccept-Encoding: br\r\nHost: x\r\nAccept-Encoding: ";
  EXPECT_TRUE(AcceptsGzip(absl::StrCat(two, "gzip")));
  EXPECT_FALSE(AcceptsGzip(absl::StrCat(two, "gzip;q=0")));
  EXPECT_FALSE(
      AcceptsGzip("GET / HTTP/1.1\r\nAccept-Encoding: gzip;q=0\r\n"
                  "Accept-Encoding: gzip"));
}

TEST(GzipTest, WhatIsUnpackedIsTheSame) {
  std::mt19937 random(1);
  std::string noise(300000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  std::string lines;
  for (int i = 0; i < 100000; ++i) {
    absl::StrAppend(&lines, "rbd_addons_x{i=\"", random(), "\"} 1\n");
  }
  for (const std::string& text : {std::string(), std::string("a"),
                                  std::string(1 << 20, 'a'), noise, lines}) {
    const auto packed = Gzip(text);
    ASSERT_TRUE(packed.has_value());
    EXPECT_EQ(Gunzip(*packed), text) << text.size();
    EXPECT_LT(packed->size(), text.size() + text.size() / 100 + 64);
  }
  EXPECT_LT(Gzip(lines)->size() * 3, lines.size());
}

TEST(GzipTest, WhatIsCutOffIsNotWhole) {
  const std::string packed = *Gzip("some text");
  EXPECT_EQ(Gunzip(packed.substr(0, packed.size() - 1)), std::nullopt);
  EXPECT_EQ(Gunzip(packed + "x"), std::nullopt);
}

}  // namespace
}  // namespace addons::testing
