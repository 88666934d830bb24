#include "rpc/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "encryptionkeyrotation/encryptionkeyrotation.pb.h"
#include "fence/fence.pb.h"
#include "reclaimspace/reclaimspace.pb.h"
#include "replication/replication.pb.h"
#include "tests/testing/status_matchers.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

using ::addons::testing::IsOk;
using ::addons::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

replication::PromoteVolumeRequest ForVolume(const std::string& id) {
  replication::PromoteVolumeRequest request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id(id);
  return request;
}

TEST(ValidateRequestTest, AcceptsAnEmptyRequest) {
  EXPECT_OK(ValidateRequest(replication::PromoteVolumeRequest()));
}

TEST(ValidateRequestTest, AcceptsAnIdOfTheGreatestLength) {
  EXPECT_OK(ValidateRequest(ForVolume(std::string(128, 'v'))));
}

TEST(ValidateRequestTest, NamesTheFieldOfALongerOne) {
  EXPECT_THAT(
      ValidateRequest(ForVolume(std::string(129, 'v'))),
      StatusIs(kInvalid, HasSubstr("replication_source.volume.volume_id: is "
                                   "129 bytes long; at most 128")));
}

TEST(ValidateRequestTest, ChecksTheFieldOfOldSidecarsToo) {
  replication::PromoteVolumeRequest request;
  const auto* field = request.GetDescriptor()->FindFieldByName("volume_id");
  request.GetReflection()->SetString(&request, field, std::string(129, 'v'));
  EXPECT_THAT(ValidateRequest(request),
              StatusIs(kInvalid, HasSubstr("volume_id")));
}

TEST(ValidateRequestTest, RefusesControlCharactersInAnId) {
  EXPECT_THAT(ValidateRequest(ForVolume("a\x1B")),
              StatusIs(kInvalid, HasSubstr("control character")));
}

TEST(ValidateRequestTest, RefusesTabsAndLineEndsInNames) {
  for (const char* text : {"a\tb", "a\nb", "a\r"}) {
    EXPECT_THAT(ValidateRequest(ForVolume(text)),
                StatusIs(kInvalid, HasSubstr("control character")));
    volumegroup::CreateVolumeGroupRequest request;
    request.set_name(text);
    EXPECT_THAT(ValidateRequest(request),
                StatusIs(kInvalid, HasSubstr("name")));
    volumegroup::CreateVolumeGroupRequest with_parameter;
    (*with_parameter.mutable_parameters())[text] = "b";
    EXPECT_THAT(ValidateRequest(with_parameter), StatusIs(kInvalid));
  }
}

TEST(ValidateRequestTest, RefusesNulInAnId) {
  EXPECT_THAT(ValidateRequest(ForVolume(std::string("a\0b", 3))),
              StatusIs(kInvalid, HasSubstr("control character")));
}

TEST(ValidateRequestTest, AcceptsOtherAlphabetsInAName) {
  volumegroup::CreateVolumeGroupRequest request;
  request.set_name(
      "gr\xC3\xBC\xC3\x9F"
      "e");
  EXPECT_OK(ValidateRequest(request));
}

TEST(ValidateRequestTest, NamesTheElementOfAList) {
  volumegroup::CreateVolumeGroupRequest request;
  request.add_volume_ids("good");
  request.add_volume_ids(std::string(200, 'v'));
  EXPECT_THAT(ValidateRequest(request),
              StatusIs(kInvalid, HasSubstr("volume_ids[1]: is 200 bytes")));
}

TEST(ValidateRequestTest, GoesIntoListsOfMessages) {
  fence::FenceClusterNetworkRequest request;
  request.add_cidrs()->set_cidr("10.0.0.0/8");
  request.add_cidrs()->set_cidr(std::string(129, '1'));
  EXPECT_THAT(ValidateRequest(request),
              StatusIs(kInvalid, HasSubstr("cidrs[1].cidr")));
}

TEST(ValidateRequestTest, AcceptsPathsUpToPathMax) {
  reclaimspace::NodeReclaimSpaceRequest request;
  request.set_staging_target_path("/" + std::string(4095, 'p'));
  EXPECT_OK(ValidateRequest(request));
}

TEST(ValidateRequestTest, RefusesLongerPaths) {
  reclaimspace::NodeReclaimSpaceRequest request;
  request.set_staging_target_path("/" + std::string(4096, 'p'));
  EXPECT_THAT(ValidateRequest(request),
              StatusIs(kInvalid, HasSubstr("staging_target_path")));
}

TEST(ValidateRequestTest, RefusesNulInAPath) {
  reclaimspace::NodeReclaimSpaceRequest request;
  request.set_volume_path(std::string("/a\0b", 4));
  EXPECT_THAT(ValidateRequest(request), StatusIs(kInvalid, HasSubstr("NUL")));
}

TEST(ValidateRequestTest, AcceptsAWholeKubernetesSecret) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_secrets())["a"] = std::string((1U << 20U) - 1, 's');
  EXPECT_OK(ValidateRequest(request));
}

TEST(ValidateRequestTest, RefusesAMapOfMoreThanAMebibyte) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_secrets())["a"] = std::string(1U << 19U, 's');
  (*request.mutable_secrets())["b"] = std::string(1U << 19U, 's');
  EXPECT_THAT(ValidateRequest(request),
              StatusIs(kInvalid, HasSubstr("secrets: is 1048578 bytes")));
}

TEST(ValidateRequestTest, RefusesControlCharactersInAKey) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_parameters())["a\x01"] = "b";
  EXPECT_THAT(ValidateRequest(request),
              StatusIs(kInvalid, HasSubstr("a key of parameters")));
}

TEST(ValidateRequestTest, LeavesMapValuesAlone) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_parameters())["a"] = "b\x01";
  EXPECT_OK(ValidateRequest(request));
}

TEST(ValidateRequestTest, LeavesSecretStringsAlone) {
  encryptionkeyrotation::EncryptionKeyRotateRequest request;
  request.set_encryption_key(std::string(1000, '\x01'));
  EXPECT_OK(ValidateRequest(request));
}

TEST(ValidateRequestTest, NeverShowsTheValue) {
  const absl::Status status = ValidateRequest(ForVolume("hush\x01"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
  EXPECT_THAT(status, Not(IsOk()));
}

TEST(RequireTest, NamesTheMissingField) {
  EXPECT_THAT(Require("volume_id", ""),
              StatusIs(kInvalid, "volume_id: is missing"));
  EXPECT_OK(Require("volume_id", "v"));
}

TEST(RequireAbsoluteTest, AcceptsAnAbsoluteOrEmptyPath) {
  EXPECT_OK(RequireAbsolute("volume_path", "/a"));
  EXPECT_OK(RequireAbsolute("volume_path", ""));
}

TEST(RequireAbsoluteTest, RefusesARelativePath) {
  EXPECT_THAT(RequireAbsolute("volume_path", "a/b"),
              StatusIs(kInvalid, HasSubstr("volume_path")));
}

}  // namespace
}  // namespace addons
