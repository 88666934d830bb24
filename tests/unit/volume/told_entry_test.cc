// What an image tells of its volume's entry in the journal.

#include "volume/told_entry.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace addons::testing {
namespace {

using Source = ToldEntry::Source;

constexpr char kTold[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kAnother[] = "b891b493-7754-470d-b2a0-4ca18f698b29";

VolumeAttributes Entry() {
  VolumeAttributes entry;
  entry.request_name = "pvc-1";
  entry.image_name = ImageName("csi-vol-5ef79ce1-81e8-439b-8405-35138edf5b89");
  entry.owner = "ns1";
  return entry;
}

class ToldEntryTest : public ::testing::Test {
 protected:
  /// What is told when `entry` has been noted.
  ToldEntry Noted(const VolumeAttributes& entry) {
    const std::string note = VolumeNoteDue(entry, kTold, metadata_);
    if (!note.empty()) metadata_[kVolumeNoteKey] = note;
    EXPECT_EQ(VolumeNoteDue(entry, kTold, metadata_), "");
    return ReadToldEntry(metadata_, kTold);
  }

  std::map<std::string, std::string> metadata_;
};

TEST_F(ToldEntryTest, ANoteTellsAllOfIt) {
  VolumeAttributes entry = Entry();
  entry.kms_id = "kms-md";
  entry.encryption_type = "file";
  const ToldEntry told = Noted(entry);
  EXPECT_EQ(told.source, Source::kNote);
  EXPECT_EQ(told.request_name, "pvc-1");
  EXPECT_EQ(told.owner, "ns1");
  EXPECT_EQ(told.kms_id, "kms-md");
  EXPECT_EQ(told.encryption_type, "file");
  EXPECT_TRUE(told.encrypted);
}

TEST_F(ToldEntryTest, WhatCephCsiTellsNeedsNoNote) {
  metadata_ = {{"csi.storage.k8s.io/pv/name", "pvc-1"},
               {"csi.storage.k8s.io/pvc/name", "data"},
               {"csi.storage.k8s.io/pvc/namespace", "ns1"}};
  const ToldEntry told = Noted(Entry());
  EXPECT_FALSE(metadata_.contains(kVolumeNoteKey));
  EXPECT_EQ(told.source, Source::kCephCsi);
  EXPECT_EQ(told.request_name, "pvc-1");
  EXPECT_EQ(told.owner, "ns1");
  EXPECT_FALSE(told.encrypted);
}

TEST_F(ToldEntryTest, WhatHasChangedIsNotedAnew) {
  metadata_ = {{"csi.storage.k8s.io/pv/name", "pvc-1"},
               {"csi.storage.k8s.io/pvc/namespace", "ns1"}};
  VolumeAttributes entry = Entry();
  entry.owner = "ns2";
  EXPECT_EQ(Noted(entry).owner, "ns2");
  entry.request_name = "pvc-2";
  EXPECT_EQ(Noted(entry).request_name, "pvc-2");
}

TEST_F(ToldEntryTest, CephCsiNeverTellsTheKms) {
  metadata_ = {{"csi.storage.k8s.io/pv/name", "pvc-1"},
               {"csi.storage.k8s.io/pvc/namespace", "ns1"},
               {"rbd.csi.ceph.com/encrypted", "encrypted"}};
  EXPECT_TRUE(ReadToldEntry(metadata_, kTold).encrypted);
  EXPECT_EQ(ReadToldEntry(metadata_, kTold).kms_id, "");
  VolumeAttributes entry = Entry();
  entry.kms_id = "kms-md";
  entry.encryption_type = "block";
  EXPECT_EQ(Noted(entry).kms_id, "kms-md");
}

// Clones inherit metadata.
TEST_F(ToldEntryTest, ANoteForAnotherVolumeSaysNothing) {
  Noted(Entry());
  EXPECT_EQ(ReadToldEntry(metadata_, kAnother).source, Source::kNothing);
  EXPECT_NE(VolumeNoteDue(Entry(), kAnother, metadata_), "");
}

TEST_F(ToldEntryTest, WhatIsNotUnderstoodSaysNothing) {
  for (const std::string text :
       {"", "pvc-1", "[]", "{}", R"({"uuid": 7, "name": "pvc-1"})",
        R"({"uuid": "5ef79ce1-81e8-439b-8405-35138edf5b89"})",
        R"({"uuid": "5ef79ce1-81e8-439b-8405-35138edf5b89", "name": ""})",
        R"({"uuid": "5ef79ce1-81e8-439b-8405-35138edf5b89", "name": "a\nb"})",
        R"({"uuid": "5ef79ce1-81e8-439b-8405-35138edf5b89", "name": "a",)"
        R"( "owner": {}})"}) {
    metadata_[kVolumeNoteKey] = text;
    EXPECT_EQ(ReadToldEntry(metadata_, kTold).source, Source::kNothing) << text;
  }
  metadata_ = {{"csi.storage.k8s.io/pv/name", std::string(2000, 'x')}};
  EXPECT_EQ(ReadToldEntry(metadata_, kTold).source, Source::kNothing);
}

TEST_F(ToldEntryTest, WhatANewerVersionAddsIsLeftAside) {
  metadata_[kVolumeNoteKey] =
      R"({"uuid": "5ef79ce1-81e8-439b-8405-35138edf5b89", "name": "pvc-1",)"
      R"( "owner": "ns1", "more": {"x": 1}})";
  EXPECT_EQ(ReadToldEntry(metadata_, kTold).request_name, "pvc-1");
  EXPECT_EQ(VolumeNoteDue(Entry(), kTold, metadata_), "");
}

TEST_F(ToldEntryTest, AGeneratedNameIsNotTold) {
  VolumeAttributes entry = Entry();
  entry.request_name = entry.image_name.text();
  EXPECT_EQ(VolumeNoteDue(entry, kTold, metadata_), "");
  entry.request_name = "";
  EXPECT_EQ(VolumeNoteDue(entry, kTold, metadata_), "");
}

}  // namespace
}  // namespace addons::testing
