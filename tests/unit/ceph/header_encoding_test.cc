#include "ceph/librados/header_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "ceph/encoding.h"

namespace addons {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

std::string Bytes(absl::string_view hex) {
  std::string bytes;
  for (size_t at = 0; at + 1 < hex.size(); at += 2) {
    uint32_t byte = 0;
    EXPECT_TRUE(absl::SimpleHexAtoi(hex.substr(at, 2), &byte));
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// As Ceph 16.2.15 has written it: a snapshot of a person, a primary one, and
// one that was copied.
const std::string& Taken() {
  static const auto* const bytes = new std::string(
      Bytes("080836000000040000000000000002000000757300008000000000000000000000"
            "00000000010104000000000000003dad076bed3032180000000000"));
  return *bytes;
}
const std::string& Primary() {
  static const auto* const bytes = new std::string(
      Bytes("0808d30000000500000000000000590000002e6d6972726f722e7072696d617279"
            "2e65653165626336312d656666612d346635362d393762642d3137396563396336"
            "663464362e39356562646238372d393831302d346236662d616565342d62323538"
            "3565363333626334000080000000000000000000000000000001014a0000000300"
            "00000001010000002400000035396564356230322d376666622d346363322d6137"
            "61392d37616235613430643066623200000000feffffffffffffff000000000000"
            "0000000000003bad076beb380a0f0000000000"));
  return *bytes;
}
const std::string& Copied() {
  static const auto* const bytes = new std::string(
      Bytes("0808f300000005000000000000005d0000002e6d6972726f722e6e6f6e5f707269"
            "6d6172792e65653165626336312d656666612d346635362d393762642d31373965"
            "63396336663464362e35303863386432312d643239312d346130642d383735642d"
            "646139326566386336323632000080000000000000000000000000000001016600"
            "0000030000000201000000002400000035326564616639632d373662642d343434"
            "382d623033352d3933623633356363613432300500000000000000020000000000"
            "000002000000040000000000000004000000000000000500000000000000feffff"
            "ffffffffff3dad076bdb0bc01c0000000000"));
  return *bytes;
}

OmapValues HeaderOfCopy() {
  return {{"size", Bytes("0000800000000000")},
          {"order", Bytes("16")},
          {"features", Bytes("3d04000000000000")},
          {"create_timestamp", Bytes("3dad076b11fc1814")},
          {"modify_timestamp", Bytes("3dad076b11fc1814")},
          {"object_prefix", Bytes("0100000078")},
          {"snap_seq", Bytes("0500000000000000")},
          {"metadata_k1", "v1"},
          {"snapshot_0000000000000004", Taken()},
          {"snapshot_0000000000000005", Copied()}};
}

TEST(HeaderEncodingTest, AHeaderTellsWhatAnOpenImageDoes) {
  const auto header = DecodeImageHeader(HeaderOfCopy());
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->size.bytes, uint64_t{8} << 20);
  EXPECT_EQ(header->size.object_bytes, uint64_t{4} << 20);
  EXPECT_EQ(header->size.objects, 2U);
  EXPECT_EQ(header->created, (Timestamp{1795665213, 337181713}));
  EXPECT_TRUE(header->marked_non_primary);
  EXPECT_FALSE(header->has_parent);
  EXPECT_THAT(header->metadata, ElementsAre(Pair("k1", "v1")));

  ASSERT_THAT(header->other_snapshots, SizeIs(1));
  EXPECT_EQ(header->other_snapshots[0].id, 4U);
  EXPECT_EQ(header->other_snapshots[0].name, "us");
  EXPECT_EQ(header->other_snapshots[0].kind, SnapshotKind::kUser);

  ASSERT_THAT(header->mirror_snapshots, SizeIs(1));
  const MirrorSnapshot& copy = header->mirror_snapshots[0];
  EXPECT_EQ(copy.id, 5U);
  EXPECT_EQ(copy.kind, MirrorSnapshotKind::kNonPrimary);
  EXPECT_TRUE(copy.complete);
  EXPECT_EQ(copy.primary_mirror_uuid, "52edaf9c-76bd-4448-b035-93b635cca420");
  EXPECT_EQ(copy.primary_snapshot_id, 5U);
  EXPECT_EQ(copy.last_copied_object, 2U);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(copy.created), 1795665213);
}

TEST(HeaderEncodingTest, FeaturesAndFlagsTellWhatAnImageHas) {
  OmapValues entries = HeaderOfCopy();
  EXPECT_TRUE(DecodeImageHeader(entries)->features.exclusive_lock);
  EXPECT_TRUE(DecodeImageHeader(entries)->features.fast_diff);
  EXPECT_FALSE(DecodeImageHeader(entries)->features.migrating);
  entries["flags"] = Bytes("0000000000000000");
  EXPECT_TRUE(DecodeImageHeader(entries)->features.fast_diff);
  // The object map, or its fast-diff, is not valid; what is not understood.
  for (const char* flags : {"0100000000000000", "0200000000000000", "00"}) {
    entries["flags"] = Bytes(flags);
    EXPECT_FALSE(DecodeImageHeader(entries)->features.fast_diff) << flags;
  }
  entries["features"] = Bytes("0102000000000000");
  const auto header = DecodeImageHeader(entries);
  EXPECT_FALSE(header->features.exclusive_lock);
  EXPECT_FALSE(header->features.fast_diff);
  EXPECT_TRUE(header->features.migrating);
}

TEST(HeaderEncodingTest, ADataPoolOfItsOwnIsTold) {
  OmapValues entries = HeaderOfCopy();
  EXPECT_EQ(DecodeImageHeader(entries)->data_pool_id, -1);
  entries["data_pool_id"] = Bytes("0900000000000000");
  EXPECT_EQ(DecodeImageHeader(entries)->data_pool_id, 9);
  entries["data_pool_id"] = Bytes("09");
  EXPECT_FALSE(DecodeImageHeader(entries).has_value());
}

TEST(HeaderEncodingTest, AnRbdGroupIsTold) {
  OmapValues entries = HeaderOfCopy();
  EXPECT_FALSE(DecodeImageHeader(entries)->group.has_value());
  const std::string group = Bytes("01010f000000020000000000000003000000616263");
  entries["rbd_group_ref"] = group;
  ASSERT_TRUE(DecodeImageHeader(entries)->group.has_value());
  EXPECT_EQ(DecodeImageHeader(entries)->group->pool_id, 2);
  EXPECT_EQ(DecodeImageHeader(entries)->group->id, "abc");
  for (size_t size = 0; size < group.size(); ++size) {
    entries["rbd_group_ref"] = group.substr(0, size);
    EXPECT_FALSE(DecodeImageHeader(entries).has_value()) << size;
  }
}

TEST(HeaderEncodingTest, APrimarySnapshotNamesWhoHasNotCopiedIt) {
  OmapValues entries = HeaderOfCopy();
  entries["features"] = Bytes("3d00000000000000");
  entries["snapshot_0000000000000005"] = Primary();
  const auto header = DecodeImageHeader(entries);
  ASSERT_TRUE(header.has_value());
  EXPECT_FALSE(header->marked_non_primary);
  ASSERT_THAT(header->mirror_snapshots, SizeIs(1));
  EXPECT_EQ(header->mirror_snapshots[0].kind, MirrorSnapshotKind::kPrimary);
  EXPECT_THAT(header->mirror_snapshots[0].unsynced_peer_uuids,
              ElementsAre("59ed5b02-7ffb-4cc2-a7a9-7ab5a40d0fb2"));
  EXPECT_EQ(header->mirror_snapshots[0].primary_snapshot_id, 0U);
}

TEST(HeaderEncodingTest, OnlyTheKindOfACopyIsChanged) {
  const auto demotion =
      EncodeCopyOfKind(Copied(), MirrorSnapshotKind::kNonPrimaryDemoted);
  ASSERT_TRUE(demotion.has_value());
  OmapValues entries = HeaderOfCopy();
  entries["snapshot_0000000000000005"] = *demotion;
  EXPECT_EQ(DecodeImageHeader(entries)->mirror_snapshots.at(0).kind,
            MirrorSnapshotKind::kNonPrimaryDemoted);
  size_t differences = 0;
  for (size_t i = 0; i < demotion->size(); ++i) {
    differences += demotion->at(i) != Copied()[i] ? 1 : 0;
  }
  EXPECT_EQ(differences, 1U);
  EXPECT_EQ(EncodeCopyOfKind(*demotion, MirrorSnapshotKind::kNonPrimary),
            Copied());

  constexpr auto kOrdinary = MirrorSnapshotKind::kNonPrimary;
  EXPECT_EQ(EncodeCopyOfKind(Taken(), kOrdinary), std::nullopt);
  EXPECT_EQ(EncodeCopyOfKind(Primary(), kOrdinary), std::nullopt);
  EXPECT_EQ(EncodeCopyOfKind("", kOrdinary), std::nullopt);
  std::string newer = Copied();
  newer[0] = '\x09';
  EXPECT_EQ(EncodeCopyOfKind(newer, kOrdinary), std::nullopt);
  for (size_t length = 0; length + 24 < Copied().size(); ++length) {
    EXPECT_EQ(EncodeCopyOfKind(Copied().substr(0, length), kOrdinary),
              std::nullopt)
        << length;
  }
}

TEST(HeaderEncodingTest, WhatOnlyLibrbdUnderstandsIsNotGuessed) {
  for (const char* missing :
       {"size", "order", "features", "create_timestamp"}) {
    OmapValues entries = HeaderOfCopy();
    entries.erase(missing);
    EXPECT_FALSE(DecodeImageHeader(entries).has_value()) << missing;
    entries[missing] = "";
    EXPECT_FALSE(DecodeImageHeader(entries).has_value()) << missing;
  }
  OmapValues striped = HeaderOfCopy();
  striped["stripe_count"] = Bytes("0200000000000000");
  EXPECT_FALSE(DecodeImageHeader(striped).has_value());

  OmapValues clone = HeaderOfCopy();
  clone["parent"] = "whatever";
  EXPECT_TRUE(DecodeImageHeader(clone)->has_parent);

  // Before Nautilus, and by who knows what comes.
  for (const char version : {'\x06', '\x09'}) {
    OmapValues entries = HeaderOfCopy();
    std::string snapshot = Copied();
    snapshot[0] = version;
    entries["snapshot_0000000000000005"] = snapshot;
    EXPECT_FALSE(DecodeImageHeader(entries).has_value()) << int{version};
  }
  OmapValues entries = HeaderOfCopy();
  std::string snapshot = Copied();
  snapshot[1] = '\x01';  // with fields for readers from before Nautilus
  entries["snapshot_0000000000000005"] = snapshot;
  EXPECT_FALSE(DecodeImageHeader(entries).has_value());
  snapshot = Copied();
  const size_t name_space = snapshot.find(std::string("\x01\x01\x66\0", 4));
  ASSERT_NE(name_space, std::string::npos);
  snapshot[name_space] = '\x02';
  entries["snapshot_0000000000000005"] = snapshot;
  EXPECT_FALSE(DecodeImageHeader(entries).has_value());
}

TEST(HeaderEncodingTest, ASnapshotThatEndsTooEarlyIsNotUnderstood) {
  for (size_t size = 0; size < Copied().size(); ++size) {
    OmapValues entries = HeaderOfCopy();
    entries["snapshot_0000000000000005"] = Copied().substr(0, size);
    EXPECT_FALSE(DecodeImageHeader(entries).has_value()) << size;
  }
}

TEST(HeaderEncodingTest, ARecordTellsStateAndMode) {
  const std::string bytes = Bytes(
      "02012a0000002400000065653165626336312d656666612d346635362d393762642d3137"
      "396563396336663464360101");
  const auto info = DecodeMirrorRecord(bytes);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->global_id, "ee1ebc61-effa-4f56-97bd-179ec9c6f4d6");
  EXPECT_EQ(info->state, MirrorImageState::kEnabled);
  EXPECT_EQ(info->mode, MirrorMode::kSnapshot);
  std::string newer = bytes;
  newer[0] = '\x03';
  EXPECT_FALSE(DecodeMirrorRecord(newer).has_value());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeMirrorRecord(bytes.substr(0, size)).has_value()) << size;
  }
}

// A local status of "local image is primary", and one of a peer.
const std::string& Statuses() {
  static const auto* const bytes = new std::string(Bytes(
      "02017300000006160000006c6f63616c20696d616765206973207072696d6172795dad07"
      "6b3ef0c9010101010000002400000066613935353535352d623137392d343333362d3862"
      "37622d31383339376234333866386404140000007265706c6179696e672c207b2261223a"
      "312e307d56ad076b7427553501"));
  return *bytes;
}

TEST(HeaderEncodingTest, StatusesOfBothSites) {
  const auto sites = DecodeSiteStatuses(Statuses());
  ASSERT_TRUE(sites.has_value());
  ASSERT_THAT(*sites, SizeIs(2));
  EXPECT_TRUE((*sites)[0].local());
  EXPECT_TRUE((*sites)[0].up);
  EXPECT_EQ((*sites)[0].state, MirrorStatusState::kStopped);
  EXPECT_EQ((*sites)[0].description, "local image is primary");
  EXPECT_EQ((*sites)[0].last_update, 1795665245);
  EXPECT_EQ((*sites)[1].mirror_uuid, "fa955555-b179-4336-8b7b-18397b438f8d");
  EXPECT_EQ((*sites)[1].state, MirrorStatusState::kReplaying);
  EXPECT_TRUE((*sites)[1].up);
  for (size_t size = 0; size < Statuses().size(); ++size) {
    EXPECT_FALSE(DecodeSiteStatuses(Statuses().substr(0, size)).has_value())
        << size;
  }
}

TEST(HeaderEncodingTest, AStatusThatNobodyWroteIsNone) {
  std::string bytes = Statuses();
  const size_t time = bytes.find("primary") + 7;
  bytes.replace(time, 4, std::string(4, '\0'));
  EXPECT_THAT(DecodeSiteStatuses(bytes).value(), SizeIs(1));
  bytes = Statuses();
  bytes[time + 9] = '\0';  // the local one is not valid
  EXPECT_THAT(DecodeSiteStatuses(bytes).value(), SizeIs(1));
}

TEST(HeaderEncodingTest, ATextHasItsLengthBeforeIt) {
  EXPECT_EQ(EncodeText("abc"), std::string("\x03\0\0\0abc", 7));
  EXPECT_EQ(EncodeText(""), std::string(4, '\0'));
}

}  // namespace
}  // namespace addons
