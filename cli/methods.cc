#include "cli/methods.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "csi/csi.pb.h"
#include "encryptionkeyrotation/encryptionkeyrotation.pb.h"
#include "fence/fence.pb.h"
#include "identity/identity.pb.h"
#include "rbdaddons/admin.pb.h"
#include "reclaimspace/reclaimspace.pb.h"
#include "replication/replication.pb.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {

using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

std::string MethodName(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->full_name(), "/", method.name());
}

std::vector<const MethodDescriptor*> AllMethods() {
  const FileDescriptor* files[] = {
      csi::v1::ProbeRequest::descriptor()->file(),
      encryptionkeyrotation::EncryptionKeyRotateRequest::descriptor()->file(),
      fence::CIDR::descriptor()->file(),
      identity::ProbeRequest::descriptor()->file(),
      rbdaddons::admin::v1::Operation::descriptor()->file(),
      reclaimspace::StorageConsumption::descriptor()->file(),
      replication::ReplicationSource::descriptor()->file(),
      volumegroup::VolumeGroup::descriptor()->file()};
  std::vector<const MethodDescriptor*> methods;
  for (const FileDescriptor* file : files) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(file->service(s)->method(m));
      }
    }
  }
  return methods;
}

absl::StatusOr<const MethodDescriptor*> FindMethod(const std::string& name) {
  std::vector<const MethodDescriptor*> found;
  std::vector<std::string> names;
  for (const MethodDescriptor* method : AllMethods()) {
    if (method->name() != name && MethodName(*method) != name) continue;
    found.push_back(method);
    names.push_back(MethodName(*method));
  }
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "there is no method '", name, "'; 'rbd-addons methods' lists them"));
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' is ambiguous: ", absl::StrJoin(names, ", ")));
  }
  return found.front();
}

}  // namespace addons
