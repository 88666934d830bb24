#include "volume/volume_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/unit/volume/journal_fixtures.h"

namespace addons {
namespace {

using ::addons::testing::kFixtureIds;
using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kPlain[] =
    "0001-0006-peer-a-0000000000000002-b891b493-7754-470d-b2a0-4ca18f698b29";
constexpr char kUuid[] = "b891b493-7754-470d-b2a0-4ca18f698b29";

std::string With(std::string text, size_t at, char c) {
  text[at] = c;
  return text;
}

TEST(VolumeIdTest, DecodesEveryField) {
  const auto id = VolumeId::Parse(kPlain);
  ASSERT_OK(id);
  EXPECT_EQ(id->version, 1);
  EXPECT_EQ(id->cluster_id, ClusterId("peer-a"));
  EXPECT_EQ(id->pool_id, 2);
  EXPECT_EQ(id->uuid, kUuid);
}

TEST(VolumeIdTest, EncodesEveryField) {
  const VolumeId id{1, ClusterId("peer-ns"), 26, kUuid};
  EXPECT_EQ(id.ToString().value(),
            "0001-0007-peer-ns-000000000000001a-b891b493-7754-470d-b2a0-"
            "4ca18f698b29");
}

TEST(VolumeIdTest, MatchesTheTestVectorsOfReplicationDestinations) {
  const std::string uuid = "00000000-1111-2222-3333-444444444444";
  EXPECT_EQ(
      VolumeId::Parse("0001-000f-primary-cluster-0000000000000001-" + uuid)
          .value(),
      (VolumeId{1, ClusterId("primary-cluster"), 1, uuid}));
  EXPECT_EQ(
      (VolumeId{1, ClusterId("secondary-cluster"), 5, uuid}).ToString().value(),
      "0001-0011-secondary-cluster-0000000000000005-" + uuid);
}

TEST(VolumeIdTest, RoundTripsTheIdsOfARealProvisioner) {
  for (const auto& fixture : kFixtureIds) {
    const auto id = VolumeId::Parse(fixture.id);
    ASSERT_OK(id) << fixture.request_name;
    EXPECT_EQ(id->ToString().value(), fixture.id);
  }
}

TEST(VolumeIdTest, RefusesEveryTruncationOfAValidId) {
  const std::string text = kPlain;
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(VolumeId::Parse(text.substr(0, length)),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << length;
  }
}

TEST(VolumeIdTest, RefusesEveryTruncationAtTheFront) {
  const std::string text = kPlain;
  for (size_t start = 1; start <= text.size(); ++start) {
    EXPECT_THAT(VolumeId::Parse(text.substr(start)),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << start;
  }
}

TEST(VolumeIdTest, NamesTheMissingSeparator) {
  // Behind the version, the length, the cluster id, and the pool id.
  for (const size_t at : {4U, 9U, 16U, 33U}) {
    EXPECT_THAT(VolumeId::Parse(With(kPlain, at, '_')),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("': separator missing at byte " +
                                   std::to_string(at))));
  }
}

TEST(VolumeIdTest, NamesTheByteThatIsNoHexDigit) {
  EXPECT_THAT(VolumeId::Parse(With(kPlain, 2, 'g')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no hex digit at byte 2 (in the encoding")));
  EXPECT_THAT(VolumeId::Parse(With(kPlain, 8, '+')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no hex digit at byte 8 (in the length")));
  EXPECT_THAT(VolumeId::Parse(With(kPlain, 17, ' ')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no hex digit at byte 17 (in the pool id)")));
}

TEST(VolumeIdTest, SurvivesTheLargestClusterLength) {
  const std::string text =
      std::string("0001-ffff") + std::string(kPlain).substr(9);
  EXPECT_THAT(
      VolumeId::Parse(text),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65535 bytes")));
}

TEST(VolumeIdTest, RefusesAClusterLengthThatIsTooSmall) {
  // The separator behind the cluster id happens to be there: "peer" + "-a-".
  EXPECT_THAT(
      VolumeId::Parse(std::string("0001-0004") + std::string(kPlain).substr(9)),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(VolumeIdTest, RefusesAUuidOfAnotherLength) {
  EXPECT_THAT(VolumeId::Parse(std::string(kPlain) + "0"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("37 bytes instead of 36")));
}

TEST(VolumeIdTest, RefusesWhatNoUuidHas) {
  EXPECT_THAT(
      VolumeId::Parse(With(kPlain, 40, '/')),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("invalid character at byte 40 (in the uuid)")));
}

TEST(VolumeIdTest, AcceptsTheLongestIdAndRefusesALongerOne) {
  const VolumeId longest{1, ClusterId(std::string(64, 'c')), 1, kUuid};
  const auto text = longest.ToString();
  ASSERT_OK(text);
  EXPECT_THAT(*text, SizeIs(128));
  EXPECT_EQ(VolumeId::Parse(*text).value(), longest);

  const std::string longer = std::string("0001-0041-") + std::string(65, 'c') +
                             "-0000000000000001-" + kUuid;
  EXPECT_THAT(VolumeId::Parse(longer),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("too long: 129 bytes")));
}

TEST(VolumeIdTest, AcceptsAnEmptyClusterId) {
  const VolumeId id{1, ClusterId(""), 7, kUuid};
  EXPECT_EQ(VolumeId::Parse(id.ToString().value()).value(), id);
}

TEST(VolumeIdTest, AcceptsUpperCaseHexDigitsAndWritesLowerCase) {
  const auto id = VolumeId::Parse(
      "0001-000A-0123456789-00000000000000AB-b891b493-7754-470d-b2a0-"
      "4ca18f698b29");
  ASSERT_OK(id);
  EXPECT_EQ(id->version, 1);
  EXPECT_EQ(id->pool_id, 0xab);
  EXPECT_EQ(id->ToString().value(),
            "0001-000a-0123456789-00000000000000ab-b891b493-7754-470d-b2a0-"
            "4ca18f698b29");
}

TEST(VolumeIdTest, KnowsNoOtherVersion) {
  for (const char* version : {"0000", "0002", "0010", "00ff", "ffff"}) {
    EXPECT_THAT(VolumeId::Parse(version + std::string(kPlain).substr(4)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("encoding version")))
        << version;
  }
}

TEST(VolumeIdTest, WrapsPoolIdsBeyondTheSignedRange) {
  const std::string prefix = "0001-0001-c-";
  EXPECT_EQ(VolumeId::Parse(prefix + "ffffffffffffffff-" + kUuid)->pool_id, -1);
  EXPECT_EQ(VolumeId::Parse(prefix + "8000000000000000-" + kUuid)->pool_id,
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ((VolumeId{1, ClusterId("c"), -1, kUuid}).ToString().value(),
            prefix + "ffffffffffffffff-" + kUuid);
}

TEST(VolumeIdTest, KnowsHandlesOfMigratedVolumes) {
  EXPECT_THAT(
      VolumeId::Parse(
          "mig_mons-b7f67366bb43f32e07d8a261a7840da9_image-e0b45b52-"
          "7e09-47d3-8f1b-806995fa4412_706f6f6c5f7265706c6963615f706f"
          "6f6c_and_more_than_one_hundred_and_twenty_eight_bytes"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in-tree")));
}

TEST(VolumeIdTest, SaysThatItIsEmpty) {
  EXPECT_THAT(VolumeId::Parse(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
}

TEST(VolumeIdTest, CutsLongInputInMessages) {
  const auto status = VolumeId::Parse(std::string(100'000, 'x')).status();
  EXPECT_LT(status.message().size(), 300U);
  EXPECT_THAT(std::string(status.message()), HasSubstr("...'"));
}

TEST(VolumeIdTest, NeverPrintsControlCharacters) {
  const auto status =
      VolumeId::Parse(With(With(kPlain, 11, '\n'), 12, '\x1b')).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("control character at byte 11"),
                             HasSubstr("\\n"), HasSubstr("\\x1b"),
                             Not(HasSubstr("\n")), Not(HasSubstr("\x1b")))));
}

TEST(VolumeIdTest, RefusesANulInTheUuid) {
  EXPECT_THAT(VolumeId::Parse(With(kPlain, 50, '\0')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("control character at byte 50")));
}

TEST(VolumeIdTest, ComposesNothingThatDoesNotFit) {
  EXPECT_THAT(
      (VolumeId{1, ClusterId(std::string(65, 'c')), 1, kUuid}).ToString(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("has 65 bytes, at most 64")));
  EXPECT_THAT((VolumeId{1, ClusterId("c"), 1, "short"}).ToString(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'short' has 5 bytes instead of 36")));
}

TEST(VolumeIdTest, AnyFieldsRoundTrip) {
  std::mt19937_64 random(20'261'120);  // NOLINT(cert-msc51-cpp): repeatable
  constexpr char kHex[] = "0123456789abcdef";
  for (int i = 0; i < 2000; ++i) {
    VolumeId id;
    id.version = 1;
    id.pool_id = static_cast<int64_t>(random());
    const size_t length = random() % 65;
    std::string cluster;
    for (size_t k = 0; k < length; ++k) {
      cluster += static_cast<char>('!' + random() % 94);
    }
    id.cluster_id = ClusterId(cluster);
    for (int k = 0; k < 36; ++k) id.uuid += kHex[random() % 16];
    const auto text = id.ToString();
    ASSERT_OK(text);
    const auto parsed = VolumeId::Parse(*text);
    ASSERT_OK(parsed);
    EXPECT_EQ(*parsed, id);
  }
}

TEST(VolumeIdTest, RandomTextIsRefusedOrRoundTrips) {
  std::mt19937_64 random(20'261'121);  // NOLINT(cert-msc51-cpp): repeatable
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = i % 2 == 0 ? kPlain : std::string(random() % 140, 'x');
    const size_t changes = i % 2 == 0 ? random() % 4 : text.size();
    for (size_t k = 0; k < changes && !text.empty(); ++k) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const auto id = VolumeId::Parse(text);
    if (!id.ok()) {
      EXPECT_THAT(id, StatusIs(absl::StatusCode::kInvalidArgument));
      for (const char c : id.status().message()) {
        ASSERT_TRUE(c >= ' ' && c < 0x7f);
      }
      continue;
    }
    ++accepted;
    // Equal but for the case of hex digits.
    EXPECT_EQ(VolumeId::Parse(id->ToString().value()).value(), *id);
    EXPECT_EQ(id->ToString()->size(), text.size());
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace addons
