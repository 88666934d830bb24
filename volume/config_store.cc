#include "volume/config_store.h"

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/mutex.h"
#include "volume/stamped_file.h"

namespace addons {

/// The newest texts that could be parsed.
struct GoodTexts {
  std::optional<std::string> config;
  std::optional<std::string> mapping;  // empty text: no such file

  friend bool operator==(const GoodTexts&, const GoodTexts&) = default;
};

namespace {

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
    contents.config = ReadStampedFile(config_path);
    contents.mapping = ReadStampedFile(mapping_path);
    if (StampOf(config_path) == contents.config.stamp &&
        StampOf(mapping_path) == contents.mapping.stamp) {
      break;
    }
  }
  return contents;
}

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
  if (contents.config.stamp.error == ENOENT && !loaded.good.config) {
    contents.config.problem = absl::StrCat(
        "there is no '", config_path_,
        "' (No such file or directory); write the clusters of this site into "
        "it, as ceph-csi has them: docs/runbooks/configuration.md");
  }
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
