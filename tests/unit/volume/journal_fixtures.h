#ifndef ADDONS_TESTS_UNIT_VOLUME_JOURNAL_FIXTURES_H_
#define ADDONS_TESTS_UNIT_VOLUME_JOURNAL_FIXTURES_H_

#include <cstdint>

namespace addons::testing {

// Byte for byte what a ceph-csi provisioner (2024-10, instance id "default")
// wrote. Cluster "peer-a"; "peer-ns" is the same cluster with the RADOS
// namespace tenant1. Pools: 2 replicapool, 3 datapool, 4 topopool.

// The ids that tests use one by one. The first group has the first and the
// block volume as members, the second none.
inline constexpr char kFixtureVolume[] =
    "0001-0006-peer-a-0000000000000002-b891b493-7754-470d-b2a0-4ca18f698b29";
inline constexpr char kFixturePrefixVolume[] =
    "0001-0006-peer-a-0000000000000002-892ea53a-f435-4550-b697-2182e85e71c5";
inline constexpr char kFixtureBlockVolume[] =
    "0001-0006-peer-a-0000000000000002-bb8d184b-cbf9-4985-a719-66ab3e4a6aac";
inline constexpr char kFixtureSnapshot[] =
    "0001-0006-peer-a-0000000000000002-5ef79ce1-81e8-439b-8405-35138edf5b89";
inline constexpr char kFixtureGroup1[] =
    "0001-0006-peer-a-0000000000000002-1603eb04-e188-4ec4-a750-bec38d49ac0a";
inline constexpr char kFixtureGroup2[] =
    "0001-0006-peer-a-0000000000000002-ef99f915-2181-4dff-a96e-bb1ee41d9f46";

struct FixtureId {
  const char* request_name;
  const char* id;
};

// clang-format off
inline constexpr FixtureId kFixtureIds[] = {
    {"pvc-fix-000", kFixtureVolume},
    {"pvc-fix-prefix", kFixturePrefixVolume},
    {"pvc-fix-block", kFixtureBlockVolume},
    {"pvc-fix-datapool", "0001-0006-peer-a-0000000000000002-980b15f8-c31b-475c-8a34-359955249e36"},
    {"pvc-fix-topo", "0001-0006-peer-a-0000000000000004-7d8bf88f-2841-47f6-8cb9-9dc01bae4b03"},
    {"pvc-fix-ns", "0001-0007-peer-ns-0000000000000002-9b419548-9c2b-4aaf-800a-f51e429a1f0f"},
    {"pvc-fix-enc", "0001-0006-peer-a-0000000000000002-75cfeba3-a45c-417c-8214-5babf564aa10"},
    {"pvc-fix-journaling", "0001-0006-peer-a-0000000000000002-6324bc8c-88d2-4deb-a0f9-3087be2848db"},
    {"snap-fix-1", kFixtureSnapshot},
    {"pvc-fix-clone", "0001-0006-peer-a-0000000000000002-86fff89f-1be7-4361-b1a7-0adde4a9c80f"},
    {"vg-fix-1", kFixtureGroup1},
    {"vg-fix-2", kFixtureGroup2},
};

struct FixtureEntry {
  int64_t pool_id;
  const char* rados_namespace;
  const char* object;
  const char* key;
  const char* value;
};

inline constexpr FixtureEntry kFixtureEntries[] = {
    {2, "", "csi.snap.5ef79ce1-81e8-439b-8405-35138edf5b89", "csi.imageid", "1031a7ca24ea"},
    {2, "", "csi.snap.5ef79ce1-81e8-439b-8405-35138edf5b89", "csi.imagename", "csi-snap-5ef79ce1-81e8-439b-8405-35138edf5b89"},
    {2, "", "csi.snap.5ef79ce1-81e8-439b-8405-35138edf5b89", "csi.snapname", "snap-fix-1"},
    {2, "", "csi.snap.5ef79ce1-81e8-439b-8405-35138edf5b89", "csi.source", "csi-vol-b891b493-7754-470d-b2a0-4ca18f698b29"},
    {2, "", "csi.snap.5ef79ce1-81e8-439b-8405-35138edf5b89", "csi.volume.owner", "ns1"},
    {2, "", "csi.snaps.default", "csi.snap.snap-fix-1", "5ef79ce1-81e8-439b-8405-35138edf5b89"},
    {2, "", "csi.volume.6324bc8c-88d2-4deb-a0f9-3087be2848db", "csi.imageid", "1031e77c4596"},
    {2, "", "csi.volume.6324bc8c-88d2-4deb-a0f9-3087be2848db", "csi.imagename", "csi-vol-6324bc8c-88d2-4deb-a0f9-3087be2848db"},
    {2, "", "csi.volume.6324bc8c-88d2-4deb-a0f9-3087be2848db", "csi.volname", "pvc-fix-journaling"},
    {2, "", "csi.volume.75cfeba3-a45c-417c-8214-5babf564aa10", "csi.imageid", "1031b7d8be5f"},
    {2, "", "csi.volume.75cfeba3-a45c-417c-8214-5babf564aa10", "csi.imagename", "csi-vol-75cfeba3-a45c-417c-8214-5babf564aa10"},
    {2, "", "csi.volume.75cfeba3-a45c-417c-8214-5babf564aa10", "csi.volname", "pvc-fix-enc"},
    {2, "", "csi.volume.75cfeba3-a45c-417c-8214-5babf564aa10", "csi.volume.encryptKMS", "kms-md"},
    {2, "", "csi.volume.75cfeba3-a45c-417c-8214-5babf564aa10", "csi.volume.encryptionType", "block"},
    {2, "", "csi.volume.86fff89f-1be7-4361-b1a7-0adde4a9c80f", "csi.imageid", "103119ee925a"},
    {2, "", "csi.volume.86fff89f-1be7-4361-b1a7-0adde4a9c80f", "csi.imagename", "csi-vol-86fff89f-1be7-4361-b1a7-0adde4a9c80f"},
    {2, "", "csi.volume.86fff89f-1be7-4361-b1a7-0adde4a9c80f", "csi.volname", "pvc-fix-clone"},
    {2, "", "csi.volume.892ea53a-f435-4550-b697-2182e85e71c5", "csi.imageid", "10315b97d4b7"},
    {2, "", "csi.volume.892ea53a-f435-4550-b697-2182e85e71c5", "csi.imagename", "team-x-892ea53a-f435-4550-b697-2182e85e71c5"},
    {2, "", "csi.volume.892ea53a-f435-4550-b697-2182e85e71c5", "csi.volname", "pvc-fix-prefix"},
    {2, "", "csi.volume.980b15f8-c31b-475c-8a34-359955249e36", "csi.imageid", "10317782c90b"},
    {2, "", "csi.volume.980b15f8-c31b-475c-8a34-359955249e36", "csi.imagename", "csi-vol-980b15f8-c31b-475c-8a34-359955249e36"},
    {2, "", "csi.volume.980b15f8-c31b-475c-8a34-359955249e36", "csi.volname", "pvc-fix-datapool"},
    {2, "", "csi.volume.b891b493-7754-470d-b2a0-4ca18f698b29", "csi.imageid", "1031a976f30a"},
    {2, "", "csi.volume.b891b493-7754-470d-b2a0-4ca18f698b29", "csi.imagename", "csi-vol-b891b493-7754-470d-b2a0-4ca18f698b29"},
    {2, "", "csi.volume.b891b493-7754-470d-b2a0-4ca18f698b29", "csi.volname", "pvc-fix-000"},
    {2, "", "csi.volume.b891b493-7754-470d-b2a0-4ca18f698b29", "csi.volume.owner", "ns1"},
    {2, "", "csi.volume.bb8d184b-cbf9-4985-a719-66ab3e4a6aac", "csi.imageid", "10316e2cb52f"},
    {2, "", "csi.volume.bb8d184b-cbf9-4985-a719-66ab3e4a6aac", "csi.imagename", "csi-vol-bb8d184b-cbf9-4985-a719-66ab3e4a6aac"},
    {2, "", "csi.volume.bb8d184b-cbf9-4985-a719-66ab3e4a6aac", "csi.volname", "pvc-fix-block"},
    {2, "", "csi.volumes.default", "csi.volume.pvc-fix-000", "b891b493-7754-470d-b2a0-4ca18f698b29"},
    {2, "", "csi.volumes.default", "csi.volume.pvc-fix-block", "bb8d184b-cbf9-4985-a719-66ab3e4a6aac"},
    {2, "", "csi.volumes.default", "csi.volume.pvc-fix-clone", "86fff89f-1be7-4361-b1a7-0adde4a9c80f"},
    {2, "", "csi.volumes.default", "csi.volume.pvc-fix-datapool", "980b15f8-c31b-475c-8a34-359955249e36"},
    {2, "", "csi.volumes.default", "csi.volume.pvc-fix-enc", "75cfeba3-a45c-417c-8214-5babf564aa10"},
    {2, "", "csi.volumes.default", "csi.volume.pvc-fix-journaling", "6324bc8c-88d2-4deb-a0f9-3087be2848db"},
    {2, "", "csi.volumes.default", "csi.volume.pvc-fix-prefix", "892ea53a-f435-4550-b697-2182e85e71c5"},
    {2, "tenant1", "csi.volume.9b419548-9c2b-4aaf-800a-f51e429a1f0f", "csi.imageid", "1031f6a98cb1"},
    {2, "tenant1", "csi.volume.9b419548-9c2b-4aaf-800a-f51e429a1f0f", "csi.imagename", "csi-vol-9b419548-9c2b-4aaf-800a-f51e429a1f0f"},
    {2, "tenant1", "csi.volume.9b419548-9c2b-4aaf-800a-f51e429a1f0f", "csi.volname", "pvc-fix-ns"},
    {2, "tenant1", "csi.volumes.default", "csi.volume.pvc-fix-ns", "9b419548-9c2b-4aaf-800a-f51e429a1f0f"},
    {4, "", "csi.volume.7d8bf88f-2841-47f6-8cb9-9dc01bae4b03", "csi.imageid", "10314b1d6af5"},
    {4, "", "csi.volume.7d8bf88f-2841-47f6-8cb9-9dc01bae4b03", "csi.imagename", "csi-vol-7d8bf88f-2841-47f6-8cb9-9dc01bae4b03"},
    {4, "", "csi.volume.7d8bf88f-2841-47f6-8cb9-9dc01bae4b03", "csi.volname", "pvc-fix-topo"},
    {4, "", "csi.volumes.default", "csi.volume.pvc-fix-topo", "7d8bf88f-2841-47f6-8cb9-9dc01bae4b03"},
    {2, "", "csi.groups.default", "csi.volume.group.vg-fix-1", "1603eb04-e188-4ec4-a750-bec38d49ac0a"},
    {2, "", "csi.groups.default", "csi.volume.group.vg-fix-2", "ef99f915-2181-4dff-a96e-bb1ee41d9f46"},
    {2, "", "csi.volume.group.1603eb04-e188-4ec4-a750-bec38d49ac0a", "0001-0006-peer-a-0000000000000002-b891b493-7754-470d-b2a0-4ca18f698b29", ""},
    {2, "", "csi.volume.group.1603eb04-e188-4ec4-a750-bec38d49ac0a", "0001-0006-peer-a-0000000000000002-bb8d184b-cbf9-4985-a719-66ab3e4a6aac", ""},
    {2, "", "csi.volume.group.1603eb04-e188-4ec4-a750-bec38d49ac0a", "csi.creationtime", "2026-11-20T11:43:38.840418481Z"},
    {2, "", "csi.volume.group.1603eb04-e188-4ec4-a750-bec38d49ac0a", "csi.groupname", "csi-vol-group-1603eb04-e188-4ec4-a750-bec38d49ac0a"},
    {2, "", "csi.volume.group.1603eb04-e188-4ec4-a750-bec38d49ac0a", "csi.volname", "vg-fix-1"},
    {2, "", "csi.volume.group.ef99f915-2181-4dff-a96e-bb1ee41d9f46", "csi.creationtime", "2026-11-20T11:46:22.246147668Z"},
    {2, "", "csi.volume.group.ef99f915-2181-4dff-a96e-bb1ee41d9f46", "csi.groupname", "mygrp-ef99f915-2181-4dff-a96e-bb1ee41d9f46"},
    {2, "", "csi.volume.group.ef99f915-2181-4dff-a96e-bb1ee41d9f46", "csi.volname", "vg-fix-2"},
};
// clang-format on

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_VOLUME_JOURNAL_FIXTURES_H_
