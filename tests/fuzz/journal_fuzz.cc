// Values of ceph-csi's journal, one "key=value" a line, as the object of a
// volume and as that of a group.

#include <memory>
#include <string>

#include "absl/strings/str_split.h"
#include "ceph/pool.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "volume/group_journal.h"
#include "volume/volume_journal.h"

namespace addons::testing {
namespace {

constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kCopyUuid[] = "b891b493-7754-470d-b2a0-4ca18f698b29";

/// One cluster with one pool, for all inputs.
struct Journal {
  FakeWorld world;
  MirroredPair pair{world};
  std::shared_ptr<Cluster> cluster = pair.cluster(pair.a());
  std::unique_ptr<Pool> pool =
      *cluster->OpenPool(pair.pool_id(pair.a()), "", Access::kMutate);

  void Set(const std::string& prefix, const OmapValues& values) {
    pair.a().SetOmap(MirroredPair::kPool, "", prefix + kUuid, values);
  }
};

std::string ValueOf(const OmapValues& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

void CheckVolume(Journal& journal, const OmapValues& values) {
  journal.Set("csi.volume.", values);
  const auto volume = VolumeJournal(*journal.pool).Read(kUuid);
  if (!values.contains("csi.volname")) {
    CheckError(volume.status(), absl::StatusCode::kNotFound);
    return;
  }
  CheckThat(volume.ok(), "a journal object with a name is that of a volume");
  const std::string image = ValueOf(values, "csi.imagename");
  CheckThat(volume->image_name.text() ==
                (image.empty() ? MirroredPair::ImageOf(kUuid) : image),
            "a volume has an image", volume->image_name.text());
  CheckThat(volume->image_id == ValueOf(values, "csi.imageid") &&
                volume->kms_id == ValueOf(values, "csi.volume.encryptKMS"),
            "values are taken as they are");
}

void CheckGroup(Journal& journal, const OmapValues& values) {
  journal.Set("csi.volume.group.", values);
  GroupJournal groups(*journal.pool);
  const auto group = groups.Read(kUuid);
  if (!group.ok()) {
    CheckError(group.status(), absl::IsInvalidArgument(group.status())
                                   ? absl::StatusCode::kInvalidArgument
                                   : absl::StatusCode::kNotFound);
    return;
  }
  CheckThat(!group->group_name.empty(), "a group has a name");
  CheckThat(
      std::is_sorted(group->members.begin(), group->members.end()) &&
          std::adjacent_find(group->members.begin(), group->members.end()) ==
              group->members.end(),
      "members are sorted, each once");
  for (const VolumeHandle& member : group->members) {
    CheckThat(ValueOf(values, member.text()).empty(), "a member has no value",
              member.text());
  }
  CheckThat(groups.Create(kCopyUuid, *group).ok() &&
                groups.AddMembers(kCopyUuid, group->members).ok(),
            "what was read can be written");
  const auto copy = groups.Read(kCopyUuid);
  CheckThat(copy.ok() && copy->members == group->members &&
                copy->group_name == group->group_name &&
                copy->request_name == group->request_name &&
                copy->creation_time == group->creation_time,
            "written and read again it is the same");
  CheckThat(groups.Remove(kCopyUuid).ok(), "it can be removed");
}

void Check(absl::string_view input) {
  static auto* const journal = new Journal;
  OmapValues values;
  for (const absl::string_view line : absl::StrSplit(input, '\n')) {
    const auto [key, value] = SplitInput(line, "=");
    values[key] = value;
  }
  CheckVolume(*journal, values);
  CheckGroup(*journal, values);
  journal->world.ClearCalls();
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
