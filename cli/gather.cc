#include "cli/gather.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/utc.h"
#include "cli/audit.h"
#include "cli/channel.h"
#include "cli/doctor.h"
#include "cli/hide_keys.h"
#include "cli/history.h"
#include "cli/inspection.h"
#include "cli/interrupt.h"
#include "cli/operations.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "cli/status.h"
#include "cli/status_table.h"
#include "cli/tar.h"
#include "rbdaddons/admin.pb.h"
#include "rpc/redact.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using google::protobuf::Message;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// The folder that all files are in.
constexpr char kRoot[] = "rbd-addons-gather/";
/// What of a name is part of a file's name.
constexpr size_t kMostNameBytes = 48;

/// A daemon that is asked.
struct Site {
  std::string folder;  // in the archive
  std::string endpoint;
  SecretsSource secrets;
  bool has_user = false;
  std::vector<std::string> keys = {};
  // What it has told.
  admin_pb::ListStatusResponse status = {};
  std::string versions = {};
  std::set<std::string> dead = {};  // clusters, as doctor calls them
};

/// Why nothing more is asked of a cluster.
constexpr char kDead[] = "their cluster does not answer, see doctor.txt";

struct PoolName {
  std::string cluster_id;
  std::string pool;

  friend auto operator<=>(const PoolName&, const PoolName&) = default;
};

std::string FileName(const std::string& name) {
  std::string file = name.substr(0, kMostNameBytes);
  std::replace_if(
      file.begin(), file.end(),
      [](unsigned char c) {
        return !absl::ascii_isalnum(c) && c != '-' && c != '_';
      },
      '_');
  return file;
}

std::string Pretty(const nlohmann::ordered_json& parsed) {
  return parsed.dump(2, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

/// All values of the secrets but the user's name.
std::vector<std::string> KeysOf(const std::string& secrets) {
  std::vector<std::string> keys;
  const nlohmann::json parsed = ParseJson(secrets);
  if (!parsed.is_object()) return keys;
  for (const auto& [name, value] : parsed.items()) {
    if (LooksSecret(name) && value.is_string()) {
      keys.push_back(value.get<std::string>());
    }
  }
  return keys;
}

/// Reads its user once, so that what is wrong is said before anything is asked.
absl::Status ReadUser(Site& site) {
  site.secrets.required = false;
  const auto secrets = ReadSecrets(site.secrets);
  if (!secrets.ok()) return secrets.status();
  site.has_user = !secrets->empty();
  site.keys = KeysOf(*secrets);
  return absl::OkStatus();
}

std::string EndedText(const admin_pb::DescribeDaemonResponse& daemon) {
  std::string text;
  for (const admin_pb::EndedOperation& ended : daemon.ended()) {
    absl::StrAppend(&text, ended.ended_milliseconds_ago() / 1000, " s ago  ",
                    CleanLine(ended.verb(), kMaxShownName), " of ",
                    CleanLine(ended.object(), kMaxShownName), ": ",
                    CleanLine(ended.code(), kMaxShownName), " after ",
                    ended.age_milliseconds(), " ms, request ",
                    CleanLine(ended.request_id(), kMaxShownName), "\n");
    if (!ended.message().empty()) {
      absl::StrAppend(&text, "  ", CleanLine(ended.message(), kMaxShownText),
                      "\n");
    }
  }
  return text.empty() ? "no operation has ended since the daemon's start\n"
                      : text;
}

std::string VersionsText(const admin_pb::DescribeDaemonResponse& daemon) {
  std::string text = absl::StrCat(
      "rbd-addonsd ", CleanLine(daemon.version(), kMaxShownName), " on ",
      CleanLine(daemon.host(), kMaxShownName), ", whose clock said ",
      FormatUtc(absl::FromUnixSeconds(daemon.now().seconds())), "\n");
  std::vector<std::string> linked;
  for (const auto& [name, version] : daemon.manifest()) {
    linked.push_back(absl::StrCat(CleanLine(name, kMaxShownName), " ",
                                  CleanLine(version, kMaxShownName), "\n"));
  }
  std::sort(linked.begin(), linked.end());
  return text + absl::StrJoin(linked, "");
}

/// What doctor says of the releases of clusters.
std::string CephVersions(const admin_pb::DiagnoseResponse& found) {
  std::string text;
  for (const admin_pb::Finding& finding : found.findings()) {
    if (finding.id() != "cluster.release") continue;
    absl::StrAppend(&text, CleanLine(finding.object(), kMaxShownName), ": ",
                    CleanLine(finding.seen(), kMaxShownText), "\n");
  }
  return text.empty() ? "Ceph of the clusters: not known, see doctor.txt\n"
                      : text;
}

/// Asks for one part after the other, and keeps what comes of it.
class Gathering {
 public:
  Gathering(const GatherCommand& command, const KeyHider& hider,
            Streams& streams)
      : hider_(hider),
        streams_(streams),
        begun_(steady_clock::now()),
        end_(begun_ + command.timeout) {}

  void Describe(Site& site) {
    admin_pb::DescribeDaemonRequest request;
    admin_pb::DescribeDaemonResponse daemon;
    if (!Ask(site, "versions.txt", "what the daemon is", request, daemon)) {
      site.versions = "the daemon did not tell its versions\n";
      return;
    }
    site.versions = VersionsText(daemon);
    Add(site, "configuration/flags.txt", daemon.flags() + "\n");
    for (const admin_pb::ConfigurationFile& file : daemon.files()) {
      const std::string name =
          absl::StrCat("configuration/",
                       std::filesystem::path(file.path()).filename().string());
      if (!file.missing().empty()) {
        Miss(site, name, absl::StrCat(file.path(), ": ", file.missing()));
        continue;
      }
      const auto parsed = nlohmann::ordered_json::parse(
          file.text(), nullptr, /*allow_exceptions=*/false);
      Add(site, name, parsed.is_discarded() ? file.text() : Pretty(parsed));
    }
    Add(site, "operations-ended.txt", EndedText(daemon));
    Add(site, "metrics.txt", daemon.metrics());
    Add(site, "log.txt",
        daemon.log().empty() ? "the daemon has logged nothing since its start, "
                               "or is older than this command\n"
                             : daemon.log());
  }

  void Operations(const Site& site) {
    admin_pb::ListOperationsRequest request;
    admin_pb::ListOperationsResponse list;
    if (Ask(site, "operations.txt", "what it is doing", request, list)) {
      AddBoth(site, "operations", list, OperationsText(list, /*wide=*/true));
    }
  }

  void Status(Site& site) {
    const milliseconds left = Begin(site, "how all volumes are");
    if (left.count() == 0) return MissForTime(site, "status.txt");
    StatusCommand command;
    command.endpoint = site.endpoint;
    command.secrets = site.secrets;
    command.timeout = left;
    const absl::Status asked = AskForStatus(command, &site.status, streams_);
    if (!asked.ok()) return Miss(site, "status.txt", ReasonToWait(asked));
    AddBoth(site, "status", site.status,
            StatusText(site.status, {/*wide=*/true}));
  }

  void Doctor(Site& site) {
    admin_pb::DiagnoseRequest request;
    admin_pb::DiagnoseResponse found;
    if (AskAsUser(site, "doctor.txt", "whether the installation is in order",
                  request, found)) {
      AddBoth(site, "doctor", found, DoctorText(found, /*all=*/true));
    }
    for (const admin_pb::Finding& finding : found.findings()) {
      if (finding.id() == "cluster.connect" &&
          finding.verdict() == admin_pb::Finding::PROBLEM) {
        site.dead.insert(finding.object());
      }
    }
    Add(site, "versions.txt", site.versions + CephVersions(found));
  }

  void Explanations(const Site& site) {
    int explained = 0;
    int left_out = 0;
    int of_dead = 0;
    for (const admin_pb::VolumeStatus& volume : site.status.volumes()) {
      if (volume.state() == admin_pb::VolumeStatus::IN_STEP ||
          volume.state() == admin_pb::VolumeStatus::COPYING) {
        continue;
      }
      if (IsDead(site, volume.cluster_id())) {
        ++of_dead;
        continue;
      }
      if (explained == kGatherVolumes) {
        ++left_out;
        continue;
      }
      Explain(site, volume, ++explained);
    }
    if (of_dead > 0) {
      Miss(site, "explain",
           absl::StrCat(of_dead, " volumes were not asked about: ", kDead));
    }
    if (left_out > 0) {
      Miss(site, "explain",
           absl::StrCat(left_out, " more volumes are in trouble: the first ",
                        kGatherVolumes, " are explained; status.txt has all"));
    }
  }

  void Pools(const Site& site) {
    std::set<PoolName> pools;
    for (const admin_pb::PoolStatus& pool : site.status.pools()) {
      // Namespaces of a pool have one answer.
      pools.insert({pool.cluster_id(), pool.pool()});
    }
    // A daemon that was just started watches nothing.
    if (pools.empty()) pools = PoolsOfImages(site);
    int number = 0;
    for (const PoolName& pool : pools) {
      if (IsDead(site, pool.cluster_id)) {
        Miss(site, absl::StrCat("history and audit of pool ", pool.pool),
             absl::StrCat("not asked: ", kDead));
      } else {
        Pool(site, pool, ++number);
      }
    }
  }

  bool interrupted() const { return Interrupt::Came(); }
  bool complete() const { return missing_.empty(); }
  size_t parts() const { return entries_.size(); }

  /// The archive's files, the index first.
  std::vector<TarEntry> Take(const std::vector<Site>& sites, absl::Time now) {
    std::vector<TarEntry> all = {
        {absl::StrCat(kRoot, "index.txt"), hider_.Hide(IndexText(sites, now))}};
    std::move(entries_.begin(), entries_.end(), std::back_inserter(all));
    return all;
  }

  seconds elapsed() const {
    return std::chrono::duration_cast<seconds>(steady_clock::now() - begun_);
  }

 private:
  /// Each question would wait for its monitors, and the other site's time would
  /// be over.
  static bool IsDead(const Site& site, const std::string& cluster_id) {
    return site.dead.contains(absl::StrCat("cluster '", cluster_id, "'"));
  }

  milliseconds Left() const {
    return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(
                                         end_ - steady_clock::now()));
  }

  /// Says what is asked next. How long that may take; 0: not at all.
  milliseconds Begin(const Site& site, const std::string& what) {
    const milliseconds left = Left();
    if (interrupted() || left.count() == 0) return milliseconds(0);
    streams_.err << elapsed().count() << " s gone, at most "
                 << std::chrono::ceil<seconds>(left).count()
                 << " s left: " << site.folder << ": "
                 << CleanLine(what, kMaxShownName) << "\n"
                 << std::flush;
    return std::min<milliseconds>(left, kGatherPart);
  }

  /// Those of all images that are mirrored here.
  std::set<PoolName> PoolsOfImages(const Site& site) {
    admin_pb::CheckFailoverRequest request;
    request.set_all(true);
    admin_pb::CheckFailoverResponse found;
    if (!AskAsUser(site, "history and audit",
                   "which volumes are mirrored, and how they would fail over",
                   request, found)) {
      return {};
    }
    AddBoth(site, "check-failover", found,
            CheckFailoverText(found, {}, /*wide=*/true));
    if (!found.unseen().empty()) {
      Miss(site, "history and audit",
           absl::StrCat("not all pools could be seen: ",
                        absl::StrJoin(found.unseen(), "; ")));
    }
    std::set<PoolName> pools;
    for (const admin_pb::FailoverFinding& finding : found.findings()) {
      pools.insert({finding.cluster_id(),
                    finding.image().substr(0, finding.image().find('/'))});
    }
    return pools;
  }

  void Pool(const Site& site, const PoolName& pool, int number) {
    const std::string file =
        absl::StrFormat("%02d-%s", number, FileName(pool.pool));
    admin_pb::ListHistoryRequest past;
    past.set_pool(pool.pool);
    past.set_cluster_id(pool.cluster_id);
    past.set_limit(kGatherEvents);
    admin_pb::ListHistoryResponse history;
    if (AskAsUser(site, absl::StrCat("history/", file, ".txt"),
                  absl::StrCat("what happened in pool ", pool.pool), past,
                  history)) {
      AddBoth(site, absl::StrCat("history/", file), history,
              HistoryText(history, absl::StrCat("pool ", pool.pool),
                          /*wide=*/true));
    }
    admin_pb::AuditPoolRequest request;
    request.set_pool(pool.pool);
    request.set_cluster_id(pool.cluster_id);
    admin_pb::AuditPoolResponse found;
    if (AskAsUser(site, absl::StrCat("audit/", file, ".txt"),
                  absl::StrCat("the audit of pool ", pool.pool), request,
                  found)) {
      AddBoth(site, absl::StrCat("audit/", file), found,
              AuditText(request, found, Listing::kAll));
    }
  }

  bool Ask(const Site& site, const std::string& file, const std::string& what,
           Message& request, Message& response) {
    const milliseconds at_most = Begin(site, what);
    if (at_most.count() == 0) {
      MissForTime(site, file);
      return false;
    }
    const absl::Status asked = AskWithSecrets(
        site.endpoint, at_most, site.secrets, request, response, streams_);
    if (!asked.ok()) Miss(site, file, ReasonToWait(asked));
    return asked.ok();
  }
  /// The same of what needs a Ceph user.
  bool AskAsUser(const Site& site, const std::string& file,
                 const std::string& what, Message& request, Message& response) {
    if (site.has_user) return Ask(site, file, what, request, response);
    Miss(site, file,
         "no Ceph user was given to ask with: --secrets-file or --ceph-user");
    return false;
  }

  void Explain(const Site& site, const admin_pb::VolumeStatus& volume,
               int number) {
    const std::string file =
        absl::StrFormat("explain/%02d-%s", number, FileName(volume.name()));
    admin_pb::ExplainVolumeRequest request;
    request.set_volume_id(volume.volume_id());
    if (volume.volume_id().empty()) {
      // The watch has not read the journal's entry, or there is none.
      admin_pb::FindVolumeRequest find;
      find.set_name(volume.image());
      find.set_cluster_id(volume.cluster_id());
      admin_pb::FindVolumeResponse found;
      if (!AskAsUser(site, file + ".txt",
                     absl::StrCat("the id of volume ", volume.name()), find,
                     found)) {
        return;
      }
      request.set_volume_id(found.volume_id());
    }
    admin_pb::ExplainVolumeResponse explained;
    if (AskAsUser(site, file + ".txt", absl::StrCat("volume ", volume.name()),
                  request, explained)) {
      AddBoth(site, file, explained,
              absl::StrCat(CleanLine(volume.image(), kMaxShownName), ", ",
                           CleanLine(request.volume_id(), kMaxShownName), "\n",
                           ExplainText(explained)));
    }
  }

  void Add(const Site& site, const std::string& file, const std::string& text) {
    const std::string name = absl::StrCat(site.folder, "/", file);
    if (text.empty()) return Miss(site, file, "it is empty");
    contents_.push_back(absl::StrFormat("  %-70s %d bytes", name, text.size()));
    entries_.push_back({absl::StrCat(kRoot, name), hider_.Hide(text)});
  }
  /// For people and for programs.
  void AddBoth(const Site& site, const std::string& file, const Message& answer,
               const std::string& text) {
    Add(site, file + ".txt", text);
    const auto fields = JsonOf(answer);
    if (fields.ok()) Add(site, file + ".json", Pretty(*fields));
  }
  void Miss(const Site& site, const std::string& file,
            const std::string& reason) {
    missing_.push_back(absl::StrCat("  ", site.folder, "/", file, "\n    ",
                                    CleanLine(reason, kMaxShownText)));
  }
  void MissForTime(const Site& site, const std::string& file) {
    Miss(site, file, "not asked: the time that --timeout gives was over");
  }

  std::string IndexText(const std::vector<Site>& sites, absl::Time now) const {
    std::string text = absl::StrCat(
        "rbd-addons gather at ", FormatUtc(now), ", in ", elapsed().count(),
        " s\nKeys of Ceph users are not in here: *** stands in their place.\n"
        "Names, addresses and ids are.\n\nasked\n");
    for (const Site& site : sites) {
      absl::StrAppend(&text, "  ", site.folder, ": ", site.endpoint, "\n");
    }
    absl::StrAppend(&text, "\nwhat is in here; begin with doctor.txt, then ",
                    "status.txt\n", absl::StrJoin(contents_, "\n"), "\n");
    absl::StrAppend(&text, "\nwhat could not be had, and why\n",
                    missing_.empty()
                        ? "  nothing is missing\n"
                        : absl::StrCat(absl::StrJoin(missing_, "\n"), "\n"));
    absl::StrAppend(
        &text,
        "\nwhat is never in here, and where it is\n"
        "  the daemon's log but for its last 1000 lines, and that of one "
        "before\n"
        "    a restart: journalctl -u rbd-addonsd, or kubectl logs, with "
        "--previous\n"
        "  what Ceph says of itself: ceph -s, ceph health detail, "
        "rbd mirror pool status --verbose\n",
        sites.size() > 1
            ? ""
            : "  the other site: run this there, too, or name its socket with "
              "--from-admin\n");
    return text;
  }

  const KeyHider& hider_;
  Streams& streams_;
  const steady_clock::time_point begun_;
  const steady_clock::time_point end_;
  std::vector<TarEntry> entries_;
  std::vector<std::string> contents_;
  std::vector<std::string> missing_;
};

std::string NameWithTime(absl::Time now) {
  return absl::StrCat("rbd-addons-gather-", FormatUtcForName(now), ".tar");
}

/// The sites that are asked, with their users.
absl::StatusOr<std::vector<Site>> SitesOf(const GatherCommand& command) {
  std::vector<Site> sites = {{"this-site", command.endpoint, command.secrets}};
  if (!command.from_admin.empty()) {
    sites.push_back({"other-site", command.from_admin, command.from_secrets});
    // The environment is about this site's.
    sites.back().secrets.environment = false;
  }
  for (Site& site : sites) {
    absl::Status read = ReadUser(site);
    if (!read.ok()) return read;
  }
  return sites;
}

void AskAll(std::vector<Site>& sites, Gathering& gathering) {
  // What comes at once first, of both sites: a cluster that is silent costs
  // time that is missing later.
  for (Site& site : sites) {
    gathering.Describe(site);
    gathering.Operations(site);
    gathering.Status(site);
  }
  for (Site& site : sites) gathering.Doctor(site);
  for (const Site& site : sites) gathering.Explanations(site);
  for (const Site& site : sites) gathering.Pools(site);
}

}  // namespace

int RunGather(const GatherCommand& command, Streams& streams) {
  const absl::Time now = absl::Now();
  const bool to_output = command.output == kGatherToOutput;
  const std::string path =
      command.output.empty() ? NameWithTime(now) : command.output;
  if (to_output && streams.out_is_terminal) {
    return Fail(absl::InvalidArgumentError(
                    "--output -: standard output is a terminal, and a tar is "
                    "for a file or a pipe"),
                kCliUsage, streams);
  }
  if (!to_output) {
    const absl::Status writable = CheckWritable(path, command.replace);
    if (!writable.ok()) return Fail(writable, kCliUsage, streams);
  }
  auto sites = SitesOf(command);
  if (!sites.ok()) return Fail(sites.status(), kCliUsage, streams);
  const absl::Status listens = CheckListener(command.endpoint);
  if (!listens.ok()) return Fail(listens, ExitCodeOf(listens), streams);
  std::vector<std::string> keys;
  for (const Site& site : *sites) {
    keys.insert(keys.end(), site.keys.begin(), site.keys.end());
  }
  const KeyHider hider(keys);
  const Interrupt interrupt;
  Gathering gathering(command, hider, streams);
  AskAll(*sites, gathering);
  const std::string tar =
      TarOf(gathering.Take(*sites, now), absl::ToUnixSeconds(now));
  if (gathering.interrupted()) {
    streams.err << "interrupted: nothing was written\n";
    return kCliInterrupted;
  }
  if (to_output) {
    streams.out << tar << std::flush;
    if (!streams.out.good()) {
      return Fail(absl::InternalError("Failed to write to standard output"),
                  static_cast<int>(absl::StatusCode::kInternal), streams);
    }
  } else {
    const absl::Status written = WriteWhole(path, tar, command.replace);
    if (!written.ok()) return Fail(written, ExitCodeOf(written), streams);
  }
  streams.err << (to_output ? "written" : path) << ": " << gathering.parts() + 1
              << " files in " << tar.size() << " bytes after "
              << gathering.elapsed().count() << " s"
              << (gathering.complete()
                      ? ""
                      : "; not all could be had, index.txt in it says why")
              << "\n";
  return gathering.complete() ? 0 : kWouldNotWork;
}

}  // namespace addons
