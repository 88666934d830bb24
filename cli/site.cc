#include "cli/site.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/without_numbers.h"
#include "cli/call_watch.h"
#include "cli/changing_lines.h"
#include "cli/confirm.h"
#include "cli/inspection.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/palette.h"
#include "cli/parameters.h"
#include "cli/repeated_call.h"
#include "cli/site_calls.h"
#include "cli/site_run.h"
#include "cli/site_survey.h"
#include "cli/site_table.h"
#include "rpc/text.h"

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kSiteCall{30};
/// The same where others wait for their turn: the daemon goes on without us.
constexpr seconds kSiteCallOfMany{10};
constexpr seconds kSitePause{2};
constexpr milliseconds kRedraw{200};

/// The daemons that are asked.
struct Sites {
  SiteDaemon here;
  std::optional<SiteDaemon> there;
};

absl::StatusOr<Sites> OpenSites(const SiteCommand& command) {
  ADDONS_ASSIGN_OR_RETURN(
      SiteDaemon here,
      SiteDaemon::Open(command.endpoint, command.admin_endpoint,
                       command.secrets));
  Sites sites{std::move(here), std::nullopt};
  if (!command.from.empty()) {
    SecretsSource secrets;
    secrets.file = command.from_secrets_file;
    ADDONS_ASSIGN_OR_RETURN(
        sites.there,
        SiteDaemon::Open(command.from, command.from_admin, secrets));
  }
  return sites;
}

absl::StatusOr<SitePlan> LookAndPlan(
    const SiteCommand& command, const Sites& sites,
    const std::map<std::string, std::string>& parameters) {
  SurveyScope scope{command.pools, command.cluster, command.without_groups,
                    parameters};
  ADDONS_ASSIGN_OR_RETURN(const SiteSurvey here,
                          LookAtSite(sites.here, scope, command.timeout));
  if (!sites.there.has_value()) {
    return MakeSitePlan(command.verb, here, nullptr);
  }
  scope.cluster = command.from_cluster;
  ADDONS_ASSIGN_OR_RETURN(const SiteSurvey there,
                          LookAtSite(*sites.there, scope, command.timeout));
  return MakeSitePlan(command.verb, here, &there);
}

bool IsWorkedOn(const SiteItem& item) {
  return item.action != SiteAction::kNothing &&
         item.action != SiteAction::kLeave;
}

/// Shows a run: lines that change on a terminal, else one for each change.
class Display {
 public:
  explicit Display(Streams& streams)
      : streams_(streams),
        terminal_(streams.err_is_terminal),
        lines_(streams) {}

  /// Called by several threads, one at a time.
  void Changed(const SiteItem& item, const SiteProgress& progress) {
    if (terminal_ || Interrupt::Came()) return;
    std::string& last = last_[&item];
    std::string kind = WithoutNumbers(progress.message);
    if (progress.state == SiteState::kWaiting && kind == last) return;
    last = std::move(kind);
    streams_.err << (progress.state == SiteState::kDone      ? "done: "
                     : progress.state == SiteState::kRefused ? "failed: "
                                                             : "waiting: ")
                 << item.name << ": " << progress.message << std::endl;
  }
  void Redraw(const SiteRun& run) {
    if (terminal_) lines_.Draw(ProgressLine(run.Progress()));
  }
  void End() { lines_.Clear(); }

 private:
  Streams& streams_;
  const bool terminal_;
  ChangingLines lines_;
  std::map<const SiteItem*, std::string> last_;
};

/// All that the plan names, each as far as it came.
std::vector<SiteRow> Work(const SiteCommand& command, const Sites& sites,
                          const std::map<std::string, std::string>& parameters,
                          const std::vector<SiteItem>& items,
                          Streams& streams) {
  std::vector<SiteRow> rows;
  std::vector<size_t> worked_on;
  for (const SiteItem& item : items) {
    if (IsWorkedOn(item)) worked_on.push_back(rows.size());
    rows.push_back({item, item.role, {}});
  }
  // Those that need no waiting first, so that nobody waits for those that do.
  std::stable_partition(worked_on.begin(), worked_on.end(),
                        [&](size_t row) { return rows[row].item.ready; });
  std::vector<std::unique_ptr<SiteCalls>> calls;
  calls.reserve(worked_on.size());
  for (const size_t row : worked_on) {
    calls.push_back(std::make_unique<SiteCalls>(
        rows[row].item, sites.here,
        sites.there.has_value() ? &*sites.there : nullptr, parameters));
  }
  Display display(streams);
  SiteRunOptions options;
  options.at_once = command.at_once;
  options.timeout = command.timeout;
  options.pause = kSitePause;
  options.one_call =
      worked_on.size() > command.at_once ? kSiteCallOfMany : kSiteCall;
  std::vector<SiteProgress> progress;
  {
    SiteRun run(
        worked_on.size(), options,
        [&](size_t i, milliseconds limit, const std::stop_token& stop) {
          return calls[i]->Next(limit, stop);
        },
        [&](size_t i, const SiteProgress& item) {
          display.Changed(rows[worked_on[i]].item, item);
        });
    while (!run.Await(kRedraw)) {
      display.Redraw(run);
      if (Interrupt::Came()) run.Stop();
    }
    display.End();
    progress = run.Progress();
  }
  for (size_t i = 0; i < worked_on.size(); ++i) {
    rows[worked_on[i]].progress = progress[i];
    rows[worked_on[i]].role = calls[i]->role();
  }
  return rows;
}

/// What goes on although nobody waits for it any more.
void SayWhatGoesOn(const Sites& sites, Streams& streams) {
  streams.err << "interrupted: nothing was cancelled\n";
  SayWhatGoesOn(sites.here.admin(), "", "", streams);
  if (sites.there.has_value()) {
    SayWhatGoesOn(sites.there->admin(), "", " on the other site", streams);
  }
  streams.err << "`rbd-addons operations` shows what still runs; the same "
                 "command goes on where this one ended\n";
}

/// How to move back what this site follows now.
void SayHowToMoveBack(const SiteCommand& command, Streams& streams) {
  streams.out
      << "to move back, when nothing uses the volumes on the other site any "
         "more, with its daemon's sockets brought here:\n"
         "  ssh -f -N -L /run/other-site.sock:/run/rbd-addons/csi-addons.sock "
         "-L /run/other-admin.sock:/run/rbd-addons/admin.sock "
         "root@HOST-OF-THE-OTHER-SITE\n"
         "  rbd-addons site relocate "
      << absl::StrJoin(command.pools, " ")
      << (command.cluster.empty() ? ""
                                  : absl::StrCat(" --cluster ", command.cluster,
                                                 " --from-cluster ITS-CLUSTER"))
      << " --from unix:///run/other-site.sock --from-admin "
         "unix:///run/other-admin.sock --from-secrets-file "
         "OTHER-SECRETS.json "
      << OptionsFor(command.secrets) << "\n";
}

/// What comes next, and where, once the site that failed is there again.
void SayHowToGoOn(const SiteCommand& command, Streams& streams) {
  streams.out << "when the other site is back, on that site, which demotes "
                 "its volumes and copies them anew:\n"
                 "  rbd-addons site failback "
              << absl::StrJoin(command.pools, " ")
              << (command.cluster.empty() ? "" : " --cluster ITS-CLUSTER")
              << " --secrets-file ITS-SECRETS.json\n";
}

/// Needs a person: an error that stays, what was left alone, and what could not
/// be promoted planned where force is no way either.
bool NeedsDecision(const SiteCommand& command, const SiteRow& row) {
  if (IsDone(row)) return false;
  if (row.item.action == SiteAction::kLeave) return true;
  if (row.progress.state == SiteState::kRefused) {
    return row.progress.code != absl::StatusCode::kUnavailable;
  }
  return command.verb == SiteVerb::kFailover && !row.item.may_force;
}

int ExitCode(const SiteCommand& command, const SitePlan& plan,
             const std::vector<SiteRow>& rows) {
  if (rows.empty() || !plan.unseen.empty() ||
      std::any_of(rows.begin(), rows.end(), [&](const SiteRow& row) {
        return NeedsDecision(command, row);
      })) {
    return kWouldNotWork;
  }
  return std::all_of(rows.begin(), rows.end(), IsDone)
             ? 0
             : static_cast<int>(absl::StatusCode::kUnavailable);
}

void Print(const SitePlan& plan, const std::vector<SiteRow>& rows,
           Streams& streams) {
  std::string text = SiteTable(rows, Palette(streams), streams.wide);
  for (const std::string& unseen : plan.unseen) {
    absl::StrAppend(&text, "not looked at: ", CleanLine(unseen, kMaxShownText),
                    "\n");
  }
  Yield(SiteJson(rows, plan.unseen), text, streams);
}

/// Of a plan that is only shown: 9 when something cannot go on as it is.
int ShowPlan(const SitePlan& plan, Streams& streams) {
  std::vector<SiteRow> rows;
  for (const SiteItem& item : plan.items) {
    rows.push_back({item, item.role, {}});
  }
  Yield(SiteJson(rows, plan.unseen),
        QuestionText(plan, ListingOf(streams)) +
            "nothing was changed (--dry-run)\n",
        streams);
  const bool stuck = plan.items.empty() || !plan.unseen.empty() ||
                     std::any_of(plan.items.begin(), plan.items.end(),
                                 [](const SiteItem& item) {
                                   return item.action == SiteAction::kLeave;
                                 });
  return stuck ? kWouldNotWork : 0;
}

}  // namespace

int RunSite(const SiteCommand& command, Streams& streams) {
  const auto parameters = ParseParameters(command.parameters);
  if (!parameters.ok()) return Fail(parameters.status(), kCliUsage, streams);
  const auto sites = OpenSites(command);
  if (!sites.ok()) return Fail(sites.status(), kCliUsage, streams);
  const auto planned = LookAndPlan(command, *sites, *parameters);
  if (!planned.ok()) return FailCall(planned.status(), streams);
  const SitePlan& plan = *planned;
  const bool text = streams.format == OutputFormat::kText;
  (text ? streams.out : streams.err)
      << PlanText(plan, ListingOf(streams)) << std::flush;
  if (command.dry_run) return ShowPlan(plan, streams);
  if (command.verb == SiteVerb::kRelocate && command.from.empty()) {
    streams.err << "volumes have to be demoted on the other site (--from does "
                   "it); those that are not are waited for\n";
  }
  if (MustAsk(plan)) {
    const auto changed =
        std::count_if(plan.items.begin(), plan.items.end(), IsWorkedOn);
    const std::string what = absl::StrCat(
        changed, " volumes and groups of ",
        CleanLine(absl::StrJoin(command.pools, ", "), kMaxShownText));
    const std::string question = QuestionText(plan, ListingOf(streams));
    if (command.yes) {
      streams.err << question;
    } else if (!SaysYes(question, what, streams)) {
      return kCliUsage;
    }
  }
  std::vector<SiteItem> items = plan.items;
  if (!MustAsk(plan)) {
    // Nobody was asked, so nothing is forced.
    for (SiteItem& item : items) item.may_force = false;
  }
  const Interrupt interrupt;
  const std::vector<SiteRow> rows =
      Work(command, *sites, *parameters, items, streams);
  const int code = ExitCode(command, plan, rows);
  if (code != 0 && Interrupt::Came()) SayWhatGoesOn(*sites, streams);
  Print(plan, rows, streams);
  if (code == 0 && command.verb == SiteVerb::kFailback && text) {
    SayHowToMoveBack(command, streams);
  }
  if (code == 0 && command.verb == SiteVerb::kFailover && text) {
    SayHowToGoOn(command, streams);
  }
  return code != 0 && Interrupt::Came() ? kCliInterrupted : code;
}

}  // namespace addons
