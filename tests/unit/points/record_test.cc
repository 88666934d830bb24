#include "points/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using Metadata = std::map<std::string, std::string>;

constexpr uint64_t kObject = 16 * kBlockBytes;

class RecordTest : public ::testing::Test {
 protected:
  static PointHeader Header(uint64_t objects) {
    PointHeader header;
    header.point = "before";
    header.snapshot = 17;
    header.global_id = "global";
    header.site = "site-a";
    header.made = 1234;
    ImageLayout layout;
    layout.bytes = objects * kObject - 100;
    layout.object_bytes = kObject;
    layout.stripe_unit = kObject;
    layout.stripe_count = 1;
    header.shape = *PointShape::Of(layout);
    return header;
  }
  /// Every third object is there; their blocks have no pattern.
  std::vector<ObjectSum> Sums(uint64_t objects) {
    std::vector<ObjectSum> sums;
    for (uint64_t i = 0; i < objects; ++i) {
      std::string bytes;
      if (i % 3 == 0) {
        bytes.assign(kObject, '\0');
        for (size_t at = Next() % kSectorBytes; at < bytes.size();
             at += 1 + Next() % (3 * kBlockBytes)) {
          bytes[at] = static_cast<char>(1 + i % 200);
        }
      }
      sums.push_back(SumObject(bytes, kObject));
    }
    return sums;
  }
  static absl::StatusOr<Metadata> Write(const std::vector<ObjectSum>& sums,
                                        size_t most = kMostRecordBytes) {
    RecordWriter writer(Header(sums.size()), most);
    for (const ObjectSum& sum : sums) {
      if (const absl::Status added = writer.Add(sum); !added.ok()) return added;
    }
    return writer.Finish();
  }
  uint64_t Next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return state_ >> 33;
  }
  uint64_t state_ = 1;
};

TEST_F(RecordTest, GivesBackWhatItWasTold) {
  const std::vector<ObjectSum> sums = Sums(1000);
  const auto metadata = Write(sums);
  ASSERT_OK(metadata);
  for (const auto& [key, value] : *metadata) {
    EXPECT_THAT(key, ::testing::StartsWith(kPointRecordKey));
    EXPECT_LE(value.size(), 64U << 10);
  }
  auto reader = RecordReader::Open(*metadata);
  ASSERT_OK(reader);
  EXPECT_EQ(reader->header().point, "before");
  EXPECT_EQ(reader->header().snapshot, 17U);
  EXPECT_EQ(reader->header().global_id, "global");
  EXPECT_EQ(reader->header().site, "site-a");
  EXPECT_EQ(reader->header().made, 1234);
  EXPECT_EQ(reader->header().shape, Header(1000).shape);
  EXPECT_EQ(reader->group(), 1U);
  uint64_t index = 0;
  for (const ObjectSum& sum : sums) {
    const auto zeros = reader->NextZeros();
    ASSERT_OK(zeros);
    EXPECT_EQ(*zeros, sum.zeros);
    if (!zeros->empty()) {
      EXPECT_EQ(reader->DigestOf(index++), sum.digest);
    }
  }
  EXPECT_EQ(index, reader->with_data());
  EXPECT_THAT(reader->NextZeros(), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(RecordTest, WithoutRoomItGivesUpSectorsAndThenDigests) {
  const std::vector<ObjectSum> sums = Sums(900);
  size_t before = SIZE_MAX;  // with header and base64
  bool grouped = false;
  bool blocks_only = false;
  for (size_t most = 20000; most > 500; most -= 100) {
    const auto metadata = Write(sums, most);
    if (!metadata.ok()) {
      EXPECT_THAT(metadata, StatusIs(absl::StatusCode::kResourceExhausted,
                                     HasSubstr("gaps of zeros")));
      continue;
    }
    size_t size = 0;
    for (const auto& [key, value] : *metadata) size += value.size();
    EXPECT_LE(size, before);
    before = size;
    auto reader = RecordReader::Open(*metadata);
    ASSERT_OK(reader);
    std::vector<uint64_t> digests;
    for (const ObjectSum& sum : sums) {
      const auto zeros = reader->NextZeros();
      ASSERT_OK(zeros);
      if (*zeros != sum.zeros) {
        EXPECT_EQ(*zeros, WholeBlocks(sum.zeros));
      }
      if (!sum.zeros.empty()) digests.push_back(sum.digest);
    }
    grouped = grouped || reader->group() > 1;
    blocks_only = blocks_only || !reader->sectors();
    for (size_t i = 0; reader->group() > 1 && i < digests.size();
         i += reader->group()) {
      const size_t count =
          std::min<size_t>(reader->group(), digests.size() - i);
      EXPECT_EQ(reader->DigestOf(i / reader->group()),
                DigestTogether(&digests[i], count));
    }
  }
  EXPECT_TRUE(grouped);
  EXPECT_TRUE(blocks_only);
  EXPECT_THAT(Write(sums, 100), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(RecordTest, AnImageOfZerosHasOne) {
  const auto metadata = Write(std::vector<ObjectSum>(50));
  ASSERT_OK(metadata);
  auto reader = RecordReader::Open(*metadata);
  ASSERT_OK(reader);
  EXPECT_EQ(reader->with_data(), 0U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(*reader->NextZeros(), "");
}

TEST_F(RecordTest, NoneIsNotFound) {
  EXPECT_THAT(RecordReader::Open({{"other", "x"}}),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RecordTest, ANewerVersionIsNotRead) {
  auto metadata = Write(Sums(10));
  ASSERT_OK(metadata);
  std::string& header = (*metadata)[kPointRecordKey];
  header = absl::StrReplaceAll(header, {{"\"version\":1", "\"version\":2"}});
  EXPECT_THAT(
      RecordReader::Open(*metadata),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("a newer version")));
}

TEST_F(RecordTest, DamageOfItsOwnIsNoticed) {
  const auto whole = Write(Sums(300));
  ASSERT_OK(whole);
  ASSERT_GE(whole->size(), 2U);
  const auto damaged = [&](const std::function<void(Metadata&)>& change) {
    Metadata metadata = *whole;
    change(metadata);
    return RecordReader::Open(metadata).status();
  };
  const std::string part = std::string(kPointRecordKey) + ".000";
  EXPECT_THAT(damaged([&](Metadata& all) { all.erase(part); }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("missing")));
  EXPECT_THAT(damaged([&](Metadata& all) {
                char& byte = all[part][40];
                byte = byte == 'A' ? 'B' : 'A';
              }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum")));
  EXPECT_THAT(damaged([&](Metadata& all) { all[part] = "%%%"; }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(damaged([&](Metadata& all) { all[kPointRecordKey] = "[]"; }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(damaged([&](Metadata& all) {
                all[kPointRecordKey] = absl::StrReplaceAll(
                    all[kPointRecordKey],
                    {{"\"withData\":100", "\"withData\":99"}});
              }),
              StatusIs(absl::StatusCode::kDataLoss));
}

// Whoever can write metadata on the other site must not end this daemon.
TEST_F(RecordTest, WhatDoesNotAddUpIsNotRead) {
  auto metadata = Write(Sums(300));
  ASSERT_OK(metadata);
  std::string& header = (*metadata)[kPointRecordKey];
  const std::string before = header;
  // The header says that fewer objects have data than the list has.
  nlohmann::json fields = nlohmann::json::parse(header);
  fields["group"] = 200;
  fields["withData"] = 1;
  const uint64_t digests = 8;
  std::string payload;
  ASSERT_TRUE(absl::Base64Unescape(
      metadata->at(std::string(kPointRecordKey) + ".000"), &payload));
  ASSERT_EQ(fields["parts"], 1);
  payload.resize(fields["presentBytes"].get<size_t>() +
                 fields["zerosBytes"].get<size_t>() + digests);
  fields["checksum"] =
      absl::StrFormat("%016x", XXH3_64bits(payload.data(), payload.size()));
  (*metadata)[std::string(kPointRecordKey) + ".000"] =
      absl::Base64Escape(payload);
  header = fields.dump();
  EXPECT_THAT(
      RecordReader::Open(*metadata),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("list of objects")));
  header = absl::StrReplaceAll(before, {{"\"before\"", "\"a/b\""}});
  EXPECT_THAT(RecordReader::Open(*metadata),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its name")));
}

TEST_F(RecordTest, OtherImagesThanTheseAreNotDescribed) {
  ImageLayout layout;
  layout.bytes = 10 * kObject + 1;
  layout.object_bytes = kObject;
  layout.stripe_unit = kBlockBytes;
  layout.stripe_count = 2;
  EXPECT_THAT(PointShape::Of(layout),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("multiple of its stripes")));
  layout.bytes = 10 * kObject;
  const auto striped = PointShape::Of(layout);
  ASSERT_OK(striped);
  EXPECT_EQ(striped->objects(), 10U);
  EXPECT_EQ(striped->ExtentOf(9), kObject);
  layout.stripe_count = 1;
  layout.bytes = 2 * kObject + 5;
  EXPECT_EQ(PointShape::Of(layout)->objects(), 3U);
  EXPECT_EQ(PointShape::Of(layout)->ExtentOf(2), 5U);
}

}  // namespace
}  // namespace addons::testing
