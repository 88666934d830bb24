#include "server/unserved_methods.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "rpc/method.h"

namespace addons {
namespace {

/// Which modes serve a service, beside those that every program serves.
struct ServingModes {
  const char* service = nullptr;
  bool controller = false;
  bool node = false;
  const char* flag = nullptr;  // that is needed beside the mode
};
constexpr ServingModes kServingModes[] = {
    {"replication.Controller", true, false},
    {"volumegroup.Controller", true, false},
    {"reclaimspace.ReclaimSpaceController", true, false},
    {"reclaimspace.ReclaimSpaceNode", false, true},
    {"encryptionkeyrotation.EncryptionKeyRotationController", false, true,
     "--key-rotation"},
    {"fence.FenceController", true, true},
    {"rbdaddons.admin.v1.Audit", true, false},
    {"rbdaddons.admin.v1.Inspection", true, false},
    {"rbdaddons.admin.v1.History", true, false},
    {"rbdaddons.admin.v1.Doctor", true, false},
    {"rbdaddons.admin.v1.Rescues", true, false},
    {"rbdaddons.admin.v1.Adoption", true, false},
    {"rbdaddons.admin.v1.Copying", true, false},
    {"rbdaddons.admin.v1.Points", true, false},
    {"rbdaddons.admin.v1.TestFailovers", true, false},
};

/// Where a mode of the service is not served.
const char* WhatToDo(const ServingModes& serving) {
  if (serving.controller && serving.node) return "start it with one of them";
  return serving.controller
             ? "ask the daemon that has that flag (in Kubernetes the "
               "Deployment's), or start this one with it"
             : "ask the daemon on the volume's node (in Kubernetes the "
               "DaemonSet's), or start this one with it";
}

/// Ends its call at once, and itself with it.
class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(grpc::Status status) { Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

class UnservedMethods final : public grpc::CallbackGenericService {
 public:
  explicit UnservedMethods(ServedHere served) : served_(std::move(served)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::string method(absl::StripPrefix(context->method(), "/"));
    const std::string why = WhyNotServed(method, served_);
    Log().info("call of a method that is not served method={} message={}",
               Quoted(method), Quoted(why));
    return new Refusal({grpc::StatusCode::UNIMPLEMENTED, why});
  }

 private:
  const ServedHere served_;
};

/// Where a service is served that this socket does not have.
std::string OnTheOtherSocket(const std::string& service,
                             const ServedHere& served) {
  const std::string text =
      served.administrators
          ? absl::StrCat("this socket is for administrators; ", service)
          : absl::StrCat(service, " is for administrators and");
  if (served.other_socket.empty()) {
    return absl::StrCat(text, " is served nowhere");
  }
  return absl::StrCat(
      text, " is served on a socket of its own: unix://", served.other_socket,
      served.administrators ? " (--endpoint of rbd-addons)"
                            : " (--admin-endpoint of rbd-addons)");
}

}  // namespace

std::string WhyNotServed(const std::string& method, const ServedHere& served) {
  const std::string service = method.substr(0, method.rfind('/'));
  const auto* known =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          service);
  if (known == nullptr) {
    return "this program (rbd-addonsd) has no such service";
  }
  if (IsForAdministrators(method) != served.administrators) {
    return OnTheOtherSocket(service, served);
  }
  const Modes& modes = served.modes;
  for (const ServingModes& serving : kServingModes) {
    if (service != serving.service) continue;
    if ((serving.controller && modes.controller) ||
        (serving.node && modes.node)) {
      if (serving.flag == nullptr) break;
      return absl::StrCat("this rbd-addonsd does not serve ", service,
                          ": it was started without ", serving.flag,
                          "; start it with that flag");
    }
    return absl::StrCat("this rbd-addonsd does not serve ", service,
                        ": it was started without ",
                        serving.controller ? "--controllerserver" : "",
                        serving.controller && serving.node ? " and " : "",
                        serving.node ? "--nodeserver" : "", "; ",
                        WhatToDo(serving));
  }
  return absl::StrCat("this version of rbd-addonsd does not serve ", method);
}

std::unique_ptr<grpc::CallbackGenericService> MakeUnservedMethods(
    ServedHere served) {
  return std::make_unique<UnservedMethods>(std::move(served));
}

}  // namespace addons
