#include "volume/config_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/unique_fd.h"

namespace addons {
namespace {

constexpr char kConfigFile[] = "config.json";
constexpr char kMappingFile[] = "cluster-mapping.json";

/// Tells one state of a file from another without reading it. Links are
/// followed, so the swap of a ConfigMap's link changes it as well.
struct FileStamp {
  int error = 0;  // errno; the rest is meaningful without one
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileStamp ToStamp(int result, const struct stat& info) {
  FileStamp stamp;
  if (result != 0) {
    stamp.error = errno;
    return stamp;
  }
  stamp.device = info.st_dev;
  stamp.inode = info.st_ino;
  stamp.size = info.st_size;
  stamp.modified_ns = Nanoseconds(info.st_mtim);
  stamp.changed_ns = Nanoseconds(info.st_ctim);
  return stamp;
}

FileStamp StampOf(const std::string& path) {
  struct stat info {};
  const int result = ::stat(path.c_str(), &info);
  return ToStamp(result, info);
}

/// The clock of a file system advances in ticks: a file that was touched just
/// now can change once more without looking different.
bool MayChangeUnnoticed(const FileStamp& stamp) {
  constexpr int64_t kSeveralTicks = 100'000'000;
  if (stamp.error != 0) return false;
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          RealClock().WallNow().time_since_epoch())
                          .count();
  const int64_t age = now - stamp.changed_ns;
  return age < kSeveralTicks && age > -kSeveralTicks;
}

/// What a file held when it was looked at.
struct FileContent {
  FileStamp stamp;
  std::string text;
  std::string problem;  // why there is no text; empty: there is
};

FileContent Unreadable(const std::string& path, int error, FileStamp stamp) {
  FileContent content;
  content.stamp = stamp;
  content.problem = absl::StrCat("Failed to read '", path, "': (", error, ") ",
                                 std::generic_category().message(error));
  return content;
}

FileContent ReadFile(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{16} << 20;
  // Non-blocking: opening a named pipe must not hang.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Unreadable(path, errno, StampOf(path));
  struct stat info {};
  const int result = ::fstat(file.get(), &info);
  FileContent content;
  content.stamp = ToStamp(result, info);
  std::array<char, 16384> buffer{};
  while (content.text.size() <= kMaxBytes) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, errno, content.stamp);
    if (count == 0) return content;
    content.text.append(buffer.data(), static_cast<size_t>(count));
  }
  return Unreadable(path, EFBIG, content.stamp);
}

/// Both files at one moment, as far as that can be had without a lock.
struct Contents {
  FileContent config;
  FileContent mapping;
};

Contents ReadBoth(const std::string& config_path,
                  const std::string& mapping_path) {
  constexpr int kAttempts = 3;  // a ConfigMap may be swapped between the two
  Contents contents;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    contents.config = ReadFile(config_path);
    contents.mapping = ReadFile(mapping_path);
    if (StampOf(config_path) == contents.config.stamp &&
        StampOf(mapping_path) == contents.mapping.stamp) {
      break;
    }
  }
  return contents;
}

/// The newest texts that could be parsed.
struct GoodTexts {
  std::optional<std::string> config;
  std::optional<std::string> mapping;  // empty text: no such file

  friend bool operator==(const GoodTexts&, const GoodTexts&) = default;
};

/// Why the text cannot be used; empty: it can.
std::string ProblemOf(
    const absl::StatusOr<std::shared_ptr<const ClusterConfig>>& parsed) {
  return std::string(parsed.status().message());
}

/// Takes the text of config.json over if it is good. Returns what is wrong with
/// it.
std::string TakeConfig(FileContent content, GoodTexts* good) {
  if (!content.problem.empty()) return content.problem;
  std::string problem =
      ProblemOf(ClusterConfig::Parse(content.text, "", nullptr));
  if (problem.empty()) good->config = std::move(content.text);
  return problem;
}

/// The same for cluster-mapping.json, which may be missing: but when the folder
/// is missing as a whole, that says nothing about the mapping.
std::string TakeMapping(FileContent content, bool folder_is_there,
                        GoodTexts* good) {
  if (content.stamp.error == ENOENT) {
    if (folder_is_there || !good->mapping) good->mapping = "";
    return "";
  }
  if (!content.problem.empty()) return content.problem;
  if (content.text.empty()) {
    return absl::StrCat(kMappingFile, ": the file is empty");
  }
  std::string problem =
      ProblemOf(ClusterConfig::Parse("[]", content.text, nullptr));
  if (problem.empty()) good->mapping = std::move(content.text);
  return problem;
}

}  // namespace

class ConfigStore::State {
 public:
  explicit State(const std::string& directory)
      : config_path_(absl::StrCat(directory, "/", kConfigFile)),
        mapping_path_(absl::StrCat(directory, "/", kMappingFile)) {}

  absl::StatusOr<std::shared_ptr<const ClusterConfig>> Current();
  /// The next Current() reads the files.
  void ForgetStamps();
  Troubles troubles() const;

 private:
  using View = std::shared_ptr<const ClusterConfig>;
  using Stamps = std::pair<FileStamp, FileStamp>;

  /// Everything that one look found out.
  struct Loaded {
    uint64_t ticket = 0;           // larger: began later
    std::optional<Stamps> stamps;  // nullopt: look again next time
    Stamps seen;
    GoodTexts good;
    View view;                          // made of `good`
    std::vector<std::string> problems;  // of the files
    std::vector<std::string> warnings;  // of the entries in `good`
  };

  Loaded Load(const Loaded& before, uint64_t ticket) const;
  static void Parse(Loaded* loaded, const std::string& mapping_problem);
  static void Report(const Loaded& before, const Loaded& loaded);

  const std::string config_path_;
  const std::string mapping_path_;

  mutable Mutex mutex_;
  uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  Loaded loaded_ ABSL_GUARDED_BY(mutex_);
};

ConfigStore::State::Loaded ConfigStore::State::Load(const Loaded& before,
                                                    uint64_t ticket) const {
  Contents contents = ReadBoth(config_path_, mapping_path_);
  Loaded loaded;
  loaded.ticket = ticket;
  loaded.seen = {contents.config.stamp, contents.mapping.stamp};
  if (!MayChangeUnnoticed(contents.config.stamp) &&
      !MayChangeUnnoticed(contents.mapping.stamp)) {
    loaded.stamps = loaded.seen;
  }
  loaded.good = before.good;
  const bool folder_is_there = contents.config.stamp.error == 0;
  const std::string config_problem =
      TakeConfig(std::move(contents.config), &loaded.good);
  const std::string mapping_problem =
      TakeMapping(std::move(contents.mapping), folder_is_there, &loaded.good);
  for (const std::string& problem : {config_problem, mapping_problem}) {
    if (!problem.empty()) loaded.problems.push_back(problem);
  }
  if (before.view != nullptr && loaded.good == before.good) {
    loaded.view = before.view;
    loaded.warnings = before.warnings;
    return loaded;
  }
  Parse(&loaded, mapping_problem);
  if (loaded.good.mapping == "" && !before.good.mapping.value_or("").empty()) {
    loaded.warnings.push_back(absl::StrCat(
        mapping_path_, " was removed: no cluster is mapped any more"));
  }
  return loaded;
}

void ConfigStore::State::Parse(Loaded* loaded,
                               const std::string& mapping_problem) {
  if (!loaded->good.config) return;
  auto parsed =
      loaded->good.mapping
          ? ClusterConfig::Parse(*loaded->good.config, *loaded->good.mapping,
                                 &loaded->warnings)
          : ClusterConfig::ParseWithUnknownMapping(
                *loaded->good.config, mapping_problem, &loaded->warnings);
  if (parsed.ok()) loaded->view = *std::move(parsed);
}

void ConfigStore::State::Report(const Loaded& before, const Loaded& loaded) {
  if (loaded.seen != before.seen || loaded.problems != before.problems) {
    for (const std::string& problem : loaded.problems) {
      Log().warn("configuration file not usable, {} error={}",
                 loaded.view == nullptr ? "there is no configuration"
                                        : "what was read before stays",
                 Quoted(problem));
    }
  }
  if (loaded.good == before.good) return;
  for (const std::string& warning : loaded.warnings) {
    Log().warn("configuration has a problem error={}", Quoted(warning));
  }
}

absl::StatusOr<std::shared_ptr<const ClusterConfig>>
ConfigStore::State::Current() {
  const Stamps now(StampOf(config_path_), StampOf(mapping_path_));
  Loaded loaded;
  Loaded before;
  uint64_t ticket = 0;
  {
    const MutexLock lock(mutex_);
    if (loaded_.stamps == now && loaded_.view != nullptr) return loaded_.view;
    before = loaded_;
    ticket = ++last_ticket_;
  }
  loaded = Load(before, ticket);
  bool report = false;
  {
    const MutexLock lock(mutex_);
    // A look that began later may have been faster; it knows better.
    report = ticket > loaded_.ticket;
    if (report) {
      before = std::exchange(loaded_, loaded);
    } else {
      loaded = loaded_;
    }
  }
  if (report) Report(before, loaded);
  if (loaded.view != nullptr) return loaded.view;
  return absl::UnavailableError(absl::StrCat(
      "Failed to read the configuration: ",
      loaded.problems.empty() ? config_path_ : loaded.problems.front()));
}

void ConfigStore::State::ForgetStamps() {
  const MutexLock lock(mutex_);
  loaded_.stamps.reset();
}

ConfigStore::Troubles ConfigStore::State::troubles() const {
  const MutexLock lock(mutex_);
  return {loaded_.problems, loaded_.warnings};
}

ConfigStore::ConfigStore(const std::string& directory)
    : state_(std::make_unique<State>(directory)) {}

ConfigStore::~ConfigStore() = default;

absl::StatusOr<std::shared_ptr<const ClusterConfig>> ConfigStore::Current() {
  return state_->Current();
}

absl::StatusOr<std::shared_ptr<const ClusterConfig>> ConfigStore::Reload() {
  state_->ForgetStamps();
  return state_->Current();
}

ConfigStore::Troubles ConfigStore::troubles() const {
  return state_->troubles();
}

}  // namespace addons
