#include "node/luks_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/testing/luks_image.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOld[] = "the old one";
constexpr char kNew[] = "the new one";

struct NamedFormat {
  std::string name;
  LuksFormat format;
};

/// All that ceph-csi or a person may have formatted.
std::vector<NamedFormat> Formats() {
  return {{"Luks2", {}},
          {"Luks1", {.type = "LUKS1"}},
          {"ShortKey", {.key_bytes = 32}},
          {"LargeSectors", {.sector_bytes = 4096}},
          {"Argon2id", {.derivation = "argon2id"}},
          {"Argon2i", {.derivation = "argon2i"}},
          {"Cbc", {.key_bytes = 32, .mode = "cbc-essiv:sha256"}},
          {"Luks1Cbc",
           {.type = "LUKS1", .key_bytes = 16, .mode = "cbc-essiv:sha256"}}};
}

class LuksHeaderTest : public ::testing::TestWithParam<NamedFormat> {
 protected:
  const TempDir dir_;
  const LuksImage image_{dir_.File("image"), kOld, GetParam().format};
};

TEST_P(LuksHeaderTest, AKeyIsAddedAndAnotherOneRemoved) {
  const std::string volume_key = image_.VolumeKey(kOld);
  auto header = OpenLuksHeader(image_.path());
  ASSERT_OK(header);
  EXPECT_EQ((*header)->Format(), GetParam().format.type);
  EXPECT_THAT((*header)->UsedSlots(), ElementsAre(0));
  const auto slot = (*header)->Unlock(Secret(kOld));
  ASSERT_OK(slot);
  EXPECT_EQ(*slot, 0);
  ASSERT_OK((*header)->AddKey(1, Secret(kNew)));
  EXPECT_EQ(image_.SlotOf(kNew), 1);
  EXPECT_EQ(image_.SlotOf(kOld), 0);
  // Nobody measures how long it takes on this machine at this moment.
  EXPECT_EQ(image_.DerivationOf(1), image_.DerivationOf(0));
  ASSERT_OK((*header)->RemoveKey(0));
  ASSERT_OK((*header)->RemoveKey(0));
  EXPECT_EQ(image_.SlotOf(kOld), -1);
  EXPECT_THAT(image_.Slots(), ElementsAre(1));
  EXPECT_EQ(image_.VolumeKey(kNew), volume_key);
}

INSTANTIATE_TEST_SUITE_P(, LuksHeaderTest, ::testing::ValuesIn(Formats()),
                         [](const auto& format) { return format.param.name; });

TEST(LuksIntegrityTest, AVolumeWithIntegrityIsAsGoodAsAnyOther) {
  const TempDir dir;
  const LuksImage image(dir.File("image"), kOld,
                        {.key_bytes = 32, .mode = "cbc-essiv:sha256"});
  image.AddIntegrity();
  auto header = OpenLuksHeader(image.path());
  ASSERT_OK(header);
  const auto slot = (*header)->Unlock(Secret(kOld));
  ASSERT_OK(slot);
  EXPECT_EQ(*slot, 0);
  ASSERT_OK((*header)->AddKey(1, Secret(kNew)));
  ASSERT_OK((*header)->RemoveKey(0));
  EXPECT_EQ(image.SlotOf(kNew), 1);
  EXPECT_EQ(image.SlotOf(kOld), -1);
}

class LuksSlotsTest : public ::testing::Test {
 protected:
  std::unique_ptr<LuksHeader> Open() const {
    auto header = OpenLuksHeader(image_.path());
    EXPECT_OK(header);
    return header.ok() ? *std::move(header) : nullptr;
  }
  const TempDir dir_;
  const LuksImage image_{dir_.File("image"), kOld};
};

TEST_F(LuksSlotsTest, AWrongPassphraseOpensNothing) {
  const auto header = Open();
  const auto slot = header->Unlock(Secret(kNew));
  ASSERT_OK(slot);
  EXPECT_EQ(*slot, std::nullopt);
  EXPECT_THAT(header->AddKey(1, Secret(kNew)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("was not unlocked")));
}

TEST_F(LuksSlotsTest, OneSlotIsTriedAlone) {
  image_.AddKey(1, kOld, kNew);
  const auto header = Open();
  const auto opens = [&](int slot, const char* passphrase) {
    const auto result = header->Opens(slot, Secret(passphrase));
    EXPECT_OK(result);
    return result.value_or(false);
  };
  EXPECT_TRUE(opens(0, kOld));
  EXPECT_FALSE(opens(1, kOld));
  EXPECT_TRUE(opens(1, kNew));
  EXPECT_FALSE(opens(2, kNew));
}

// The slot that was unlocked may be gone by then.
TEST_F(LuksSlotsTest, AKeyIsAddedAfterItsOwnSlotWasRemoved) {
  image_.AddKey(5, kOld, kNew);
  image_.RemoveKey(0);
  const auto header = Open();
  const auto slot = header->Unlock(Secret(kNew));
  ASSERT_OK(slot);
  EXPECT_EQ(*slot, 5);
  ASSERT_OK(header->AddKey(0, Secret(kNew)));
  ASSERT_OK(header->RemoveKey(5));
  ASSERT_OK(header->AddKey(1, Secret(kOld)));
  EXPECT_EQ(image_.SlotOf(kOld), 1);
}

TEST_F(LuksSlotsTest, ASlotInUseIsNotOverwritten) {
  image_.AddKey(1, kOld, "somebody's");
  const auto header = Open();
  ASSERT_OK(header->Unlock(Secret(kOld)));
  EXPECT_THAT(header->AddKey(1, Secret(kNew)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("key slot 1")));
  EXPECT_EQ(image_.SlotOf("somebody's"), 1);
}

TEST_F(LuksSlotsTest, WhatHasNoHeaderIsNamed) {
  dir_.Write("plain", std::string(1 << 20, 'x'));
  EXPECT_THAT(OpenLuksHeader(dir_.File("plain")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("plain has no LUKS header")));
  EXPECT_FALSE(OpenLuksHeader(dir_.File("absent")).ok());
}

}  // namespace
}  // namespace addons::testing
