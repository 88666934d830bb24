// Taking over by force while a copy is on its way that brings a point, or
// another snapshot of a user: the daemon lives, each volume holds a state that
// it once had whole, and no snapshot stays that has arrived in part.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/image_name.h"
#include "base/mutex.h"
#include "base/parallel.h"
#include "ceph/image.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/pool.h"
#include "tests/cluster/two_sites.h"
#include "tests/integration/command_line.h"
#include "tests/testing/long_run.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

const bool kPointTakeoverBed = OnBluestore({"LongPointTakeoverTest"});

// --- what is written: numbered blocks, one after the other

constexpr uint64_t kBytes = uint64_t{512} << 20;
constexpr uint64_t kSlots = 256;
constexpr uint64_t kStride = kBytes / kSlots;  // two in an object
constexpr uint64_t kBlock = 4096;
constexpr uint64_t kAtATime = uint64_t{4} << 20;

/// Where block `number` lies; the next one is in quite another object.
uint64_t OffsetOf(uint64_t number) { return number * 181 % kSlots * kStride; }

std::string BlockOf(const std::string& image, uint64_t number) {
  std::string block = absl::StrCat("block ", number, " of ", image, "\n");
  block.resize(kBlock, '.');
  return block;
}

/// 0: nothing was written there.
uint64_t NumberIn(absl::string_view block) {
  uint64_t number = 0;
  if (!absl::ConsumePrefix(&block, "block ")) return 0;
  return absl::SimpleAtoi(block.substr(0, block.find(' ')), &number) ? number
                                                                     : 0;
}

bool IsZeros(absl::string_view bytes) {
  return bytes.find_first_not_of('\0') == absl::string_view::npos;
}

/// An image as somebody reads it who has nothing to do with the daemon.
struct OpenImage {
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Image> image;
};

/// Several threads may open.
class Reader {
 public:
  explicit Reader(std::string site)
      : site_(std::move(site)),
        clusters_(ShortTimeouts(), RealClock(),
                  std::make_shared<CallGate>(RealClock())) {}

  /// nullopt: it cannot be opened now.
  std::optional<OpenImage> Open(const TestVolume& volume) {
    const auto cluster =
        clusters_.Connect(Bed().Target(site_), Bed().User(site_));
    if (!cluster.ok()) return std::nullopt;
    auto pool = (*cluster)->OpenPool(Bed().PoolId(site_), "", Access::kRead);
    if (!pool.ok()) return std::nullopt;
    auto image = (*pool)->OpenImageReadOnly(ImageName(volume.image));
    if (!image.ok()) return std::nullopt;
    return OpenImage{*std::move(pool), *std::move(image)};
  }

 private:
  const std::string site_;
  ConnectionCache clusters_;
};

std::string ReadAt(Image& image, uint64_t offset, uint64_t length) {
  const auto data = image.Read({{offset, length}});
  if (!data.ok()) return "";
  std::string bytes = data->front().bytes;
  bytes.resize(length, '\0');
  return bytes;
}

/// Of a state that is known to be whole: how many blocks were written then.
uint64_t CountWritten(Image& image) {
  const auto number_at = [&](uint64_t number) {
    return NumberIn(ReadAt(image, OffsetOf(number), kBlock));
  };
  const uint64_t first = number_at(1);
  if (first == 0) return 0;
  // Those after it in the same round through the slots are there up to one.
  uint64_t low = 0;
  uint64_t high = kSlots;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (number_at(first + middle) == first + middle ? low : high) = middle;
  }
  return first + low;
}

struct Content {
  uint64_t written = 0;
  std::string fault;    // empty: it is what the first `written` blocks left
  uint64_t offset = 0;  // of a block that is not
};

/// Reads all of it.
Content Judge(const std::string& name, Image& image) {
  std::map<uint64_t, std::string> blocks;
  Content content;
  for (uint64_t begin = 0; begin < kBytes; begin += kAtATime) {
    const std::string bytes = ReadAt(image, begin, kAtATime);
    if (bytes.size() != kAtATime) return {0, "it cannot be read"};
    for (uint64_t at = 0; at < kAtATime; at += kStride) {
      const absl::string_view piece(bytes.data() + at, kStride);
      blocks[begin + at] = std::string(piece.substr(0, kBlock));
      content.written =
          std::max(content.written, NumberIn(piece.substr(0, kBlock)));
      if (!IsZeros(piece.substr(kBlock))) {
        content.fault = absl::StrCat("data behind byte ", begin + at);
      }
    }
  }
  uint64_t differ = 0;
  std::string first;
  for (uint64_t i = 0; i < kSlots; ++i) {
    // The last ones that were written, each in a slot of its own.
    const bool there = content.written > i;
    const uint64_t number = there ? content.written - i : 0;
    const uint64_t offset =
        OffsetOf(there ? number : content.written + kSlots - i);
    const std::string& block = blocks[offset];
    if (there ? block == BlockOf(name, number) : IsZeros(block)) continue;
    if (differ++ == 0) {
      content.offset = offset;
      first = absl::StrCat("in place of block ", number, " there is ",
                           NumberIn(block));
    }
  }
  if (differ > 0) {
    content.fault = absl::StrCat(differ, " blocks are not of one state with ",
                                 content.written, ": ", first);
  }
  return content;
}

// --- what happens on site a

/// A volume on a that is written all the time.
struct BusyVolume {
  TestVolume volume;
  bool by_hand = false;  // its snapshots are made by the rbd command
  std::atomic<uint64_t> written{0};

  struct Point {
    uint64_t id = 0;       // on a
    uint64_t written = 0;  // blocks that it has
  };
  Mutex mutex;
  /// What was written at each mirror snapshot of a, by id.
  std::map<uint64_t, uint64_t> states ABSL_GUARDED_BY(mutex);
  std::map<std::string, Point> points ABSL_GUARDED_BY(mutex);
  std::atomic<int> made{0};
};
using Volumes = std::vector<std::unique_ptr<BusyVolume>>;

constexpr char kSealedByHand[] = "sealed-";

/// From Press() on rbd-mirror of a site gets a share of the time only, as on a
/// slow machine.
class Brake {
 public:
  explicit Brake(const std::string& site) {
    std::ifstream(Bed().Path(absl::StrCat(site, "/pid/rbd-mirror"))) >> pid_;
  }
  void Press() {
    if (thread_.joinable()) return;
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        Signal(SIGCONT);
        RealClock().SleepFor(kRuns, stop);
        Signal(SIGSTOP);
        RealClock().SleepFor(kStands, stop);
      }
    });
  }
  ~Brake() { Release(); }
  Brake(const Brake&) = delete;
  Brake& operator=(const Brake&) = delete;

  void Freeze() {
    const MutexLock lock(mutex_);
    frozen_ = true;
    if (pid_ > 0) kill(pid_, SIGSTOP);
  }
  void Thaw() {
    const MutexLock lock(mutex_);
    frozen_ = false;
  }
  /// It runs freely from now on.
  void Release() {
    Leave();
    Thaw();
    Signal(SIGCONT);
    pid_ = 0;
  }
  /// It stays as it is.
  void Leave() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }

 private:
  static constexpr milliseconds kRuns{15};
  static constexpr milliseconds kStands{60};

  void Signal(int signal) {
    const MutexLock lock(mutex_);
    if (!frozen_ && pid_ > 0) kill(pid_, signal);
  }

  pid_t pid_ = 0;
  Mutex mutex_;
  bool frozen_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

/// What site b has of a volume.
struct Seen {
  bool looked = false;
  bool in_mid_copy = false;
  std::vector<std::string> points;  // that no complete mirror snapshot covers
  uint64_t whole = 0;               // a's id of the newest complete one
  uint64_t copied_objects = 0;

  bool half_point() const { return in_mid_copy && !points.empty(); }
  /// Its name is there, and nothing of the copy.
  bool lone_point() const { return !in_mid_copy && !points.empty(); }
};

Seen LookAtCopy(Reader& reader, const TestVolume& volume) {
  Seen seen;
  const auto open = reader.Open(volume);
  if (!open.has_value()) return seen;
  const auto mirror = open->image->MirrorSnapshots();
  const auto all = open->image->Snapshots();
  if (!mirror.ok() || !all.ok() || mirror->empty()) return seen;
  uint64_t whole = 0;
  for (const MirrorSnapshot& snapshot : *mirror) {
    if (!snapshot.copied() || !snapshot.complete) continue;
    whole = snapshot.id;
    seen.whole = snapshot.primary_snapshot_id;
  }
  const MirrorSnapshot& newest = mirror->back();
  seen.in_mid_copy = newest.copied() && !newest.complete;
  if (seen.in_mid_copy) seen.copied_objects = newest.last_copied_object;
  for (const ImageSnapshot& snapshot : *all) {
    if (snapshot.kind == SnapshotKind::kUser && snapshot.id > whole) {
      seen.points.push_back(snapshot.name);
    }
  }
  seen.looked = true;
  return seen;
}

/// Notes what each snapshot of a has, while it is there.
void NoteStates(Reader& reader, BusyVolume& busy) {
  const auto open = reader.Open(busy.volume);
  if (!open.has_value()) return;
  const auto mirror = open->image->MirrorSnapshots();
  const auto all = open->image->Snapshots();
  if (!mirror.ok() || !all.ok()) return;
  // One that is removed meanwhile reads as what was written later.
  const auto written_at = [&](uint64_t id) -> uint64_t {
    if (!open->image->SelectSnapshot(id).ok()) return 0;
    const uint64_t written = CountWritten(*open->image);
    const auto now = reader.Open(busy.volume);
    const auto left = now.has_value()
                          ? now->image->Snapshots()
                          : absl::StatusOr<std::vector<ImageSnapshot>>();
    const bool there =
        left.ok() && std::any_of(left->begin(), left->end(),
                                 [id](const ImageSnapshot& snapshot) {
                                   return snapshot.id == id;
                                 });
    return there ? written : 0;
  };
  for (const MirrorSnapshot& snapshot : *mirror) {
    if (snapshot.kind != MirrorSnapshotKind::kPrimary || !snapshot.complete) {
      continue;
    }
    {
      const MutexLock lock(busy.mutex);
      if (busy.states.contains(snapshot.id)) continue;
    }
    const uint64_t written = written_at(snapshot.id);
    const MutexLock lock(busy.mutex);
    if (written > 0) busy.states[snapshot.id] = written;
  }
  for (const ImageSnapshot& snapshot : *all) {
    if (snapshot.kind != SnapshotKind::kUser) continue;
    {
      const MutexLock lock(busy.mutex);
      if (busy.points.contains(snapshot.name)) continue;
    }
    const uint64_t written = written_at(snapshot.id);
    const MutexLock lock(busy.mutex);
    if (written > 0) busy.points[snapshot.name] = {snapshot.id, written};
  }
}

/// What is not well when b is to be promoted.
enum class Trouble { kNone, kMirrorKilled, kMirrorHangs, kSiteAway };

const char* NameOf(Trouble trouble) {
  switch (trouble) {
    case Trouble::kNone:
      return "site a lives";
    case Trouble::kMirrorKilled:
      return "rbd-mirror killed";
    case Trouble::kMirrorHangs:
      return "rbd-mirror hangs";
    case Trouble::kSiteAway:
      return "site a away";
  }
  return "";
}

struct Tally {
  int tries = 0;
  int mid_copy = 0;        // seen, of them with half a point and without
  int half_points = 0;     // seen right before the promotions
  int lone_points = 0;     // likewise
  int removed_points = 0;  // which the daemon says it has removed
  int removed_names = 0;   // likewise
  int rescues = 0;         // likewise, it has brought a state back
  int last_whole = 0;      // what came back, by what was seen
  int one_before = 0;
  int newer = 0;
  int not_noted = 0;          // of one moment, but of no snapshot that was read
  int points_kept = 0;        // each whole
  std::vector<double> times;  // of promotions, in seconds
};

class LongPointTakeoverTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() {
    TwoSitesTest::SetUpTestSuite();
    // So that a copy takes as long as with slow disks, and all go at once.
    CopyObjectsAtOnce(1);
    for (const std::string site : {"a", "b"}) {
      Testbed("ceph", {site, "config", "set", "client",
                       "rbd_mirror_concurrent_image_syncs", "64"});
    }
  }

 protected:
  static CliResult On(const std::string& site,
                      std::vector<std::string> arguments) {
    arguments.insert(
        arguments.end(),
        {"--secrets-file", Bed().Path(absl::StrCat(site, "/secrets.json"))});
    return RbdAddons(Daemon(site), std::move(arguments));
  }

  static void WriteOn(BusyVolume& busy, const std::stop_token& stop) {
    const auto disk = OpenDisk("a", busy.volume);
    while (!stop.stop_requested()) {
      const uint64_t number = busy.written + 1;
      if (disk->Write(OffsetOf(number), BlockOf(busy.volume.image, number)) !=
          0) {
        ADD_FAILURE() << "writing failed";
        return;
      }
      busy.written = number;
      RealClock().SleepFor(milliseconds(4), stop);
    }
  }

  /// Points, one after the other, or what a customer's VolumeSnapshot is.
  static void MakeSnapshots(BusyVolume& busy, const std::stop_token& stop,
                            uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::string spec = ImageSpec(busy.volume);
    const auto mirror = [&] {
      Rbd("a", {"mirror", "image", "snapshot", spec});
    };
    std::string before;
    for (int n = 1; !stop.stop_requested(); ++n) {
      if (!busy.by_hand) {
        const std::string name = absl::StrCat("p", n);
        const CliResult made =
            On("a", {"point", "create", busy.volume.id("a"), "--name", name,
                     "--rate", "0", "--timeout", "60"});
        if (made.code == 0) ++busy.made;
        if (stop.stop_requested()) return;
        if (!before.empty() && random() % 2 == 0) {
          On("a", {"point", "remove", busy.volume.id("a"), before, "--timeout",
                   "20"});
        }
        before = name;
        continue;
      }
      RealClock().SleepFor(milliseconds(1000 + random() % 4000), stop);
      if (stop.stop_requested()) return;
      const bool sealed = random() % 2 == 0;
      mirror();
      if (sealed) mirror();
      if (!sealed) RealClock().SleepFor(milliseconds(random() % 2000), stop);
      if (stop.stop_requested()) return;
      const std::string name =
          absl::StrCat(sealed ? kSealedByHand : "plain-", n);
      Rbd("a",
          {"snap", "create", "--no-progress", absl::StrCat(spec, "@", name)});
      RealClock().SleepFor(milliseconds(random() % 200), stop);
      mirror();
      ++busy.made;
      if (!before.empty() && random() % 2 == 0) {
        Rbd("a",
            {"snap", "rm", "--no-progress", absl::StrCat(spec, "@", before)});
      }
      before = name;
    }
  }

  static void MakeVolumes(Volumes& volumes) {
    RunParallel(volumes.size(), 4, [&](size_t i) {
      BusyVolume& busy = *volumes[i];
      busy.volume = MakeReplicatedVolume(ScheduleNotDue(), {"--size", "512M"});
      const auto disk = OpenDisk("a", busy.volume);
      for (uint64_t n = 1; n <= kSlots + i * 13; ++n) {
        EXPECT_EQ(disk->Write(OffsetOf(n), BlockOf(busy.volume.image, n)), 0);
        busy.written = n;
      }
      Synchronize("a", busy.volume);
    });
  }

  /// By force, until it answers OK.
  static grpc::Status PromoteByForce(const BusyVolume& busy, double* took) {
    const auto begin = steady_clock::now();
    grpc::Status answer;
    do {
      answer = Promote("b", busy.volume, true, ScheduleNotDue(), seconds(60));
    } while ((answer.error_code() == Code::UNAVAILABLE ||
              answer.error_code() == Code::ABORTED) &&
             Daemon("b").Running() &&
             steady_clock::now() - begin < seconds(600));
    *took = std::chrono::duration<double>(steady_clock::now() - begin).count();
    return answer;
  }

  struct Try {
    Seen seen;
    grpc::Status answer;
    double took = 0;
  };

  /// Waits until some volumes are in mid-copy with a point.
  static void AwaitHalfPoints(const Volumes& volumes, Brake& brake,
                              std::mt19937_64& random) {
    Reader b("b");
    const size_t wanted =
        1 + random() % std::max<size_t>(1, volumes.size() / 2);
    // Now and then the moment before the copy is awaited.
    const bool lone = random() % 4 == 0;
    const auto until = steady_clock::now() + seconds(75);
    while (steady_clock::now() < until) {
      size_t met = 0;
      size_t alone = 0;
      for (const auto& busy : volumes) {
        const Seen seen = LookAtCopy(b, busy->volume);
        met += seen.half_point() ? 1 : 0;
        alone += seen.lone_point() ? 1 : 0;
      }
      if (met + alone > 0) brake.Press();
      if (met >= wanted || (lone && alone > 0)) break;
    }
    if (!lone) {
      RealClock().SleepFor(milliseconds(random() % 500), std::stop_token());
    }
  }

  void TakeOver(Volumes& volumes, std::vector<Try>& tries, Trouble trouble,
                uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::jthread> makers;
    std::vector<std::jthread> writers;
    for (size_t i = 0; i < volumes.size(); ++i) {
      BusyVolume& busy = *volumes[i];
      writers.emplace_back(
          [&busy](const std::stop_token& stop) { WriteOn(busy, stop); });
      makers.emplace_back([&busy, seed, i](const std::stop_token& stop) {
        MakeSnapshots(busy, stop, seed * 100 + i);
      });
    }
    std::jthread noting([&volumes](const std::stop_token& stop) {
      Reader a("a");
      while (!stop.stop_requested()) {
        for (const auto& busy : volumes) NoteStates(a, *busy);
        RealClock().SleepFor(milliseconds(20), stop);
      }
    });
    {
      Brake brake("b");
      AwaitHalfPoints(volumes, brake, random);
      brake.Freeze();
      Reader b("b");
      for (size_t i = 0; i < volumes.size(); ++i) {
        tries[i].seen = LookAtCopy(b, volumes[i]->volume);
      }
      {
        Reader a("a");
        for (const auto& busy : volumes) NoteStates(a, *busy);
      }
      switch (trouble) {
        case Trouble::kNone:
          // Full speed in one of three.
          if (random() % 3 == 0) {
            brake.Release();
          } else {
            brake.Thaw();
          }
          break;
        case Trouble::kMirrorKilled:
          brake.Leave();
          EndMirrorDaemon("b", MirrorEnd::kKilled);
          brake.Release();
          break;
        case Trouble::kMirrorHangs:
          brake.Leave();
          break;
        case Trouble::kSiteAway:
          brake.Thaw();
          Stop("a", "all");
          break;
      }
      std::vector<std::future<void>> answers;
      answers.reserve(volumes.size());
      for (size_t i = 0; i < volumes.size(); ++i) {
        answers.push_back(std::async(std::launch::async, [&, i] {
          tries[i].answer = PromoteByForce(*volumes[i], &tries[i].took);
        }));
      }
      for (auto& answer : answers) answer.get();
      if (trouble == Trouble::kSiteAway) Continue("a", "all");
      if (trouble == Trouble::kMirrorKilled) StartMirrorDaemon("b");
    }
    for (auto* threads : {&makers, &writers}) {
      for (std::jthread& thread : *threads) thread.request_stop();
    }
    // Those that wait for a site that follows no more.
    for (const auto& operation : ListedOperations(Daemon("a"))) {
      CancelOperation(Daemon("a"), operation.operation_id());
    }
    writers.clear();
    makers.clear();
    noting.request_stop();
    noting.join();
  }

  /// A state that was whole; prints what it was.
  static void ExpectWhole(BusyVolume& busy, const Try& tried, Trouble trouble,
                          Reader& b, Tally& tally) {
    const std::string& name = busy.volume.image;
    ASSERT_THAT(tried.answer, HasCode(Code::OK)) << name;
    EXPECT_LT(tried.took, 180) << name;
    EXPECT_TRUE(IsPrimary("b", busy.volume)) << name;
    ::replication::GetVolumeReplicationInfoResponse info;
    // Maybe no peer has reported yet.
    const grpc::Status told = Info("b", busy.volume, &info);
    EXPECT_THAT(told.error_message(),
                ::testing::Not(::testing::HasSubstr("half-done")));
    EXPECT_THAT(info.status_message(),
                ::testing::Not(::testing::HasSubstr("half-done")));
    const auto open = b.Open(busy.volume);
    ASSERT_TRUE(open.has_value()) << name;
    const auto mirror = open->image->MirrorSnapshots();
    const auto all = open->image->Snapshots();
    ASSERT_TRUE(mirror.ok() && all.ok()) << name;
    for (const MirrorSnapshot& snapshot : *mirror) {
      EXPECT_TRUE(!snapshot.copied() || snapshot.complete)
          << name << " has half a copy";
    }
    const Content holds = Judge(name, *open->image);
    EXPECT_EQ(holds.fault, "") << name;

    const Seen& seen = tried.seen;
    std::map<uint64_t, uint64_t> states;
    std::map<std::string, BusyVolume::Point> points;
    {
      const MutexLock lock(busy.mutex);
      states = busy.states;
      points = busy.points;
    }
    const auto state_before = [&](uint64_t id) {
      const auto it = states.lower_bound(id);
      return it == states.begin() ? *states.begin() : *std::prev(it);
    };
    ASSERT_FALSE(states.empty()) << name;
    const uint64_t whole = states.contains(seen.whole)
                               ? states.at(seen.whole)
                               : state_before(seen.whole).second;
    const uint64_t before = state_before(seen.whole).second;
    EXPECT_GE(holds.written, before) << name << " lost more than one state";
    bool sealed = !seen.points.empty();
    for (const std::string& point : seen.points) {
      const bool has_seal =
          !busy.by_hand || absl::StartsWith(point, kSealedByHand);
      sealed = sealed && has_seal;
      if (!has_seal || !points.contains(point)) continue;
      const auto second = state_before(points.at(point).id);
      const auto first = state_before(second.first);
      EXPECT_GE(holds.written, first.second)
          << name << " lost what the seal of " << point << " kept";
    }
    const bool frozen =
        trouble == Trouble::kMirrorKilled || trouble == Trouble::kMirrorHangs;
    if (frozen && !seen.half_point()) {
      EXPECT_EQ(holds.written, whole) << name << " lost a whole state";
    }
    if (frozen) {
      EXPECT_LE(holds.written, whole) << name;
    }
    bool noted = false;
    for (const auto& [id, written] : states) noted |= written == holds.written;
    const char* came = "newer than what was whole";
    if (holds.written == whole) {
      came = "the last whole state";
      ++tally.last_whole;
    } else if (holds.written < whole) {
      came = holds.written == before ? "the state before" : "an older state";
      ++tally.one_before;
    } else {
      ++tally.newer;
    }
    tally.not_noted += noted ? 0 : 1;

    std::string kept;
    for (const ImageSnapshot& snapshot : *all) {
      if (snapshot.kind != SnapshotKind::kUser) continue;
      const auto at = b.Open(busy.volume);
      ASSERT_TRUE(at.has_value() &&
                  at->image->SelectSnapshot(snapshot.id).ok());
      const Content has = Judge(name, *at->image);
      EXPECT_EQ(has.fault, "") << name << "@" << snapshot.name;
      if (points.contains(snapshot.name)) {
        EXPECT_EQ(has.written, points.at(snapshot.name).written)
            << name << "@" << snapshot.name
            << " stays and is not what it was on the other site; the image "
               "holds "
            << holds.written;
      }
      absl::StrAppend(&kept, " ", snapshot.name, "=", has.written);
      ++tally.points_kept;
    }
    tally.mid_copy += seen.in_mid_copy ? 1 : 0;
    tally.half_points += seen.half_point() ? 1 : 0;
    tally.lone_points += seen.lone_point() ? 1 : 0;
    tally.times.push_back(tried.took);
    std::string met = "idle";
    if (seen.in_mid_copy) {
      met = absl::StrCat("in mid-copy, ", seen.copied_objects, " objects");
    }
    for (const std::string& point : seen.points) {
      absl::StrAppend(
          &met, seen.in_mid_copy ? ", half point " : ", lone point ", point);
      if (points.contains(point)) {
        absl::StrAppend(&met, "=", points.at(point).written);
      }
    }
    std::cerr << "try " << ++tally.tries << " " << name << " ("
              << (busy.by_hand ? "by hand" : "points") << ", "
              << NameOf(trouble) << "): " << met << (sealed ? ", sealed" : "")
              << "; whole " << whole << ", before " << before << ", written "
              << busy.written.load() << "; OK in "
              << absl::StrFormat("%.1f", tried.took) << " s, holds "
              << holds.written << ": " << came
              << (noted ? "" : ", which was not noted")
              << "; kept:" << (kept.empty() ? " none" : kept) << std::endl;
  }

  /// A is resynced and holds what b holds.
  static void FailBack(BusyVolume& busy, Reader& a, Reader& b) {
    const TestVolume& volume = busy.volume;
    // Who copies an image anew beside a user's snapshot may lose what that
    // shares with a removed one: docs/ceph-faults.md.
    Rbd("b", {"snap", "purge", "--no-progress", ImageSpec(volume)});
    {
      const auto disk = OpenDisk("b", volume);
      const auto open = b.Open(volume);
      ASSERT_TRUE(open.has_value());
      uint64_t number = CountWritten(*open->image);
      for (int i = 0; i < 100; ++i) {
        ++number;
        EXPECT_EQ(disk->Write(OffsetOf(number), BlockOf(volume.image, number)),
                  0);
      }
    }
    EXPECT_TRUE(
        Eventually([&] { return Demote("a", volume).ok(); }, seconds(180)))
        << volume.image;
    bool ready = false;
    EXPECT_TRUE(Eventually(
        [&] { return Resync("a", volume, true, &ready).ok() && ready; },
        seconds(300)))
        << Status("a", volume);
    Synchronize("b", volume);
    const auto open_a = a.Open(volume);
    const auto open_b = b.Open(volume);
    ASSERT_TRUE(open_a.has_value() && open_b.has_value());
    const Content on_a = Judge(volume.image, *open_a->image);
    const Content on_b = Judge(volume.image, *open_b->image);
    EXPECT_EQ(on_a.fault, "") << volume.image;
    EXPECT_EQ(on_b.fault, "") << volume.image;
    EXPECT_EQ(on_a.written, on_b.written) << volume.image;
    if (!on_a.fault.empty()) {
      Show("a", volume, a, on_a.offset);
      Show("b", volume, b, on_a.offset);
    }
  }

  /// Of an image that holds something wrong at `offset`.
  static void Show(const std::string& site, const TestVolume& volume,
                   Reader& reader, uint64_t offset) {
    const std::string object =
        absl::StrFormat("rbd_data.%s.%016x", ImageId(site, volume),
                        offset / (uint64_t{4} << 20));
    std::string told = absl::StrCat(
        "--- ", volume.image, " on site ", site, "\n",
        Rbd(site, {"snap", "ls", "--all", ImageSpec(volume)}), "\n", object,
        ":\n", Rados(site, volume, {"listsnaps", object}), "\n");
    const auto open = reader.Open(volume);
    if (!open.has_value()) return;
    const auto all = open->image->Snapshots();
    for (const ImageSnapshot& snapshot :
         all.value_or(std::vector<ImageSnapshot>())) {
      const auto at = reader.Open(volume);
      if (!at.has_value() || !at->image->SelectSnapshot(snapshot.id).ok())
        continue;
      const Content content = Judge(volume.image, *at->image);
      absl::StrAppend(&told, "snapshot ", snapshot.id, " ", snapshot.name,
                      " holds ", content.written, " ", content.fault, "\n");
    }
    std::cerr << told << std::endl;
  }

  static void RemoveVolume(const TestVolume& volume) {
    const std::string spec = ImageSpec(volume);
    Rbd("b", {"snap", "purge", "--no-progress", spec});
    EXPECT_THAT(Disable("b", volume), HasCode(Code::OK));
    Rbd("b", {"rm", "--no-progress", spec});
  }

  /// How many of the volumes a line of b's log with `text` is about.
  static int CountLogged(const std::string& log, const Volumes& volumes,
                         const std::string& text) {
    std::set<std::string> about;
    for (const absl::string_view line : absl::StrSplit(log, '\n')) {
      if (!absl::StrContains(line, text)) continue;
      for (const auto& busy : volumes) {
        if (absl::StrContains(line, busy->volume.id("b"))) {
          about.insert(busy->volume.image);
        }
      }
    }
    return static_cast<int>(about.size());
  }

  /// One volume of four has its snapshots made by hand.
  void Run(int wanted, size_t at_once, uint64_t seed) {
    constexpr std::array kTroubles = {Trouble::kNone, Trouble::kMirrorKilled,
                                      Trouble::kNone, Trouble::kSiteAway,
                                      Trouble::kNone, Trouble::kMirrorHangs};
    Tally tally;
    size_t round = 0;
    while (tally.tries < wanted ||
           (tally.half_points == 0 && tally.tries < 3 * wanted)) {
      ++seed;
      const auto begin = steady_clock::now();
      const auto passed = [&begin] {
        return absl::StrFormat(
            "%.0f s",
            std::chrono::duration<double>(steady_clock::now() - begin).count());
      };
      Volumes volumes;
      for (size_t i = 0; i < at_once; ++i) {
        volumes.push_back(std::make_unique<BusyVolume>());
        volumes.back()->by_hand = i % 4 == 3;
      }
      MakeVolumes(volumes);
      std::cerr << "made after " << passed();
      std::vector<Try> tries(at_once);
      const Trouble trouble = kTroubles[round++ % kTroubles.size()];
      TakeOver(volumes, tries, trouble, seed);
      std::cerr << ", taken over after " << passed() << std::endl;
      ASSERT_TRUE(Daemon("b").Running());
      ASSERT_TRUE(Daemon("a").Running());
      Reader a("a");
      Reader b("b");
      for (size_t i = 0; i < at_once; ++i) {
        ExpectWhole(*volumes[i], tries[i], trouble, b, tally);
      }
      EXPECT_THAT(Rbd("b", {"ls", RealBed::kPool}),
                  ::testing::Not(::testing::HasSubstr("rescue")));
      const std::string log = Daemon("b").Log();
      tally.removed_points += CountLogged(
          log, volumes, "a snapshot that had arrived in part was removed");
      tally.removed_names += CountLogged(
          log, volumes, "a snapshot whose name alone had arrived was removed");
      tally.rescues += CountLogged(
          log, volumes, "the image has its last complete state back");
      std::cerr << "looked at after " << passed();
      RunParallel(at_once, 4, [&](size_t i) { FailBack(*volumes[i], a, b); });
      std::cerr << ", the same after " << passed();
      RunParallel(at_once, 4,
                  [&](size_t i) { RemoveVolume(volumes[i]->volume); });
      std::cerr << ", removed after " << passed();
      std::cerr << std::endl;
      std::sort(tally.times.begin(), tally.times.end());
      std::cerr << tally.tries << " of " << wanted << " tries, last seed "
                << seed << ": in mid-copy " << tally.mid_copy
                << ", with half a point " << tally.half_points
                << ", with its name alone " << tally.lone_points << "; rescued "
                << tally.rescues << ", half points removed "
                << tally.removed_points << ", names alone "
                << tally.removed_names << "; the last whole state "
                << tally.last_whole << ", the one before " << tally.one_before
                << ", a newer one " << tally.newer << ", not noted "
                << tally.not_noted << "; whole points kept "
                << tally.points_kept << "; median "
                << tally.times[tally.times.size() / 2] << " s, longest "
                << tally.times.back() << " s" << std::endl;
    }
    EXPECT_GT(tally.half_points, 0) << "no try met half a point";
  }
};

TEST_F(LongPointTakeoverTest, NoPointStaysThatIsNotWhole) {
  Run(static_cast<int>(FromEnvironment("RBD_ADDONS_LONG_COUNT", 200)),
      FromEnvironment("RBD_ADDONS_LONG_AT_ONCE", 16),
      FromEnvironment("RBD_ADDONS_LONG_SEED", 20261201));
}

}  // namespace
}  // namespace addons::testing
