// What a socket answers to calls that it does not serve.

#include "server/unserved_methods.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "encryptionkeyrotation/encryptionkeyrotation.pb.h"
#include "fence/fence.pb.h"
#include "rbdaddons/admin.pb.h"
#include "reclaimspace/reclaimspace.pb.h"
#include "replication/replication.pb.h"
#include "rpc/method.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Those that each daemon serves, whatever its modes.
bool IsServedAlways(const std::string& service) {
  for (const char* const always :
       {"rbdaddons.admin.v1.Operations", "rbdaddons.admin.v1.Overview",
        "rbdaddons.admin.v1.Support"}) {
    if (service == always) return true;
  }
  return false;
}

std::vector<const google::protobuf::ServiceDescriptor*> Services() {
  std::vector<const google::protobuf::ServiceDescriptor*> services;
  for (const auto* file :
       {::rbdaddons::admin::v1::ListStatusRequest::descriptor()->file(),
        ::replication::PromoteVolumeRequest::descriptor()->file(),
        ::volumegroup::CreateVolumeGroupRequest::descriptor()->file(),
        ::reclaimspace::StorageConsumption::descriptor()->file(),
        ::fence::FenceClusterNetworkRequest::descriptor()->file(),
        ::encryptionkeyrotation::EncryptionKeyRotateRequest::descriptor()
            ->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      services.push_back(file->service(i));
    }
  }
  return services;
}

// "This version does not serve it" would send a person to look for another
// version.
TEST(UnservedMethodsTest, ADaemonWithoutAModeNamesTheFlagOfEachService) {
  int named = 0;
  for (const auto* service : Services()) {
    if (IsServedAlways(service->full_name())) continue;
    const std::string method =
        absl::StrCat(service->full_name(), "/", service->method(0)->name());
    ServedHere served;
    served.administrators = IsForAdministrators(method);
    EXPECT_THAT(
        WhyNotServed(method, served),
        AllOf(HasSubstr("it was started without --"), HasSubstr("start"),
              HasSubstr("; "), Not(HasSubstr("this version"))))
        << method;
    ++named;
  }
  EXPECT_GE(named, 14);
}

TEST(UnservedMethodsTest, ItIsSaidWhomToAsk) {
  ServedHere node;
  node.modes.node = true;
  node.administrators = true;
  EXPECT_EQ(WhyNotServed("rbdaddons.admin.v1.Inspection/CheckFailover", node),
            "this rbd-addonsd does not serve rbdaddons.admin.v1.Inspection: it "
            "was started without --controllerserver; ask the daemon that has "
            "that flag (in Kubernetes the Deployment's), or start this one "
            "with it");
  ServedHere controller;
  controller.modes.controller = true;
  EXPECT_THAT(
      WhyNotServed("reclaimspace.ReclaimSpaceNode/NodeReclaimSpace",
                   controller),
      AllOf(HasSubstr("--nodeserver"), HasSubstr("on the volume's node")));
}

}  // namespace
}  // namespace addons
