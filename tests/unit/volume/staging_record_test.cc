#include "volume/staging_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

constexpr char kFile[] = "image-meta.json";

TEST(StagingRecordTest, ReadsWhatCephCsiWrites) {
  const TempDir dir;
  dir.Write(kFile,
            R"({"Version":3,"pool":"replicapool","radosNamespace":"tenant1",)"
            R"("image":"csi-vol-x","unmapOptions":"","accessType":false,)"
            R"("encrypted":false,"device":"/dev/rbd0","logDir":"",)"
            R"("logFileStrategy":""})");
  const auto record = ReadStagingRecord(dir.path());
  ASSERT_OK(record);
  EXPECT_EQ(record->pool, "replicapool");
  EXPECT_EQ(record->rados_namespace, "tenant1");
  EXPECT_EQ(record->image.text(), "csi-vol-x");
}

TEST(StagingRecordTest, ReadsOldRecordsWithoutNamespace) {
  const TempDir dir;
  dir.Write(kFile,
            R"({"Version":1,"pool":"p","image":"i","accessType":false})");
  const auto record = ReadStagingRecord(dir.path());
  ASSERT_OK(record);
  EXPECT_EQ(record->rados_namespace, "");
}

TEST(StagingRecordTest, RefusesWhatIsNoRecord) {
  const TempDir dir;
  for (const char* text :
       {"", "[]", "{", "null", "{}", R"({"pool":"p"})", R"({"image":"i"})",
        R"({"pool":1,"image":"i"})", R"({"pool":"","image":""})"}) {
    dir.Write(kFile, text);
    EXPECT_THAT(ReadStagingRecord(dir.path()),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(StagingRecordTest, TakesNothingButARegularFile) {
  const TempDir dir;
  EXPECT_THAT(ReadStagingRecord(dir.path()),
              StatusIs(absl::StatusCode::kNotFound));
  dir.Write("other", R"({"pool":"p","image":"i"})");
  std::filesystem::create_symlink("other", dir.File(kFile));
  EXPECT_THAT(ReadStagingRecord(dir.path()),
              StatusIs(absl::StatusCode::kNotFound));
  std::filesystem::remove(dir.File(kFile));
  ASSERT_EQ(mkfifo(dir.File(kFile).c_str(), 0600), 0);
  EXPECT_THAT(ReadStagingRecord(dir.path()),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace addons::testing
