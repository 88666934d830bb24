#include "cli/verb_help.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

constexpr char kCommonGroup[] = "Common options (rbd-addons --help says more)";
constexpr std::array<const char*, 12> kCommonOptions = {
    "--secrets-file",   "--ceph-user", "--keyring",        "--endpoint",
    "--admin-endpoint", "--timeout",   "--output",         "--json",
    "--verbose",        "--watch",     "--end-with-input", "--help"};
constexpr size_t kColumns = 79;
constexpr size_t kOptionColumn = 40;

/// What follows the program's name; `group create` is below group.
const std::map<absl::string_view, std::array<absl::string_view, 2>>&
Examples() {
  static const std::map<absl::string_view, std::array<absl::string_view, 2>>
      examples = {
          {"adopt",
           {"adopt --pool replicapool", "adopt replicapool/csi-vol-1 --yes"}},
          {"audit",
           {"audit --pool replicapool",
            "audit journal --pool replicapool --repair"}},
          {"call",
           {"call Probe", R"(call ListStatus '{"pool":"replicapool"}')"}},
          {"cancel", {"cancel 17", "cancel 17 --yes"}},
          {"check-failover",
           {"check-failover pvc-1", "check-failover --all --planned"}},
          {"completion", {"completion bash", "completion fish"}},
          {"conformance",
           {"conformance --list",
            "conformance --only replication. --volume 0001-..."}},
          {"demote", {"demote pvc-1", "demote --group 0001-..."}},
          {"destination",
           {"destination pvc-1", "destination --group 0001-..."}},
          {"disable", {"disable pvc-1", "disable pvc-1 --force --yes"}},
          {"doctor", {"doctor", "doctor --before-handover"}},
          {"enable",
           {"enable pvc-1 --parameter schedulingInterval=5m",
            "enable --group 0001-..."}},
          {"explain", {"explain pvc-1", "explain --group 0001-..."}},
          {"fence",
           {"fence 10.0.0.5/32 --cluster site-a",
            "fence 10.0.0.5 10.0.0.6 --cluster site-a --yes"}},
          {"fence-client",
           {"fence-client --cluster site-a",
            "fence-client --cluster site-a --json"}},
          {"fences",
           {"fences --cluster site-a", "fences --cluster site-a --watch"}},
          {"gather",
           {"gather",
            "gather --output night.tar --from-admin unix:///run/b.sock"}},
          {"group create",
           {"group create mongo --volume pvc-1 --volume pvc-2",
            "group create mongo --parameter pool=replicapool"}},
          {"group delete",
           {"group delete 0001-...", "group delete 0001-... --yes"}},
          {"group list", {"group list", "group list -o yaml"}},
          {"group set-members",
           {"group set-members 0001-... --volume pvc-1",
            "group set-members 0001-..."}},
          {"group show", {"group show 0001-...", "group show 0001-... --json"}},
          {"history",
           {"history pvc-1", "history --pool replicapool --since 2h"}},
          {"identity", {"identity", "identity --json"}},
          {"info", {"info pvc-1", "info pvc-1 pvc-2 --watch"}},
          {"kubectl-plugin",
           {"kubectl-plugin", "kubectl-plugin > kubectl-rbd_addons"}},
          {"manual", {"manual", "manual | man -l -"}},
          {"methods", {"methods", "methods --json"}},
          {"operations", {"operations", "operations --watch"}},
          {"pause",
           {"pause pvc-1", "pause pvc-1 pvc-2 --secrets-file user.json"}},
          {"point create",
           {"point create pvc-1 --name before-upgrade",
            "point create --group 0001-... --name before-upgrade"}},
          {"point list", {"point list pvc-1", "point list --group 0001-..."}},
          {"point remove",
           {"point remove pvc-1 before-upgrade",
            "point remove replicapool/csi-vol-1 20261201T070300Z"}},
          {"point rollback",
           {"point rollback pvc-1 before-upgrade",
            "point rollback pvc-1 before-upgrade --discard --yes"}},
          {"probe", {"probe", "probe --timeout 5s"}},
          {"promote",
           {"promote pvc-1 --parameter schedulingInterval=5m",
            "promote pvc-1 --force --point before-upgrade"}},
          {"reclaim",
           {"reclaim pvc-1", "reclaim pvc-1 --parameter sparseSize=64Ki"}},
          {"rescue", {"rescue pvc-1", "rescue pvc-1 --restore"}},
          {"resume",
           {"resume pvc-1", "resume pvc-1 pvc-2 --secrets-file user.json"}},
          {"resync", {"resync pvc-1", "resync pvc-1 --force"}},
          {"rotate-key",
           {"rotate-key pvc-1", "rotate-key replicapool/csi-vol-1"}},
          {"site failback",
           {"site failback replicapool --dry-run",
            "site failback replicapool"}},
          {"site failover",
           {"site failover replicapool --dry-run",
            "site failover replicapool --yes"}},
          {"site relocate",
           {"site relocate replicapool --dry-run",
            "site relocate replicapool --parameter schedulingInterval=5m"}},
          {"status", {"status", "status mongo --trouble -o wide"}},
          {"sync",
           {"sync pvc-1", "sync replicapool/csi-vol-1 pvc-2 --timeout 30m"}},
          {"test list", {"test list", "test list --json"}},
          {"test manifest",
           {"test manifest pvc-1 --claim-namespace drill --secret "
            "rook-ceph/rook-csi-rbd-node",
            "test manifest pvc-1 pvc-2 --claim-namespace drill --secret "
            "rook-ceph/rook-csi-rbd-node --block"}},
          {"test start",
           {"test start pvc-1 pvc-2", "test start pvc-1 --point night"}},
          {"test stop",
           {"test stop pvc-1 pvc-2", "test stop replicapool/csi-vol-1"}},
          {"trim",
           {"trim 0001-... --path /var/lib/kubelet/plugins/staged",
            "trim 0001-... --path /mnt/data --timeout 10m"}},
          {"unfence",
           {"unfence 10.0.0.5/32 --cluster site-a",
            "unfence 10.0.0.5 --cluster site-a --yes"}},
          {"verify",
           {"verify pvc-1 --point before-upgrade",
            "verify pvc-1 --rate 0 --json"}},
      };
  return examples;
}

class VerbFormatter final : public CLI::Formatter {
 public:
  std::string make_group(
      std::string group, bool is_positional,
      std::vector<const CLI::Option*> options) const override {
    if (group != kCommonGroup) {
      return CLI::Formatter::make_group(std::move(group), is_positional,
                                        std::move(options));
    }
    std::string text = absl::StrCat("\n", group, ":\n");
    std::string line;
    for (const CLI::Option* const option : options) {
      std::string name = option->get_name(false, true);
      name.resize(std::min(name.size(), name.find('{')));  // "--watch{2}"
      if (!line.empty() && line.size() + 2 + name.size() > kColumns) {
        absl::StrAppend(&text, line, ",\n");
        line.clear();
      }
      absl::StrAppend(&line, line.empty() ? "  " : ", ", name);
    }
    return absl::StrCat(text, line, "\n");
  }
  /// A verb's own options first: --help, which every verb has, is the first of
  /// all.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = absl::StrReplaceAll(
        CLI::Formatter::make_help(app, std::move(name), mode),
        {{"\n\n\n", "\n\n"}});
    const size_t begin = help.find(absl::StrCat("\n", kCommonGroup));
    const size_t end = help.find("\n\n", begin);
    const size_t examples = help.rfind("\nExamples:");
    if (begin >= end || end >= examples || examples == std::string::npos) {
      return help;
    }
    const std::string common = help.substr(begin, end + 1 - begin);
    help.insert(examples, common);
    return help.erase(begin, common.size());
  }
  /// One line, however long the name is.
  std::string make_option(const CLI::Option* option,
                          bool is_positional) const override {
    std::string line =
        absl::StrCat("  ", make_option_name(option, is_positional),
                     make_option_opts(option));
    line.resize(std::max(line.size() + 1, kOptionColumn), ' ');
    return absl::StrCat(line, make_option_desc(option), "\n");
  }
};

std::string FooterOf(absl::string_view path) {
  const auto found = Examples().find(path);
  if (found == Examples().end()) return "";
  std::string text = "Examples:";
  for (const absl::string_view example : found->second) {
    absl::StrAppend(&text, "\n  rbd-addons ", example);
  }
  return text;
}

/// What an option of many verbs is.
struct Common {
  std::string meaning;
  std::string value;  // without it, where all verbs agree; empty: none
};
using Commons = std::map<std::string, Common>;

/// `commons` takes what the options of many verbs are.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the subcommands
void LayOut(CLI::App& app, const std::string& path,
            const std::shared_ptr<CLI::Formatter>& formatter,
            Commons* commons) {
  for (CLI::App* const sub : app.get_subcommands({})) {
    const std::string name =
        absl::StrCat(path, path.empty() ? "" : " ", sub->get_name());
    LayOut(*sub, name, formatter, commons);
    if (!sub->get_subcommands({}).empty()) continue;
    sub->formatter(formatter);
    sub->footer(FooterOf(name));
    for (const char* const common : kCommonOptions) {
      CLI::Option* const option = sub->get_option_no_throw(common);
      if (option == nullptr || option->get_group().empty()) continue;
      // One of the same name that means something else is the verb's own.
      const Common here{option->get_description(), option->get_default_str()};
      Common& all = commons->try_emplace(common, here).first->second;
      if (all.meaning != here.meaning) continue;
      if (all.value != here.value) all.value.clear();
      option->group(kCommonGroup);
    }
  }
}

}  // namespace

void LayOutHelp(CLI::App& app) {
  Commons commons;
  LayOut(app, "", std::make_shared<VerbFormatter>(), &commons);
  std::string text =
      absl::StrCat(app.get_footer(), "\n\nOptions of many verbs:");
  for (const char* const common : kCommonOptions) {
    const auto& [meaning, value] = commons[common];
    absl::StrAppend(&text, "\n    ", common, "  ", meaning,
                    value.empty() ? "" : absl::StrCat(" (", value, ")"));
  }
  app.footer(text);
}

}  // namespace addons
