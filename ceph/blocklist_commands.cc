#include "ceph/blocklist_commands.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace addons {
namespace {

using nlohmann::json;

constexpr size_t kCommandsAtATime = 64;

json Command(const BlocklistKey& key, const char* operation) {
  json command = {{"prefix", "osd blocklist"},
                  {"blocklistop", operation},
                  {"addr", key.argument}};
  if (key.range) command["range"] = "range";
  return command;
}

/// One command's error with the entry that it is about.
absl::Status Change(Cluster& cluster, const BlocklistKey& key,
                    const std::string& command) {
  const absl::Status status = cluster.MonCommand(command).status();
  if (absl::IsPermissionDenied(status)) {
    return Annotate(status,
                    absl::StrCat("the Ceph user needs the monitor capability "
                                 "'allow command \"osd blocklist\"' to change "
                                 "entry ",
                                 key.argument));
  }
  return Annotate(status, absl::StrCat("entry ", key.argument));
}

}  // namespace

BlocklistKey RangeKey(const Cidr& range) { return {true, range.Text()}; }

BlocklistKey AddressKey(const IpAddress& address) {
  const std::string text = address.Text();
  return {false, address.family == IpFamily::kIPv6
                     ? absl::StrCat("[", text, "]:0/0")
                     : absl::StrCat(text, ":0/0")};
}

BlocklistKey KeyOf(const BlocklistEntry& entry) {
  return {entry.kind == BlocklistEntry::Kind::kRange, entry.Argument()};
}

BlocklistKey ClientKey(absl::string_view address) {
  return {false, std::string(address)};
}

std::string AddCommand(const BlocklistKey& key, std::chrono::seconds expire) {
  json command = Command(key, "add");
  command["expire"] = static_cast<double>(expire.count());
  return JsonText(command);
}

std::string RemoveCommand(const BlocklistKey& key) {
  return JsonText(Command(key, "rm"));
}

absl::StatusOr<Blocklist> ReadBlocklist(Cluster& cluster) {
  auto text =
      cluster.MonCommand(R"({"prefix":"osd blocklist ls","format":"json"})");
  ADDONS_RETURN_IF_ERROR(text.status());
  return Blocklist::Parse(*text);
}

std::vector<absl::Status> AddEntries(Cluster& cluster,
                                     const std::vector<BlocklistKey>& keys,
                                     std::chrono::seconds expire) {
  std::vector<absl::Status> statuses(keys.size());
  RunParallel(keys.size(), kCommandsAtATime, [&](size_t i) {
    statuses[i] = Change(cluster, keys[i], AddCommand(keys[i], expire));
  });
  return statuses;
}

std::vector<absl::Status> RemoveEntries(Cluster& cluster,
                                        const std::vector<BlocklistKey>& keys) {
  std::vector<absl::Status> statuses(keys.size());
  RunParallel(keys.size(), kCommandsAtATime, [&](size_t i) {
    statuses[i] = Change(cluster, keys[i], RemoveCommand(keys[i]));
  });
  return statuses;
}

absl::Status FirstError(const std::vector<absl::Status>& statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace addons
