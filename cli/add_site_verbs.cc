#include <array>
#include <memory>

#include "cli/add_verbs.h"
#include "cli/durations.h"
#include "cli/repeated_call.h"
#include "cli/site.h"

namespace addons {
namespace {

/// A whole site takes longer than a volume.
constexpr double kTimeoutSeconds = 600;

struct SiteVerbTexts {
  SiteVerb verb;
  const char* name;
  const char* text;
  bool may_lose;
};

constexpr std::array<SiteVerbTexts, 3> kSiteVerbs = {{
    {SiteVerb::kRelocate, "relocate",
     "Planned, on the site that takes over: promote what was demoted on the "
     "other one; never by force",
     false},
    {SiteVerb::kFailover, "failover",
     "After a disaster, on the site that takes over: promote everything, by "
     "force where nothing else is possible",
     true},
    {SiteVerb::kFailback, "failback",
     "On the site that has come back: follow the other one again; never "
     "promotes",
     true},
}};

void AddOtherSite(CLI::App& sub, SiteCommand& command) {
  CLI::Option& from = *sub.add_option("--from", command.from,
                                      "Socket of the other site's daemon: "
                                      "demote there first");
  CLI::Option& secrets =
      *sub.add_option("--from-secrets-file", command.from_secrets_file,
                      "As --secrets-file, for that daemon")
           ->needs(&from);
  from.needs(&secrets);
  CLI::Option& admin = *sub.add_option("--from-admin", command.from_admin,
                                       "As --admin-endpoint, of that daemon")
                            ->needs(&from);
  from.needs(&admin);
  sub.add_option("--from-cluster", command.from_cluster,
                 "As --cluster, for that daemon")
      ->needs(&from);
}

void Add(const SiteVerbTexts& verb, CLI::App& site, Program& program) {
  const auto command = std::make_shared<SiteCommand>();
  command->verb = verb.verb;
  const auto timeout_seconds = std::make_shared<double>(kTimeoutSeconds);
  Options& options = program.options();
  CLI::App& sub = *site.add_subcommand(verb.name, verb.text);
  sub.add_option("pool", command->pools, "Names of pools")->required();
  sub.add_option("--cluster", command->cluster,
                 "Their cluster in config.json, where that has several");
  if (verb.verb == SiteVerb::kRelocate) AddOtherSite(sub, *command);
  if (verb.verb != SiteVerb::kFailback) {
    AddClassParameters(sub, command->parameters);
  }
  sub.add_option("--at-once", command->at_once,
                 "How many volumes and groups at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub.add_flag("--without-groups", command->without_groups,
               "Take each volume by itself, where groups cannot be listed");
  sub.add_flag("--dry-run", command->dry_run,
               "Show what would be done, and change nothing");
  if (verb.may_lose) AddYes(sub, command->yes, "what may lose data");
  AddUserOptions(sub, options.secrets);
  AddSocketOptions(sub, options, Sockets::kBoth);
  AddTimeoutOption(sub, *timeout_seconds,
                   "Seconds to wait for all of it, or 90s, 2h");
  program.AddVerb(sub, [&options, command, timeout_seconds](Streams& streams) {
    AimAtDaemon(options, *command);
    if (command->admin_endpoint.empty()) {
      return Fail(OtherDaemon(), kCliUsage, streams);
    }
    command->timeout = Milliseconds(*timeout_seconds);
    return RunSite(*command, streams);
  });
}

}  // namespace

void AddSiteVerbs(Program& program) {
  CLI::App& site = *program.app().add_subcommand(
      "site", "Move all volumes and volume groups of pools to this site");
  site.require_subcommand(1);
  for (const SiteVerbTexts& verb : kSiteVerbs) Add(verb, site, program);
}

}  // namespace addons
