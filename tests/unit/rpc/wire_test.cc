// Pins the wire contract: the generated descriptors are written down in the
// notation of the tables below, and each package must come out exactly as its
// table says.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

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
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::OneofDescriptor;
using google::protobuf::ServiceDescriptor;

std::string TypeText(const FieldDescriptor& field) {
  if (field.is_map()) {
    const Descriptor& entry = *field.message_type();
    const bool strings =
        entry.map_key()->type() == FieldDescriptor::TYPE_STRING &&
        entry.map_value()->type() == FieldDescriptor::TYPE_STRING;
    return strings ? "M" : "map of something else";
  }
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->full_name();
  if (field.enum_type() != nullptr) type = field.enum_type()->full_name();
  return absl::StrCat(field.is_repeated() ? "rep " : "", type);
}

std::string FieldText(const FieldDescriptor& field) {
  std::vector<std::string> marks;
  if (field.options().GetExtension(csi::v1::csi_secret))
    marks.push_back("secret");
  if (field.options().GetExtension(csi::v1::alpha_field))
    marks.push_back("csi alpha");
  if (field.options().GetExtension(replication::alpha_field)) {
    marks.push_back("alpha");
  }
  if (field.options().deprecated()) marks.push_back("deprecated");
  if (field.real_containing_oneof() != nullptr) {
    marks.push_back(absl::StrCat("of ", field.real_containing_oneof()->name()));
  }
  if (field.has_optional_keyword()) marks.push_back("optional");
  return absl::StrCat(
      TypeText(field), " ", field.name(), "=", field.number(),
      marks.empty() ? "" : " [" + absl::StrJoin(marks, ",") + "]");
}

void AddEnum(const EnumDescriptor& type, std::vector<std::string>& lines) {
  std::vector<std::string> values;
  for (int i = 0; i < type.value_count(); ++i) {
    values.push_back(
        absl::StrCat(type.value(i)->name(), "=", type.value(i)->number()));
  }
  lines.push_back(absl::StrCat("enum ", type.full_name(), " {",
                               absl::StrJoin(values, "; "), "}"));
}

void AddMessage(const Descriptor& type, std::vector<std::string>& lines) {
  if (type.options().map_entry()) return;
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < type.field_count(); ++i) fields.push_back(type.field(i));
  std::sort(fields.begin(), fields.end(), [](const auto* a, const auto* b) {
    return a->number() < b->number();
  });
  std::vector<std::string> texts;
  for (const FieldDescriptor* field : fields)
    texts.push_back(FieldText(*field));
  lines.push_back(
      absl::StrCat(type.full_name(), " {", absl::StrJoin(texts, "; "), "}"));
  for (int i = 0; i < type.nested_type_count(); ++i) {
    AddMessage(*type.nested_type(i), lines);
  }
  for (int i = 0; i < type.enum_type_count(); ++i) {
    AddEnum(*type.enum_type(i), lines);
  }
  EXPECT_EQ(type.extension_count(), 0) << type.full_name();
  EXPECT_EQ(type.reserved_range_count(), 0) << type.full_name();
}

void AddService(const ServiceDescriptor& service,
                std::vector<std::string>& lines) {
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    lines.push_back(absl::StrCat("/", service.full_name(), "/", method.name(),
                                 " ",
                                 method.client_streaming() ? "stream " : "",
                                 method.input_type()->full_name(), " -> ",
                                 method.server_streaming() ? "stream " : "",
                                 method.output_type()->full_name()));
  }
}

std::vector<std::string> LinesOf(const FileDescriptor& file) {
  std::vector<std::string> lines;
  lines.push_back(absl::StrCat("package ", file.package(), " ",
                               file.syntax() == FileDescriptor::SYNTAX_PROTO3
                                   ? "proto3"
                                   : "not proto3"));
  for (int i = 0; i < file.service_count(); ++i)
    AddService(*file.service(i), lines);
  for (int i = 0; i < file.message_type_count(); ++i) {
    AddMessage(*file.message_type(i), lines);
  }
  for (int i = 0; i < file.enum_type_count(); ++i)
    AddEnum(*file.enum_type(i), lines);
  for (int i = 0; i < file.extension_count(); ++i) {
    lines.push_back(absl::StrCat(
        "extend ", file.extension(i)->containing_type()->full_name(), " ",
        FieldText(*file.extension(i))));
  }
  return lines;
}

struct Package {
  std::string name;
  const FileDescriptor* file;
  std::vector<std::string> contract;
};

class WireTest : public ::testing::TestWithParam<Package> {};

TEST_P(WireTest, MatchesTheContractExactly) {
  EXPECT_THAT(LinesOf(*GetParam().file),
              ::testing::UnorderedElementsAreArray(GetParam().contract));
}

Package Identity() {
  return {
      "identity",
      identity::Capability::descriptor()->file(),
      {
          "package identity proto3",
          "/identity.Identity/GetIdentity identity.GetIdentityRequest -> "
          "identity.GetIdentityResponse",
          "/identity.Identity/GetCapabilities identity.GetCapabilitiesRequest "
          "-> "
          "identity.GetCapabilitiesResponse",
          "/identity.Identity/Probe identity.ProbeRequest -> "
          "identity.ProbeResponse",
          "identity.GetIdentityRequest {}",
          "identity.GetIdentityResponse {string name=1; string "
          "vendor_version=2; "
          "M manifest=3}",
          "identity.GetCapabilitiesRequest {}",
          "identity.GetCapabilitiesResponse {rep identity.Capability "
          "capabilities=1}",
          "identity.ProbeRequest {}",
          "identity.ProbeResponse {google.protobuf.BoolValue ready=1}",
          "identity.Capability {"
          "identity.Capability.Service service=1 [of type]; "
          "identity.Capability.ReclaimSpace reclaim_space=2 [of type]; "
          "identity.Capability.NetworkFence network_fence=3 [of type]; "
          "identity.Capability.VolumeReplication volume_replication=4 [of "
          "type]; "
          "identity.Capability.VolumeGroup volume_group=5 [of type]; "
          "identity.Capability.EncryptionKeyRotation encryption_key_rotation=6 "
          "[of type]}",
          "identity.Capability.Service {identity.Capability.Service.Type "
          "type=1}",
          "enum identity.Capability.Service.Type {UNKNOWN=0; "
          "CONTROLLER_SERVICE=1; "
          "NODE_SERVICE=2}",
          "identity.Capability.ReclaimSpace "
          "{identity.Capability.ReclaimSpace.Type type=1}",
          "enum identity.Capability.ReclaimSpace.Type {UNKNOWN=0; OFFLINE=1; "
          "ONLINE=2}",
          "identity.Capability.NetworkFence "
          "{identity.Capability.NetworkFence.Type type=1}",
          "enum identity.Capability.NetworkFence.Type {UNKNOWN=0; "
          "NETWORK_FENCE=1; "
          "GET_CLIENTS_TO_FENCE=2}",
          "identity.Capability.VolumeReplication "
          "{identity.Capability.VolumeReplication.Type type=1}",
          "enum identity.Capability.VolumeReplication.Type {UNKNOWN=0; "
          "VOLUME_REPLICATION=1; GET_REPLICATION_DESTINATION_INFO=2}",
          "identity.Capability.VolumeGroup "
          "{identity.Capability.VolumeGroup.Type type=1}",
          "enum identity.Capability.VolumeGroup.Type {UNKNOWN=0; "
          "VOLUME_GROUP=1; "
          "LIMIT_VOLUME_TO_ONE_VOLUME_GROUP=2; "
          "DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES=3; "
          "MODIFY_VOLUME_GROUP=4; GET_VOLUME_GROUP=5; LIST_VOLUME_GROUPS=6}",
          "identity.Capability.EncryptionKeyRotation "
          "{identity.Capability.EncryptionKeyRotation.Type type=1}",
          "enum identity.Capability.EncryptionKeyRotation.Type {UNKNOWN=0; "
          "ENCRYPTIONKEYROTATION=1}",
      }};
}

Package ReclaimSpace() {
  return {
      "reclaimspace",
      reclaimspace::StorageConsumption::descriptor()->file(),
      {
          "package reclaimspace proto3",
          "/reclaimspace.ReclaimSpaceController/ControllerReclaimSpace "
          "reclaimspace.ControllerReclaimSpaceRequest -> "
          "reclaimspace.ControllerReclaimSpaceResponse",
          "/reclaimspace.ReclaimSpaceNode/NodeReclaimSpace "
          "reclaimspace.NodeReclaimSpaceRequest -> "
          "reclaimspace.NodeReclaimSpaceResponse",
          "reclaimspace.ControllerReclaimSpaceRequest {string volume_id=1; "
          "M parameters=2; M secrets=3 [secret]}",
          "reclaimspace.ControllerReclaimSpaceResponse "
          "{reclaimspace.StorageConsumption pre_usage=1; "
          "reclaimspace.StorageConsumption post_usage=2}",
          "reclaimspace.NodeReclaimSpaceRequest {string volume_id=1; "
          "string volume_path=2; string staging_target_path=3; "
          "csi.v1.VolumeCapability volume_capability=4; M secrets=5 [secret]}",
          "reclaimspace.NodeReclaimSpaceResponse "
          "{reclaimspace.StorageConsumption pre_usage=1; "
          "reclaimspace.StorageConsumption post_usage=2}",
          "reclaimspace.StorageConsumption {int64 usage_bytes=1}",
      }};
}

Package Fence() {
  return {
      "fence",
      fence::CIDR::descriptor()->file(),
      {
          "package fence proto3",
          "/fence.FenceController/FenceClusterNetwork "
          "fence.FenceClusterNetworkRequest -> "
          "fence.FenceClusterNetworkResponse",
          "/fence.FenceController/UnfenceClusterNetwork "
          "fence.UnfenceClusterNetworkRequest -> "
          "fence.UnfenceClusterNetworkResponse",
          "/fence.FenceController/ListClusterFence "
          "fence.ListClusterFenceRequest -> "
          "fence.ListClusterFenceResponse",
          "/fence.FenceController/GetFenceClients fence.GetFenceClientsRequest "
          "-> "
          "fence.GetFenceClientsResponse",
          "fence.FenceClusterNetworkRequest {M parameters=1; M secrets=2 "
          "[secret]; "
          "rep fence.CIDR cidrs=3}",
          "fence.FenceClusterNetworkResponse {}",
          "fence.UnfenceClusterNetworkRequest {M parameters=1; M secrets=2 "
          "[secret]; "
          "rep fence.CIDR cidrs=3}",
          "fence.UnfenceClusterNetworkResponse {}",
          "fence.ListClusterFenceRequest {M parameters=1; M secrets=2 "
          "[secret]}",
          "fence.ListClusterFenceResponse {rep fence.CIDR cidrs=1}",
          "fence.GetFenceClientsRequest {M parameters=1; M secrets=2 [secret]}",
          "fence.GetFenceClientsResponse {rep fence.ClientDetails clients=1}",
          "fence.CIDR {string cidr=1}",
          "fence.ClientDetails {string id=1; rep fence.CIDR addresses=2}",
      }};
}

std::string ReplicationMethod(const std::string& method) {
  return absl::StrCat("/replication.Controller/", method, " replication.",
                      method, "Request -> replication.", method, "Response");
}

Package Replication() {
  // EnableVolumeReplication and DisableVolumeReplication.
  const std::string on_off =
      " {string volume_id=1 [deprecated]; M parameters=2; M secrets=3 "
      "[secret]; "
      "string replication_id=4 [alpha]; "
      "replication.ReplicationSource replication_source=5}";
  // PromoteVolume, DemoteVolume and ResyncVolume.
  const std::string move =
      " {string volume_id=1 [deprecated]; bool force=2; M parameters=3; "
      "M secrets=4 [secret]; string replication_id=5 [alpha]; "
      "replication.ReplicationSource replication_source=6}";
  return {"replication",
          replication::ReplicationSource::descriptor()->file(),
          {
              "package replication proto3",
              ReplicationMethod("EnableVolumeReplication"),
              ReplicationMethod("DisableVolumeReplication"),
              ReplicationMethod("PromoteVolume"),
              ReplicationMethod("DemoteVolume"),
              ReplicationMethod("ResyncVolume"),
              ReplicationMethod("GetVolumeReplicationInfo"),
              ReplicationMethod("GetReplicationDestinationInfo"),
              "replication.EnableVolumeReplicationRequest" + on_off,
              "replication.EnableVolumeReplicationResponse {}",
              "replication.DisableVolumeReplicationRequest" + on_off,
              "replication.DisableVolumeReplicationResponse {}",
              "replication.PromoteVolumeRequest" + move,
              "replication.PromoteVolumeResponse {}",
              "replication.DemoteVolumeRequest" + move,
              "replication.DemoteVolumeResponse {}",
              "replication.ResyncVolumeRequest" + move,
              "replication.ResyncVolumeResponse {bool ready=1}",
              "replication.GetVolumeReplicationInfoRequest {string volume_id=1 "
              "[deprecated]; M secrets=2 [secret]; string replication_id=3 "
              "[alpha]; "
              "replication.ReplicationSource replication_source=4}",
              "replication.GetVolumeReplicationInfoResponse "
              "{google.protobuf.Timestamp last_sync_time=1; "
              "google.protobuf.Duration last_sync_duration=2; int64 "
              "last_sync_bytes=3; "
              "replication.GetVolumeReplicationInfoResponse.Status status=4; "
              "string status_message=5}",
              "enum replication.GetVolumeReplicationInfoResponse.Status "
              "{UNKNOWN=0; "
              "HEALTHY=1; DEGRADED=2; ERROR=3}",
              "replication.GetReplicationDestinationInfoRequest {M secrets=1 "
              "[secret]; "
              "replication.ReplicationSource replication_source=2}",
              "replication.GetReplicationDestinationInfoResponse "
              "{replication.ReplicationDestination replication_destination=1}",
              "replication.ReplicationSource "
              "{replication.ReplicationSource.VolumeSource volume=1 [of type]; "
              "replication.ReplicationSource.VolumeGroupSource volumegroup=2 "
              "[of type]}",
              "replication.ReplicationSource.VolumeSource {string volume_id=1}",
              "replication.ReplicationSource.VolumeGroupSource "
              "{string volume_group_id=1}",
              "replication.ReplicationDestination "
              "{replication.ReplicationDestination.VolumeDestination volume=1 "
              "[of type]; "
              "replication.ReplicationDestination.VolumeGroupDestination "
              "volumegroup=2 "
              "[of type]}",
              "replication.ReplicationDestination.VolumeDestination "
              "{string volume_id=1}",
              "replication.ReplicationDestination.VolumeGroupDestination "
              "{string volume_group_id=1; M volume_ids=2}",
              "extend google.protobuf.FieldOptions bool alpha_field=1100",
          }};
}

std::string GroupMethod(const std::string& method) {
  return absl::StrCat("/volumegroup.Controller/", method, " volumegroup.",
                      method, "Request -> volumegroup.", method, "Response");
}

Package VolumeGroup() {
  const std::string group = " {volumegroup.VolumeGroup volume_group=1}";
  return {"volumegroup",
          volumegroup::VolumeGroup::descriptor()->file(),
          {
              "package volumegroup proto3",
              GroupMethod("CreateVolumeGroup"),
              GroupMethod("ModifyVolumeGroupMembership"),
              GroupMethod("DeleteVolumeGroup"),
              GroupMethod("ListVolumeGroups"),
              GroupMethod("ControllerGetVolumeGroup"),
              "volumegroup.CreateVolumeGroupRequest {string name=1; M "
              "parameters=2; "
              "M secrets=3 [secret]; rep string volume_ids=4}",
              "volumegroup.CreateVolumeGroupResponse" + group,
              "volumegroup.ModifyVolumeGroupMembershipRequest "
              "{string volume_group_id=1; rep string volume_ids=2; "
              "M secrets=3 [secret]; M parameters=4}",
              "volumegroup.ModifyVolumeGroupMembershipResponse" + group,
              "volumegroup.DeleteVolumeGroupRequest {string volume_group_id=1; "
              "M secrets=2 [secret]}",
              "volumegroup.DeleteVolumeGroupResponse {}",
              "volumegroup.ListVolumeGroupsRequest {int32 max_entries=1; "
              "string starting_token=2; M secrets=3 [secret]}",
              "volumegroup.ListVolumeGroupsResponse "
              "{rep volumegroup.ListVolumeGroupsResponse.Entry entries=1; "
              "string next_token=2}",
              "volumegroup.ListVolumeGroupsResponse.Entry" + group,
              "volumegroup.ControllerGetVolumeGroupRequest {string "
              "volume_group_id=1; "
              "M secrets=2 [secret]}",
              "volumegroup.ControllerGetVolumeGroupResponse" + group,
              "volumegroup.VolumeGroup {string volume_group_id=1; "
              "M volume_group_context=2; rep csi.v1.Volume volumes=3}",
          }};
}

Package EncryptionKeyRotation() {
  return {
      "encryptionkeyrotation",
      encryptionkeyrotation::EncryptionKeyRotateRequest::descriptor()->file(),
      {
          "package encryptionkeyrotation proto3",
          "/encryptionkeyrotation.EncryptionKeyRotationController/"
          "EncryptionKeyRotate "
          "encryptionkeyrotation.EncryptionKeyRotateRequest -> "
          "encryptionkeyrotation.EncryptionKeyRotateResponse",
          "encryptionkeyrotation.EncryptionKeyRotateRequest {string "
          "volume_id=1; "
          "string volume_path=2; string encryption_key=3 [secret]; M "
          "parameters=4; "
          "M secrets=5 [secret]; csi.v1.VolumeCapability volume_capability=6}",
          "encryptionkeyrotation.EncryptionKeyRotateResponse {}",
      }};
}

Package Csi() {
  return {
      "csi",
      csi::v1::Volume::descriptor()->file(),
      {
          "package csi.v1 proto3",
          "extend google.protobuf.FieldOptions bool csi_secret=1059",
          "extend google.protobuf.FieldOptions bool alpha_field=1060",
          "/csi.v1.Identity/GetPluginInfo csi.v1.GetPluginInfoRequest -> "
          "csi.v1.GetPluginInfoResponse",
          "/csi.v1.Identity/GetPluginCapabilities "
          "csi.v1.GetPluginCapabilitiesRequest -> "
          "csi.v1.GetPluginCapabilitiesResponse",
          "/csi.v1.Identity/Probe csi.v1.ProbeRequest -> csi.v1.ProbeResponse",
          "csi.v1.GetPluginInfoRequest {}",
          "csi.v1.GetPluginInfoResponse {string name=1; string "
          "vendor_version=2; "
          "M manifest=3}",
          "csi.v1.GetPluginCapabilitiesRequest {}",
          "csi.v1.GetPluginCapabilitiesResponse {rep csi.v1.PluginCapability "
          "capabilities=1}",
          "csi.v1.PluginCapability {}",
          "csi.v1.ProbeRequest {}",
          "csi.v1.ProbeResponse {google.protobuf.BoolValue ready=1}",
          "csi.v1.VolumeCapability "
          "{csi.v1.VolumeCapability.BlockVolume block=1 [of access_type]; "
          "csi.v1.VolumeCapability.MountVolume mount=2 [of access_type]; "
          "csi.v1.VolumeCapability.AccessMode access_mode=3}",
          "csi.v1.VolumeCapability.BlockVolume {}",
          "csi.v1.VolumeCapability.MountVolume {string fs_type=1; "
          "rep string mount_flags=2; string volume_mount_group=3}",
          "csi.v1.VolumeCapability.AccessMode "
          "{csi.v1.VolumeCapability.AccessMode.Mode mode=1}",
          "enum csi.v1.VolumeCapability.AccessMode.Mode {UNKNOWN=0; "
          "SINGLE_NODE_WRITER=1; SINGLE_NODE_READER_ONLY=2; "
          "MULTI_NODE_READER_ONLY=3; MULTI_NODE_SINGLE_WRITER=4; "
          "MULTI_NODE_MULTI_WRITER=5; SINGLE_NODE_SINGLE_WRITER=6; "
          "SINGLE_NODE_MULTI_WRITER=7}",
          "csi.v1.Volume {int64 capacity_bytes=1; string volume_id=2; "
          "M volume_context=3; csi.v1.VolumeContentSource content_source=4; "
          "rep csi.v1.Topology accessible_topology=5}",
          "csi.v1.VolumeContentSource "
          "{csi.v1.VolumeContentSource.SnapshotSource snapshot=1 [of type]; "
          "csi.v1.VolumeContentSource.VolumeSource volume=2 [of type]}",
          "csi.v1.VolumeContentSource.SnapshotSource {string snapshot_id=1}",
          "csi.v1.VolumeContentSource.VolumeSource {string volume_id=1}",
          "csi.v1.Topology {M segments=1}",
      }};
}

Package Admin() {
  return {
      "rbdaddons_admin",
      rbdaddons::admin::v1::Operation::descriptor()->file(),
      {
          "package rbdaddons.admin.v1 proto3",
          "/rbdaddons.admin.v1.Operations/ListOperations "
          "rbdaddons.admin.v1.ListOperationsRequest -> "
          "rbdaddons.admin.v1.ListOperationsResponse",
          "/rbdaddons.admin.v1.Operations/CancelOperation "
          "rbdaddons.admin.v1.CancelOperationRequest -> "
          "rbdaddons.admin.v1.CancelOperationResponse",
          "rbdaddons.admin.v1.ListOperationsRequest {}",
          "rbdaddons.admin.v1.ListOperationsResponse {"
          "rep rbdaddons.admin.v1.Operation operations=1; "
          "rep rbdaddons.admin.v1.Lane lanes=2}",
          "rbdaddons.admin.v1.Operation {uint64 operation_id=1; "
          "string verb=2; string object=3; string lane=4; string cluster=5; "
          "rbdaddons.admin.v1.Operation.State state=6; bool mutating=7; "
          "string step=8; uint64 done=9; uint64 total=10; uint32 callers=11; "
          "string request_id=12; int64 age_milliseconds=13; bool stuck=14; "
          "int64 idle_milliseconds=15; string clock=16; string name=17}",
          "enum rbdaddons.admin.v1.Operation.State {UNSPECIFIED=0; QUEUED=1; "
          "RUNNING=2; STOPPING=3; WAITING=4}",
          "rbdaddons.admin.v1.Lane {string name=1; uint32 running=2; "
          "uint32 workers=3; uint32 queued=4; uint32 queue_limit=5; "
          "uint32 waiting=6}",
          "rbdaddons.admin.v1.CancelOperationRequest {uint64 operation_id=1}",
          "rbdaddons.admin.v1.CancelOperationResponse {"
          "rbdaddons.admin.v1.CancelOperationResponse.Effect effect=1; "
          "rbdaddons.admin.v1.Operation operation=2}",
          "enum rbdaddons.admin.v1.CancelOperationResponse.Effect "
          "{UNSPECIFIED=0; NEVER_STARTS=1; STOPS_NOW=2; STOPS_AFTER_CHANGE=3}",
          "/rbdaddons.admin.v1.Audit/AuditPool "
          "rbdaddons.admin.v1.AuditPoolRequest -> "
          "rbdaddons.admin.v1.AuditPoolResponse",
          "rbdaddons.admin.v1.AuditPoolRequest {string cluster_id=1; "
          "string pool=2; M secrets=3 [secret]; "
          "rep rbdaddons.admin.v1.AuditFinding.Kind kinds=4; "
          "uint32 fence_ends_within_seconds=5}",
          "rbdaddons.admin.v1.AuditPoolResponse {"
          "rep rbdaddons.admin.v1.AuditFinding findings=1; bool more=2}",
          "rbdaddons.admin.v1.AuditFinding {"
          "rbdaddons.admin.v1.AuditFinding.Kind kind=1; string object=2; "
          "string seen=3; string remedy=4; bool unclear=5; "
          "string repair=6}",
          "enum rbdaddons.admin.v1.AuditFinding.Kind {UNSPECIFIED=0; "
          "CLONES=1; JOURNAL=2; SCHEDULES=3; GROUPS=4; FENCES=5; RESCUES=6; "
          "COPIES=7; IMAGES=8}",
          "/rbdaddons.admin.v1.Audit/RepairPool "
          "rbdaddons.admin.v1.RepairPoolRequest -> "
          "rbdaddons.admin.v1.RepairPoolResponse",
          "rbdaddons.admin.v1.RepairPoolRequest {string cluster_id=1; "
          "string pool=2; M secrets=3 [secret]; "
          "rep rbdaddons.admin.v1.AuditFinding plan=4}",
          "rbdaddons.admin.v1.RepairPoolResponse {"
          "rep rbdaddons.admin.v1.Repair repairs=1}",
          "rbdaddons.admin.v1.Repair {"
          "rbdaddons.admin.v1.AuditFinding.Kind kind=1; string object=2; "
          "string repair=3; rbdaddons.admin.v1.Repair.Outcome outcome=4; "
          "string text=5}",
          "enum rbdaddons.admin.v1.Repair.Outcome {UNSPECIFIED=0; DONE=1; "
          "NOT_NEEDED=2; FAILED=3}",
          "/rbdaddons.admin.v1.History/ListHistory "
          "rbdaddons.admin.v1.ListHistoryRequest -> "
          "rbdaddons.admin.v1.ListHistoryResponse",
          "rbdaddons.admin.v1.ListHistoryRequest {string volume_id=1; "
          "string group_id=2; string pool=3; string cluster_id=4; "
          "int64 since=5; uint32 limit=6; M secrets=7 [secret]}",
          "rbdaddons.admin.v1.ListHistoryResponse {"
          "rep rbdaddons.admin.v1.HistoryEvent events=1; bool more=2; "
          "uint32 unreadable=3}",
          "rbdaddons.admin.v1.HistoryEvent {int64 time=1; uint64 times=2; "
          "int64 until=3; string object=4; string image=5; string verb=6; "
          "string user=7; string request=8; string code=9; string from=10; "
          "string to=11; string text=12; string daemon=13; string name=14}",
          "/rbdaddons.admin.v1.Doctor/Diagnose "
          "rbdaddons.admin.v1.DiagnoseRequest -> "
          "rbdaddons.admin.v1.DiagnoseResponse",
          "rbdaddons.admin.v1.DiagnoseRequest {bool before_handover=1; "
          "M secrets=2 [secret]; rep string confirmed=3}",
          "rbdaddons.admin.v1.DiagnoseResponse {"
          "rep rbdaddons.admin.v1.Finding findings=1; "
          "bool handover_safe=2 [optional]}",
          "rbdaddons.admin.v1.Finding {string id=1; "
          "rbdaddons.admin.v1.Finding.Verdict verdict=2; string object=3; "
          "string seen=4; string remedy=5}",
          "enum rbdaddons.admin.v1.Finding.Verdict {UNSPECIFIED=0; OK=1; "
          "WARNING=2; PROBLEM=3; UNCLEAR=4; CONFIRM=5}",
          "/rbdaddons.admin.v1.Overview/ListStatus "
          "rbdaddons.admin.v1.ListStatusRequest -> "
          "rbdaddons.admin.v1.ListStatusResponse",
          "rbdaddons.admin.v1.ListStatusRequest {string cluster_id=1; "
          "string pool=2; string text=3; bool trouble_only=4; uint32 limit=5; "
          "string token=6}",
          "rbdaddons.admin.v1.ListStatusResponse {"
          "rep rbdaddons.admin.v1.PoolStatus pools=1; "
          "rep rbdaddons.admin.v1.VolumeStatus volumes=2; "
          "string next_token=3; string not_watched=4; "
          "rep string unwatched_clusters=5; uint32 pools_left_out=6; "
          "uint32 fitting=7}",
          "rbdaddons.admin.v1.PoolStatus {string cluster_id=1; string pool=2; "
          "string rados_namespace=3; rep string peers=4; "
          "uint32 seen_seconds_ago=5 [optional]; string unseen=6; "
          "uint32 volumes=7; uint32 in_step=8; uint32 copying=9; "
          "uint32 late=10; uint32 broken=11; uint32 unknown=12; "
          "uint32 primary=13; uint32 secondary=14; uint32 unclear=15; "
          "uint32 not_kept=16; string schedules_unseen=17; "
          "bool local_mirror_reports=18 [optional]; "
          "bool peer_mirror_reports=19 [optional]; "
          "uint32 blocklisted_seconds=20 [optional]}",
          "rbdaddons.admin.v1.VolumeStatus {string name=1; string claim=2; "
          "string volume_name=3; string volume_id=4; string cluster_id=5; "
          "string image=6; string image_id=7; "
          "rbdaddons.admin.v1.VolumeStatus.Role role=8; "
          "rbdaddons.admin.v1.VolumeStatus.State state=9; "
          "google.protobuf.Timestamp last_copy=10; "
          "uint32 copy_age_seconds=11 [optional]; "
          "uint32 interval_seconds=12 [optional]; rep string peers=13; "
          "uint32 percent=14 [optional]; "
          "uint64 bytes_remaining=15 [optional]; string message=16; "
          "string group=17; string group_id=18}",
          "enum rbdaddons.admin.v1.VolumeStatus.Role {ROLE_UNSPECIFIED=0; "
          "PRIMARY=1; SECONDARY=2; UNCLEAR=3}",
          "enum rbdaddons.admin.v1.VolumeStatus.State {UNSPECIFIED=0; "
          "IN_STEP=1; COPYING=2; LATE=3; BROKEN=4; UNKNOWN=5}",
          "/rbdaddons.admin.v1.Adoption/AdoptVolumes "
          "rbdaddons.admin.v1.AdoptVolumesRequest -> "
          "rbdaddons.admin.v1.AdoptVolumesResponse",
          "rbdaddons.admin.v1.AdoptVolumesRequest {string cluster_id=1; "
          "string pool=2; string rados_namespace=3; rep string images=4; "
          "M secrets=5 [secret]; bool write=6; string volume_name=7; "
          "string owner=8; string kms_id=9; string encryption_type=10}",
          "rbdaddons.admin.v1.AdoptVolumesResponse {"
          "rep rbdaddons.admin.v1.AdoptedVolume volumes=1; bool more=2; "
          "uint32 known=3; uint32 would_write=4; uint32 written=5; "
          "uint32 refused=6; uint32 no_volume=7}",
          "rbdaddons.admin.v1.AdoptedVolume {string image=1; "
          "rbdaddons.admin.v1.AdoptedVolume.Outcome outcome=2; "
          "string volume_id=3; string volume_name=4; string image_id=5; "
          "string owner=6; string kms_id=7; string encryption_type=8; "
          "bool generated_name=9; string text=10}",
          "enum rbdaddons.admin.v1.AdoptedVolume.Outcome {UNSPECIFIED=0; "
          "KNOWN=1; WOULD_WRITE=2; WRITTEN=3; NO_VOLUME=4; REFUSED=5; "
          "FAILED=6}",
          "/rbdaddons.admin.v1.Support/DescribeDaemon "
          "rbdaddons.admin.v1.DescribeDaemonRequest -> "
          "rbdaddons.admin.v1.DescribeDaemonResponse",
          "rbdaddons.admin.v1.DescribeDaemonRequest {}",
          "rbdaddons.admin.v1.DescribeDaemonResponse {string version=1; "
          "M manifest=2; string host=3; google.protobuf.Timestamp now=4; "
          "string flags=5; "
          "rep rbdaddons.admin.v1.ConfigurationFile files=6; "
          "rep rbdaddons.admin.v1.EndedOperation ended=7; string metrics=8; "
          "string log=9}",
          "rbdaddons.admin.v1.ConfigurationFile {string path=1; "
          "string text=2; string missing=3}",
          "rbdaddons.admin.v1.EndedOperation {uint64 operation_id=1; "
          "string verb=2; string object=3; string request_id=4; "
          "string code=5; string message=6; int64 age_milliseconds=7; "
          "int64 ended_milliseconds_ago=8}",
          "/rbdaddons.admin.v1.Inspection/CheckFailover "
          "rbdaddons.admin.v1.CheckFailoverRequest -> "
          "rbdaddons.admin.v1.CheckFailoverResponse",
          "/rbdaddons.admin.v1.Inspection/ExplainVolume "
          "rbdaddons.admin.v1.ExplainVolumeRequest -> "
          "rbdaddons.admin.v1.ExplainVolumeResponse",
          "/rbdaddons.admin.v1.Inspection/ExplainGroup "
          "rbdaddons.admin.v1.ExplainGroupRequest -> "
          "rbdaddons.admin.v1.ExplainGroupResponse",
          "/rbdaddons.admin.v1.Inspection/FindVolume "
          "rbdaddons.admin.v1.FindVolumeRequest -> "
          "rbdaddons.admin.v1.FindVolumeResponse",
          "rbdaddons.admin.v1.FindVolumeRequest {string name=1; "
          "string pool=2; string cluster_id=3; M secrets=4 [secret]}",
          "rbdaddons.admin.v1.FindVolumeResponse {string volume_id=1; "
          "string cluster_id=2; string image=3; rep string refused_places=4}",
          "rbdaddons.admin.v1.Forecast {string verb=1; bool force=2; "
          "rbdaddons.admin.v1.Forecast.Verdict verdict=3; string code=4; "
          "string reason=5; string row=6; "
          "uint64 forcible_seconds=7 [optional]; string clock=8; "
          "uint64 seen_seconds=9 [optional]; "
          "uint64 needed_seconds=10 [optional]; "
          "uint64 report_age_seconds=11 [optional]}",
          "enum rbdaddons.admin.v1.Forecast.Verdict {UNSPECIFIED=0; WORKS=1; "
          "WAITS=2; REFUSES=3; UNCLEAR=4}",
          "rbdaddons.admin.v1.CheckFailoverRequest {rep string volume_ids=1; "
          "string cluster_id=2; string pool=3; M parameters=4; "
          "M secrets=5 [secret]; rep string group_ids=6; bool all=7; "
          "uint32 most_findings=8}",
          "rbdaddons.admin.v1.CheckFailoverResponse {"
          "rep rbdaddons.admin.v1.FailoverFinding findings=1; bool more=2; "
          "uint32 volumes=3; uint32 planned=4; uint32 forced=5; "
          "uint32 either=6; uint32 neither=7; uint32 unclear=8; "
          "rep rbdaddons.admin.v1.GroupFailoverFinding groups=9; "
          "rep string unseen=10; uint32 without_entry=11}",
          "rbdaddons.admin.v1.GroupFailoverFinding {string group_id=1; "
          "uint32 members=2; rbdaddons.admin.v1.Forecast planned=3; "
          "rbdaddons.admin.v1.Forecast forced=4; "
          "uint64 lost_bytes=5 [optional]; "
          "uint64 lost_bytes_about=6 [optional]; "
          "uint64 bytes_to_come=7 [optional]; "
          "uint64 planned_seconds=8 [optional]; string name=9}",
          "rbdaddons.admin.v1.FailoverFinding {string volume_id=1; "
          "string image=2; string role=3; "
          "rbdaddons.admin.v1.Forecast planned=4; "
          "rbdaddons.admin.v1.Forecast forced=5; string returns_to=6; "
          "int64 returns_to_time=7 [optional]; "
          "uint64 lost_bytes=8 [optional]; string group_id=9; "
          "string cluster_id=10; string primary_elsewhere=11; "
          "bool others_report=12; bool split_brain=13; "
          "uint64 lost_bytes_about=14 [optional]; "
          "uint64 bytes_to_come=15 [optional]; "
          "uint64 planned_seconds=16 [optional]; string claim=17; "
          "string proof=18; string volume_name=19}",
          "rbdaddons.admin.v1.ExplainVolumeRequest {string volume_id=1; "
          "M parameters=2; M secrets=3 [secret]}",
          "rbdaddons.admin.v1.ExplainVolumeResponse {"
          "rep rbdaddons.admin.v1.Fact facts=1; rep string unseen=2; "
          "rep rbdaddons.admin.v1.Forecast forecasts=3}",
          "rbdaddons.admin.v1.ExplainGroupRequest {string group_id=1; "
          "M parameters=2; M secrets=3 [secret]}",
          "rbdaddons.admin.v1.ExplainGroupResponse {"
          "rep rbdaddons.admin.v1.Fact facts=1; rep string unseen=2; "
          "rep rbdaddons.admin.v1.Forecast forecasts=3; "
          "rep rbdaddons.admin.v1.FailoverFinding members=4}",
          "rbdaddons.admin.v1.Fact {string topic=1; string name=2; "
          "string value=3}",
          "/rbdaddons.admin.v1.Rescues/DecideRescue "
          "rbdaddons.admin.v1.DecideRescueRequest -> "
          "rbdaddons.admin.v1.DecideRescueResponse",
          "rbdaddons.admin.v1.DecideRescueRequest {string volume_id=1; "
          "M secrets=2 [secret]; "
          "rbdaddons.admin.v1.DecideRescueRequest.Decision decision=3}",
          "enum rbdaddons.admin.v1.DecideRescueRequest.Decision "
          "{UNSPECIFIED=0; KEEP=1; RESTORE=2}",
          "rbdaddons.admin.v1.DecideRescueResponse {string rescue_image=1; "
          "string step=2; uint64 bytes=3; bool undecided=4; "
          "string decision=5; string message=6}",
          "/rbdaddons.admin.v1.Points/CreatePoint "
          "rbdaddons.admin.v1.CreatePointRequest -> "
          "rbdaddons.admin.v1.CreatePointResponse",
          "/rbdaddons.admin.v1.Points/DigestPoint "
          "rbdaddons.admin.v1.DigestPointRequest -> "
          "rbdaddons.admin.v1.DigestPointResponse",
          "/rbdaddons.admin.v1.Points/ListPoints "
          "rbdaddons.admin.v1.ListPointsRequest -> "
          "rbdaddons.admin.v1.ListPointsResponse",
          "/rbdaddons.admin.v1.Points/RemovePoint "
          "rbdaddons.admin.v1.RemovePointRequest -> "
          "rbdaddons.admin.v1.RemovePointResponse",
          "/rbdaddons.admin.v1.Points/RollBack "
          "rbdaddons.admin.v1.RollBackRequest -> "
          "rbdaddons.admin.v1.RollBackResponse",
          "/rbdaddons.admin.v1.Points/VerifyPoint "
          "rbdaddons.admin.v1.VerifyPointRequest -> "
          "rbdaddons.admin.v1.VerifyPointResponse",
          "/rbdaddons.admin.v1.Points/CreateGroupPoint "
          "rbdaddons.admin.v1.CreateGroupPointRequest -> "
          "rbdaddons.admin.v1.CreateGroupPointResponse",
          "/rbdaddons.admin.v1.Points/ListGroupPoints "
          "rbdaddons.admin.v1.ListGroupPointsRequest -> "
          "rbdaddons.admin.v1.ListGroupPointsResponse",
          "/rbdaddons.admin.v1.Points/RemoveGroupPoint "
          "rbdaddons.admin.v1.RemoveGroupPointRequest -> "
          "rbdaddons.admin.v1.RemoveGroupPointResponse",
          "rbdaddons.admin.v1.CreateGroupPointRequest {string group_id=1; M "
          "secrets=2 [secret]; string name=3}",
          "rbdaddons.admin.v1.CreateGroupPointResponse {string name=1; rep "
          "string volume_ids=2}",
          "rbdaddons.admin.v1.ListGroupPointsRequest {string group_id=1; M "
          "secrets=2 [secret]}",
          "rbdaddons.admin.v1.ListGroupPointsResponse {rep "
          "rbdaddons.admin.v1.PointEntry points=1; rep string volume_ids=2}",
          "rbdaddons.admin.v1.RemoveGroupPointRequest {string group_id=1; M "
          "secrets=2 [secret]; string name=3}",
          "rbdaddons.admin.v1.RemoveGroupPointResponse {bool removed=1}",
          "rbdaddons.admin.v1.CreatePointRequest {string volume_id=1; M "
          "secrets=2 [secret]; string name=3}",
          "rbdaddons.admin.v1.CreatePointResponse {string name=1; uint64 "
          "snapshot_id=2; int64 snapshot_time=3}",
          "rbdaddons.admin.v1.DigestPointRequest {string volume_id=1; M "
          "secrets=2 [secret]; string name=3; uint64 bytes_per_second=4}",
          "rbdaddons.admin.v1.DigestPointResponse {uint64 bytes_read=1; uint64 "
          "record_bytes=2; uint64 snapshot_id=3; int64 snapshot_time=4}",
          "rbdaddons.admin.v1.ListPointsRequest {string volume_id=1; M "
          "secrets=2 [secret]}",
          "rbdaddons.admin.v1.ListPointsResponse {rep "
          "rbdaddons.admin.v1.PointEntry points=1}",
          "rbdaddons.admin.v1.PointEntry {string name=1; bool digested=2; "
          "int64 digested_time=3}",
          "rbdaddons.admin.v1.RemovePointRequest {string volume_id=1; M "
          "secrets=2 [secret]; string name=3}",
          "rbdaddons.admin.v1.RemovePointResponse {bool removed=1}",
          "rbdaddons.admin.v1.RollBackRequest {string volume_id=1; M "
          "secrets=2 [secret]; string name=3; string kept=4; bool only_look=5; "
          "bool only_go_on=6}",
          "rbdaddons.admin.v1.RollBackResponse {string kept=1; bool goes_on=2; "
          "uint64 bytes=3; uint64 bytes_now=4; uint64 bytes_compared=5; uint64 "
          "snapshot_id=6; bool keeps_itself=7}",
          "rbdaddons.admin.v1.VerifyPointRequest {string volume_id=1; M "
          "secrets=2 [secret]; uint64 bytes_per_second=3; string name=4}",
          "rbdaddons.admin.v1.VerifyPointResponse "
          "{rbdaddons.admin.v1.VerifyPointResponse.Verdict verdict=1; string "
          "name=2; int64 digested_time=3; bool primary=4; uint64 objects=5; "
          "uint64 objects_with_data=6; uint64 bytes_read=7; uint64 damaged=8; "
          "rep rbdaddons.admin.v1.DamagedObjects damaged_objects=9; uint64 "
          "not_cleared_bytes=10; string not_kept=11; string image=12}",
          "enum rbdaddons.admin.v1.VerifyPointResponse.Verdict {UNSPECIFIED=0; "
          "WHOLE=1; DAMAGED=2; NOT_CLEARED=3; UNCLEAR=4}",
          "rbdaddons.admin.v1.DamagedObjects {uint64 object=1; uint64 count=2; "
          "uint64 offset=3}",
          "/rbdaddons.admin.v1.TestFailovers/StartTest "
          "rbdaddons.admin.v1.StartTestRequest -> "
          "rbdaddons.admin.v1.StartTestResponse",
          "/rbdaddons.admin.v1.TestFailovers/ListTests "
          "rbdaddons.admin.v1.ListTestsRequest -> "
          "rbdaddons.admin.v1.ListTestsResponse",
          "/rbdaddons.admin.v1.TestFailovers/StopTest "
          "rbdaddons.admin.v1.StopTestRequest -> "
          "rbdaddons.admin.v1.StopTestResponse",
          "rbdaddons.admin.v1.StartTestRequest {string volume_id=1; M "
          "secrets=2 [secret]; uint64 bytes_per_second=3; string name=4}",
          "rbdaddons.admin.v1.TestFailover {string volume_id=1; string "
          "volume_name=2; string image=3; string cluster_id=4; string pool=5; "
          "uint64 bytes=6; string source_volume_id=7; string source_image=8; "
          "string point=9; int64 digested_time=10; int64 began=11; "
          "rbdaddons.admin.v1.TestFailover.State state=12; string "
          "driver_name=13}",
          "enum rbdaddons.admin.v1.TestFailover.State {UNSPECIFIED=0; "
          "MAKING=1; READY=2; GONE=3}",
          "rbdaddons.admin.v1.StartTestResponse "
          "{rbdaddons.admin.v1.TestFailover test=1; uint64 bytes_read=2; "
          "uint64 not_cleared_bytes=3}",
          "rbdaddons.admin.v1.ListTestsRequest {string cluster_id=1; M "
          "secrets=2 [secret]}",
          "rbdaddons.admin.v1.ListTestsResponse {rep "
          "rbdaddons.admin.v1.TestFailover tests=1; rep string unseen=2}",
          "rbdaddons.admin.v1.StopTestRequest {string volume_id=1; M "
          "secrets=2 [secret]}",
          "rbdaddons.admin.v1.StopTestResponse {bool removed=1; string "
          "volume_id=2}",
          "/rbdaddons.admin.v1.Copying/SyncVolume "
          "rbdaddons.admin.v1.SyncVolumeRequest -> "
          "rbdaddons.admin.v1.SyncVolumeResponse",
          "/rbdaddons.admin.v1.Copying/AwaitSync "
          "rbdaddons.admin.v1.AwaitSyncRequest -> "
          "rbdaddons.admin.v1.AwaitSyncResponse",
          "/rbdaddons.admin.v1.Copying/PauseVolume "
          "rbdaddons.admin.v1.PauseVolumeRequest -> "
          "rbdaddons.admin.v1.PauseVolumeResponse",
          "/rbdaddons.admin.v1.Copying/ResumeVolume "
          "rbdaddons.admin.v1.ResumeVolumeRequest -> "
          "rbdaddons.admin.v1.ResumeVolumeResponse",
          "rbdaddons.admin.v1.SyncVolumeRequest {string volume_id=1; "
          "M secrets=2 [secret]}",
          "rbdaddons.admin.v1.SyncVolumeResponse {uint64 snapshot_id=1; "
          "int64 snapshot_time=2}",
          "rbdaddons.admin.v1.AwaitSyncRequest {string volume_id=1; "
          "M secrets=2 [secret]; uint64 snapshot_id=3; "
          "int64 snapshot_time=4}",
          "rbdaddons.admin.v1.AwaitSyncResponse {rep string sites=1}",
          "rbdaddons.admin.v1.PauseVolumeRequest {string volume_id=1; "
          "M secrets=2 [secret]}",
          "rbdaddons.admin.v1.PauseVolumeResponse {bool changed=1; "
          "int64 paused_since=2; string schedules=3; string message=4}",
          "rbdaddons.admin.v1.ResumeVolumeRequest {string volume_id=1; "
          "M secrets=2 [secret]}",
          "rbdaddons.admin.v1.ResumeVolumeResponse {bool changed=1; "
          "string schedules=2; string message=3}",
      }};
}

INSTANTIATE_TEST_SUITE_P(Packages, WireTest,
                         ::testing::Values(Identity(), ReclaimSpace(), Fence(),
                                           Replication(), VolumeGroup(),
                                           EncryptionKeyRotation(), Csi(),
                                           Admin()),
                         [](const auto& tested) { return tested.param.name; });

// rpc/method.h finds a call's method by the type of its request.
TEST(WireMethodsTest, EveryMethodHasARequestTypeOfItsOwn) {
  std::map<const Descriptor*, std::string> methods;
  for (const Package& package :
       {Identity(), ReclaimSpace(), Fence(), Replication(), VolumeGroup(),
        EncryptionKeyRotation(), Csi(), Admin()}) {
    for (int s = 0; s < package.file->service_count(); ++s) {
      const ServiceDescriptor& service = *package.file->service(s);
      for (int m = 0; m < service.method_count(); ++m) {
        const MethodDescriptor& method = *service.method(m);
        EXPECT_TRUE(
            methods.emplace(method.input_type(), method.full_name()).second)
            << method.full_name() << " and " << methods[method.input_type()];
      }
    }
  }
  EXPECT_EQ(methods.size(), 3U + 2U + 4U + 7U + 5U + 1U + 3U + 30U);
}

}  // namespace
}  // namespace addons
