#include "tests/integration/crash_bed.h"

#include <atomic>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/json.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using nlohmann::json;
using Contents = CrashBed::Contents;

constexpr uint64_t kObjectBytes = uint64_t{4} << 20;
constexpr uint64_t kBytes = 4 * kObjectBytes;
constexpr uint64_t kTextBytes = 512;

std::string UuidOf(const TestVolume& volume) {
  return volume.image.substr(volume.image.size() - 36);
}

std::string Handle(const std::string& site, const std::string& uuid) {
  return absl::StrFormat("0001-0006-site-%s-%016x-%s", site, Bed().PoolId(site),
                         uuid);
}

std::string NewUuid() {
  std::string uuid;
  std::ifstream("/proc/sys/kernel/random/uuid") >> uuid;
  return uuid;
}

/// Times, ids and the like are other ones in each run.
std::string WithoutNumbers(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool number = absl::ascii_isxdigit(static_cast<unsigned char>(c));
    if (!number) {
      result += c;
    } else if (result.empty() || result.back() != '#') {
      result += '#';
    }
  }
  return result;
}

absl::Status OkIfThere(const absl::Status& status) {
  return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
}

void AddImage(Image& image, Contents* all) {
  const auto id = image.Id();
  const auto info = image.MirrorInfo();
  const auto snapshots = image.MirrorSnapshots();
  const auto metadata = image.ListMetadata("");
  const auto lockers = image.Lockers();
  const auto group = image.Group();
  const auto marked = image.MarkedNonPrimary();
  const auto data = image.Read({{0, kTextBytes}});
  if (!id.ok() || !info.ok() || !snapshots.ok() || !metadata.ok() ||
      !lockers.ok() || !group.ok() || !marked.ok() || !data.ok()) {
    (*all)["image"] = "cannot be read";
    return;
  }
  Contents& contents = *all;
  contents["image"] = "there";
  const bool mirrored = info->state != MirrorImageState::kDisabled;
  contents["mirroring"] =
      absl::StrCat(std::string(Name(info->state)),
                   mirrored ? (info->primary ? " primary" : " secondary") : "");
  contents["writes"] = *marked ? "refused" : "taken";
  int incomplete = 0;
  for (const MirrorSnapshot& one : *snapshots)
    incomplete += one.complete ? 0 : 1;
  if (incomplete > 0) contents["incomplete"] = absl::StrCat(incomplete);
  if (!snapshots->empty()) {
    contents["newest snapshot"] = std::string(Name(snapshots->back().kind));
  }
  for (const auto& [key, value] : *metadata) {
    contents["metadata " + key] = WithoutNumbers(value);
  }
  // librbd's own lock is that of rbd-mirror, or of a client that has died: it
  // stays until another one wants it.
  for (const Locker& locker : *lockers) {
    if (!absl::StartsWith(locker.cookie, "auto ")) {
      contents["lock"] = locker.cookie;
    }
  }
  if (*group) contents["rbd group"] = WithoutNumbers((*group)->name);
  contents["data"] =
      std::string(data->at(0).bytes.substr(0, data->at(0).bytes.find('\n')));
  contents["<id>"] = *id;
}

/// A secondary, which its rbd-mirror keeps.
bool IsCopy(Pool& pool, const ImageName& name) {
  const auto image = pool.OpenImageReadOnly(name);
  if (!image.ok()) return false;
  const auto info = (*image)->MirrorInfo();
  return info.ok() && info->state != MirrorImageState::kDisabled &&
         !info->primary;
}

void EndMirroring(Pool& pool, const ImageName& name, Force force) {
  const auto image = pool.OpenImage(name);
  if (image.ok()) (void)(*image)->MirrorDisable(force);
}

}  // namespace

CrashBed::CrashBed()
    : gate_(std::make_shared<CallGate>(RealClock())),
      cache_(ShortTimeouts(), RealClock(), gate_) {
  for (const std::string site : {"a", "b"}) {
    EXPECT_OK(OkIfThere(Open(site)->CreateObject("csi.volumes.default")));
  }
}

std::shared_ptr<Cluster> CrashBed::Connect(const std::string& site) {
  return cache_.Connect(Bed().Target(site), Bed().User(site)).value();
}

std::unique_ptr<Pool> CrashBed::Open(const std::string& site, Access access) {
  return Connect(site)->OpenPool(Bed().PoolId(site), "", access).value();
}

void CrashBed::Reserve(Pool& pool, const std::string& uuid,
                       const std::string& image_id) {
  const std::string object = "csi.volume." + uuid;
  const std::string name = "pvc-" + uuid;
  EXPECT_OK(pool.CreateObject(object));
  EXPECT_OK(pool.SetOmapValues("csi.volumes.default",
                               {{"csi.volume." + name, uuid}}));
  EXPECT_OK(pool.SetOmapValues(object, {{"csi.volname", name},
                                        {"csi.imagename", "csi-vol-" + uuid},
                                        {"csi.volume.owner", "default"},
                                        {"csi.imageid", image_id}}));
}

TestVolume CrashBed::MakeVolume() {
  const std::string uuid = NewUuid();
  TestVolume volume;
  volume.image = "csi-vol-" + uuid;
  volume.id_a = Handle("a", uuid);
  volume.id_b = Handle("b", uuid);
  const auto pool = Open("a");
  ImageLayout layout;
  layout.bytes = kBytes;
  layout.object_bytes = kObjectBytes;
  layout.stripe_unit = kObjectBytes;
  layout.stripe_count = 1;
  layout.data_pool_id = pool->id();
  EXPECT_OK(pool->CreateImage(ImageName(volume.image), layout));
  const auto image = pool->OpenImageReadOnly(ImageName(volume.image));
  EXPECT_OK(image);
  if (image.ok()) Reserve(*pool, uuid, (*image)->Id().value_or(""));
  return volume;
}

void CrashBed::MakePeerJournal(TestVolume* volume) {
  const auto pool = Open("b");
  const auto image = pool->OpenImageReadOnly(ImageName(volume->image));
  EXPECT_OK(image);
  if (!image.ok()) return;
  Reserve(*pool, UuidOf(*volume), (*image)->Id().value_or(""));
}

void CrashBed::Remove(const TestVolume& volume) {
  const std::string uuid = UuidOf(volume);
  const ImageName name(volume.image);
  // Primaries first: a copy is removed by its rbd-mirror then. What stays is
  // removed by force.
  for (const std::string site : {"a", "b"}) {
    const auto pool = Open(site);
    if (!IsCopy(*pool, name)) EndMirroring(*pool, name, Force::kNo);
  }
  for (const std::string site : {"a", "b"}) {
    const auto pool = Open(site);
    const auto gone = [&] { return !pool->HasImage(name).value_or(true); };
    if (IsCopy(*pool, name) && !Eventually(gone, std::chrono::seconds(15))) {
      EndMirroring(*pool, name, Force::kYes);
    }
    Eventually([&] { return gone() || pool->RemoveImage(name).ok(); });
    (void)pool->RemoveObject("csi.volume." + uuid);
    (void)pool->RemoveOmapKeys("csi.volumes.default",
                               {"csi.volume.pvc-" + uuid});
  }
}

void CrashBed::RemoveGroup(const std::string& name) {
  const auto pool = Open("a");
  const std::string key = "csi.volume.group." + name;
  const auto uuid = pool->ReadOmapKey("csi.groups.default", key);
  if (!uuid.ok() || !*uuid) return;
  (void)pool->RemoveGroup("csi-vol-group-" + **uuid);
  (void)pool->RemoveObject("csi.volume.group." + **uuid);
  (void)pool->RemoveOmapKeys("csi.groups.default", {key});
}

void CrashBed::Change(const std::string& site, const TestVolume& volume,
                      const std::function<absl::Status(Image&)>& change) {
  const auto pool = Open(site);
  const auto image = pool->OpenImage(ImageName(volume.image));
  EXPECT_OK(image);
  if (!image.ok()) return;
  EXPECT_OK(change(**image));
  EXPECT_OK((*image)->Close());
}

void CrashBed::Write(const std::string& site, const TestVolume& volume,
                     const std::string& text) {
  Change(site, volume, [&](Image& image) {
    std::string bytes = text + "\n";
    bytes.resize(kTextBytes);
    const absl::Status written = image.Write({{{0, kTextBytes}, bytes}});
    return written.ok() ? image.Flush() : written;
  });
}

void CrashBed::TakeSnapshot(const std::string& site, const TestVolume& volume) {
  Change(site, volume,
         [](Image& image) { return image.CreateMirrorSnapshot().status(); });
}

std::optional<MirrorSnapshot> CrashBed::Newest(const std::string& site,
                                               const TestVolume& volume) {
  const auto pool = Open(site, Access::kRead);
  const auto image = pool->OpenImageReadOnly(ImageName(volume.image));
  if (!image.ok()) return std::nullopt;
  const auto snapshots = (*image)->MirrorSnapshots();
  if (!snapshots.ok() || snapshots->empty()) return std::nullopt;
  return snapshots->back();
}

std::string CrashBed::Report(const std::string& site,
                             const TestVolume& volume) {
  const auto pool = Open(site, Access::kRead);
  const auto image = pool->OpenImageReadOnly(ImageName(volume.image));
  if (!image.ok()) return "";
  const auto statuses = (*image)->MirrorStatus();
  if (!statuses.ok() || statuses->empty() || !statuses->front().local()) {
    return "";
  }
  return statuses->front().description;
}

Contents CrashBed::OfVolume(const std::string& site, const TestVolume& volume) {
  Contents contents;
  const auto pool = Open(site, Access::kRead);
  const auto image = pool->OpenImageReadOnly(ImageName(volume.image));
  if (image.ok()) {
    AddImage(**image, &contents);
  } else {
    contents["image"] =
        absl::IsNotFound(image.status()) ? "absent" : image.status().ToString();
  }
  const std::string id = contents["<id>"];
  contents.erase("<id>");
  const auto journal = pool->ReadOmap("csi.volume." + UuidOf(volume), "csi.");
  if (journal.ok()) {
    for (const auto& [key, value] : *journal) {
      contents["journal " + key] = key == "csi.imageid"
                                       ? (value == id ? "right" : "wrong")
                                       : WithoutNumbers(value);
    }
  }
  const auto schedules = Connect(site)->MgrCommand(json{
      {"prefix", "rbd mirror snapshot schedule list"},
      {"level_spec", absl::StrCat(RealBed::kPool, "/", volume.image)},
      {"format", "json"}}.dump());
  const json listed = ParseJson(schedules.value_or(""));
  if (listed.is_object()) {
    for (const auto& [level, schedule] : listed.items()) {
      contents["schedule"] = schedule.value("schedule", json()).dump();
    }
  }
  Contents at;
  for (const auto& [key, value] : contents) at[site + ": " + key] = value;
  return at;
}

Contents CrashBed::OfGroup(const std::string& name,
                           const std::vector<TestVolume>& members) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const TestVolume& member : members) {
    words.emplace_back(UuidOf(member),
                       absl::StrCat("<member ", words.size(), ">"));
  }
  const auto pool = Open("a", Access::kRead);
  Contents contents;
  const auto uuid =
      pool->ReadOmapKey("csi.groups.default", "csi.volume.group." + name);
  if (!uuid.ok() || !*uuid) {
    contents["group"] = "absent";
    return contents;
  }
  contents["group"] = "there";
  const auto journal = pool->ReadOmap("csi.volume.group." + **uuid, "");
  if (!journal.ok()) contents["journal"] = "absent";
  for (const auto& [key, value] : journal.value_or(OmapValues())) {
    contents["journal " + absl::StrReplaceAll(key, words)] =
        WithoutNumbers(absl::StrReplaceAll(value, {{name, "<name>"}}));
  }
  const auto images = pool->GroupImages("csi-vol-group-" + **uuid);
  if (!images.ok()) contents["rbd group"] = images.status().ToString();
  for (const GroupImage& image : images.value_or(std::vector<GroupImage>())) {
    contents["rbd group " + absl::StrReplaceAll(image.image.text(), words)] =
        image.complete ? "complete" : "incomplete";
  }
  return contents;
}

Contents CrashBed::OfBlocklist(const std::string& prefix) {
  Contents contents;
  const auto listing =
      Connect("a")->MonCommand(R"({"prefix": "osd blocklist ls"})");
  EXPECT_OK(listing);
  for (const auto line : absl::StrSplit(listing.value_or(""), '\n')) {
    if (absl::StrContains(line, prefix)) {
      contents[std::string(line.substr(0, line.find(' ')))] = "blocked";
    }
  }
  return contents;
}

std::vector<std::string> CrashBed::LostGroups(const std::string& site) {
  const auto pool = Open(site, Access::kRead);
  std::set<std::string> known;
  const auto names = pool->ReadOmap("csi.groups.default", "");
  for (const auto& [key, uuid] : names.value_or(OmapValues())) {
    known.insert("csi.volume.group." + uuid);
  }
  std::vector<std::string> left;
  const std::string objects =
      Bed().Run("rados", {site, "-p", RealBed::kPool, "ls"}).value_or("");
  for (const auto object : absl::StrSplit(objects, '\n')) {
    const std::string name(object);
    if (absl::StartsWith(name, "csi.volume.group.") && !known.contains(name)) {
      left.push_back(absl::StrCat(site, ": ", name));
    }
  }
  return left;
}

}  // namespace addons::testing
