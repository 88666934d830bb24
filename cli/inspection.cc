#include "cli/inspection.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/many_rows.h"
#include "cli/output.h"
#include "cli/parameters.h"
#include "cli/progress.h"
#include "cli/repeated_call.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

std::string VerdictText(const admin_pb::Forecast& forecast,
                        const Palette& palette) {
  const std::string verdict = absl::AsciiStrToLower(
      admin_pb::Forecast::Verdict_Name(forecast.verdict()));
  switch (forecast.verdict()) {
    case admin_pb::Forecast::WORKS:
      return palette.Good(verdict);
    case admin_pb::Forecast::REFUSES:
      return palette.Bad(verdict);
    default:
      return palette.Poor(verdict);
  }
}

std::string Reason(const admin_pb::Forecast& forecast) {
  return CleanLine(
      absl::StrCat(forecast.reason(), forecast.clock().empty() ? "" : "; ",
                   forecast.clock()),
      kMaxShownText);
}

/// " [row not-yet]", which docs/replication-decisions.md has.
std::string RowText(const admin_pb::Forecast& forecast) {
  if (forecast.row().empty()) return "";
  return absl::StrCat(" [row ", CleanLine(forecast.row(), kMaxShownName), "]");
}

FailoverWay WayOf(const CheckFailoverCommand& command) {
  if (command.planned) return FailoverWay::kPlanned;
  return command.forced ? FailoverWay::kForced : FailoverWay::kEither;
}

bool Works(const admin_pb::Forecast& forecast) {
  return forecast.verdict() == admin_pb::Forecast::WORKS;
}

bool Works(const admin_pb::GroupFailoverFinding& group, FailoverWay way) {
  return (way != FailoverWay::kForced && Works(group.planned())) ||
         (way != FailoverWay::kPlanned && Works(group.forced()));
}

uint32_t Working(const admin_pb::CheckFailoverResponse& found,
                 FailoverWay way) {
  switch (way) {
    case FailoverWay::kPlanned:
      return found.planned();
    case FailoverWay::kForced:
      return found.forced();
    case FailoverWay::kEither:
      break;
  }
  return found.either();
}

/// That nothing was found, or not all was seen, says nothing.
bool AllWork(const admin_pb::CheckFailoverResponse& found, FailoverWay way) {
  return found.volumes() > 0 && Working(found, way) == found.volumes() &&
         found.unseen().empty() &&
         std::all_of(found.groups().begin(), found.groups().end(),
                     [way](const admin_pb::GroupFailoverFinding& group) {
                       return Works(group, way);
                     });
}

std::string Both(const admin_pb::Forecast& planned,
                 const admin_pb::Forecast& forced, const Palette& palette) {
  return absl::StrCat("\n  planned   ", VerdictText(planned, palette), ": ",
                      Reason(planned), "\n  by force  ",
                      VerdictText(forced, palette), ": ", Reason(forced), "\n");
}

std::string About(uint64_t bytes) {
  return absl::StrCat("about ", bytes, " bytes (",
                      BytesText(static_cast<double>(bytes)), ")");
}

/// Of a volume or a group.
template <typename Finding>
std::string LossText(const Finding& finding) {
  if (finding.has_lost_bytes()) {
    return finding.lost_bytes() == 0
               ? "nothing is lost"
               : absl::StrCat(finding.lost_bytes(), " bytes are lost");
  }
  if (finding.has_lost_bytes_about()) {
    return absl::StrCat(About(finding.lost_bytes_about()),
                        " of a snapshot that is not whole here are lost, and "
                        "what was written since");
  }
  return "how many bytes are lost is not known";
}

template <typename Finding>
std::string CopyText(const Finding& finding) {
  if (finding.has_planned_seconds() && finding.planned_seconds() == 0) {
    return "nothing is to be copied first";
  }
  const std::string bytes =
      !finding.has_bytes_to_come() ? "how many bytes are still to come is not "
                                     "known"
      : finding.bytes_to_come() == 0
          ? "no bytes are still to come before the demotion's"
          : absl::StrCat(About(finding.bytes_to_come()), " are still to come");
  return absl::StrCat(
      bytes,
      finding.has_planned_seconds()
          ? absl::StrCat("; about ", finding.planned_seconds(),
                         " s of copying from the other site's demotion on")
          : "; how long the copying takes is not known");
}

/// What each way would cost that is not refused, or that it is not known.
template <typename Finding>
std::string CostText(const Finding& finding) {
  std::string text;
  if (finding.planned().verdict() != admin_pb::Forecast::REFUSES ||
      finding.has_planned_seconds()) {
    absl::StrAppend(&text, "  planned costs   ", CopyText(finding), "\n");
  }
  if (Works(finding.forced())) {
    absl::StrAppend(&text, "  by force costs  ", LossText(finding), "\n");
  }
  return text;
}

/// Three lines, and what it would cost what is not primary already.
std::string TextOf(const admin_pb::FailoverFinding& finding, bool with_cluster,
                   const Palette& palette, bool wide = false) {
  std::string text =
      CleanLine(finding.image().empty() ? finding.volume_id() : finding.image(),
                kMaxShownName);
  const std::string& known = KnownName(finding);
  if (!known.empty()) {
    text = absl::StrCat(CleanLine(known, kMaxShownName), " (", text, ")");
  }
  if (wide && !finding.image().empty() && !finding.volume_id().empty()) {
    absl::StrAppend(&text, ", ", CleanLine(finding.volume_id(), kMaxShownName));
  }
  if (with_cluster && !finding.cluster_id().empty()) {
    absl::StrAppend(&text, " of cluster ",
                    CleanLine(finding.cluster_id(), kMaxShownName));
  }
  if (!finding.role().empty()) {
    absl::StrAppend(&text, " (", CleanLine(finding.role(), 32), ")");
  }
  absl::StrAppend(&text, Both(finding.planned(), finding.forced(), palette));
  if (!finding.proof().empty()) {
    absl::StrAppend(&text, "  copy      ",
                    CleanLine(finding.proof(), kMaxShownText), "\n");
  }
  if (!finding.role().empty() && finding.role() != "primary") {
    absl::StrAppend(&text, CostText(finding));
  }
  return text;
}

std::string TextOf(const admin_pb::GroupFailoverFinding& group,
                   const Palette& palette, bool wide = false) {
  const bool named = !group.name().empty();
  return absl::StrCat(
      "group ",
      CleanLine(named ? group.name() : group.group_id(), kMaxShownName),
      wide && named
          ? absl::StrCat(", ", CleanLine(group.group_id(), kMaxShownName))
          : "",
      " (", group.members(), group.members() == 1 ? " member)" : " members)",
      Both(group.planned(), group.forced(), palette), CostText(group));
}

/// What both ways would answer, of a volume or a group.
template <typename Finding>
std::string AnswersText(const Finding& finding) {
  return absl::StrCat("planned ", VerdictText(finding.planned(), {}), ": ",
                      ReasonAlone(Reason(finding.planned())), "; by force ",
                      VerdictText(finding.forced(), {}), ": ",
                      ReasonAlone(Reason(finding.forced())));
}

std::vector<Reasoned> AnswersOf(
    const google::protobuf::RepeatedPtrField<admin_pb::FailoverFinding>& all) {
  std::vector<Reasoned> rows;
  for (const admin_pb::FailoverFinding& finding : all) {
    const std::string& known = KnownName(finding);
    const std::string& image =
        finding.image().empty() ? finding.volume_id() : finding.image();
    rows.push_back({CleanLine(known.empty() ? image : known, kMaxShownName),
                    AnswersText(finding),
                    "",
                    "",
                    {finding.volume_id(), finding.image()}});
  }
  return rows;
}

std::vector<Reasoned> AnswersOf(
    const google::protobuf::RepeatedPtrField<admin_pb::GroupFailoverFinding>&
        all) {
  std::vector<Reasoned> rows;
  for (const admin_pb::GroupFailoverFinding& group : all) {
    rows.push_back({CleanLine(absl::StrCat("group ", group.name().empty()
                                                         ? group.group_id()
                                                         : group.name()),
                              kMaxShownName),
                    AnswersText(group),
                    "",
                    "",
                    {group.group_id()}});
  }
  return rows;
}

/// Facts, what was not seen, and what verbs would answer.
template <typename Explained>
std::string TextOf(const Explained& explained, const Palette& palette) {
  std::string text;
  std::string topic;
  for (const admin_pb::Fact& fact : explained.facts()) {
    const std::string of = CleanLine(fact.topic(), kMaxShownName);
    if (of != topic) absl::StrAppend(&text, of, "\n");
    topic = of;
    absl::StrAppend(&text, "  ", CleanLine(fact.name(), kMaxShownName), ": ",
                    CleanLine(fact.value(), kMaxShownText), "\n");
  }
  if (!explained.unseen().empty()) {
    absl::StrAppend(&text, "could not be seen\n");
  }
  for (const std::string& unseen : explained.unseen()) {
    absl::StrAppend(&text, "  ", CleanLine(unseen, kMaxShownText), "\n");
  }
  absl::StrAppend(&text, "what would be answered now\n");
  for (const admin_pb::Forecast& forecast : explained.forecasts()) {
    absl::StrAppend(&text, "  ", CleanLine(forecast.verb(), kMaxShownName),
                    forecast.force() ? " by force " : " ",
                    VerdictText(forecast, palette), " (",
                    CleanLine(forecast.code(), kMaxShownName),
                    "): ", Reason(forecast), RowText(forecast), "\n");
  }
  return text;
}

/// Whether images are on more than one cluster.
bool SeveralClusters(const admin_pb::CheckFailoverResponse& found) {
  std::set<std::string> clusters;
  for (const admin_pb::FailoverFinding& finding : found.findings()) {
    if (!finding.cluster_id().empty()) clusters.insert(finding.cluster_id());
  }
  return clusters.size() > 1;
}

}  // namespace

const std::string& KnownName(const admin_pb::FailoverFinding& finding) {
  return finding.claim().empty() ? finding.volume_name() : finding.claim();
}

std::string CheckFailoverText(const admin_pb::CheckFailoverResponse& found,
                              const Palette& palette, bool wide) {
  const bool several = SeveralClusters(found);
  const Listing listing = wide ? Listing::kAll : Listing::kCounted;
  std::string text =
      ListRows(AnswersOf(found.findings()), listing, [&](size_t i) {
        return TextOf(found.findings(static_cast<int>(i)), several, palette,
                      wide);
      });
  if (found.more()) {
    absl::StrAppend(
        &text, "... and ",
        static_cast<int64_t>(found.volumes()) - found.findings_size(),
        " more\n");
  }
  absl::StrAppend(
      &text, ListRows(AnswersOf(found.groups()), listing, [&](size_t i) {
        return TextOf(found.groups(static_cast<int>(i)), palette, wide);
      }));
  for (const std::string& unseen : found.unseen()) {
    absl::StrAppend(&text, "not looked at: ", CleanLine(unseen, kMaxShownText),
                    "\n");
  }
  absl::StrAppend(&text, found.volumes(),
                  found.volumes() == 1 ? " volume: " : " volumes: ",
                  found.planned(), " would be promoted planned, ",
                  found.forced(), " by force; ", found.neither(), " in no way");
  if (found.unclear() > 0) {
    absl::StrAppend(&text, ", of which ", found.unclear(),
                    found.unclear() == 1 ? " is" : " are", " unclear");
  }
  if (found.without_entry() > 0) {
    absl::StrAppend(&text, "; ", found.without_entry(),
                    found.without_entry() == 1 ? " has" : " have",
                    " no entry of the journal on this site");
  }
  text.push_back('\n');
  return text;
}

std::string ForceText(const admin_pb::CheckFailoverResponse& found,
                      const Palette& palette) {
  std::string text;
  bool planned = true;
  bool forced = true;
  const auto add = [&](const auto& finding, const std::string& lines) {
    text += lines;
    planned = planned && Works(finding.planned());
    forced = forced && Works(finding.forced());
  };
  if (found.groups().empty()) {
    for (const admin_pb::FailoverFinding& finding : found.findings()) {
      add(finding, TextOf(finding, /*with_cluster=*/false, palette));
    }
  } else {
    for (const admin_pb::GroupFailoverFinding& group : found.groups()) {
      add(group, TextOf(group, palette));
    }
  }
  if (text.empty()) return "";
  if (planned) {
    absl::StrAppend(&text, "it goes on without --force, too: leave that off\n");
  } else if (forced) {
    absl::StrAppend(&text,
                    "where the other site lives, both are primary until one is "
                    "demoted\n");
  }
  return text;
}

int RunCheckFailover(const CheckFailoverCommand& command, Streams& streams) {
  if (command.ids.empty() && command.groups.empty() && command.pool.empty() &&
      !command.all) {
    return Fail(
        absl::InvalidArgumentError("name volumes, or --group, --pool or --all"),
        kCliUsage, streams);
  }
  admin_pb::CheckFailoverRequest request;
  for (const std::string& id : command.ids) request.add_volume_ids(id);
  for (const std::string& id : command.groups) request.add_group_ids(id);
  request.set_pool(command.pool);
  request.set_all(command.all);
  request.set_cluster_id(command.cluster);
  const auto parameters = ParseParameters(command.parameters);
  if (!parameters.ok()) return Fail(parameters.status(), kCliUsage, streams);
  request.mutable_parameters()->insert(parameters->begin(), parameters->end());
  admin_pb::CheckFailoverResponse found;
  const absl::Status called = AskWithSecrets(command, request, found, streams);
  if (!called.ok()) return FailCall(called, streams);
  const int printed = YieldMessage(
      found, CheckFailoverText(found, Palette(streams), streams.wide), streams);
  if (printed != 0) return printed;
  return AllWork(found, WayOf(command)) ? 0 : kWouldNotWork;
}

std::string ExplainText(const admin_pb::ExplainVolumeResponse& explained,
                        const Palette& palette) {
  return TextOf(explained, palette);
}

std::string ExplainText(const admin_pb::ExplainGroupResponse& explained,
                        const Palette& palette) {
  std::string text = TextOf(explained, palette);
  if (!explained.members().empty()) absl::StrAppend(&text, "its members\n");
  for (const admin_pb::FailoverFinding& member : explained.members()) {
    absl::StrAppend(&text, TextOf(member, /*with_cluster=*/false, palette));
  }
  return text;
}

namespace {

template <typename Request, typename Response>
int Explain(const ExplainCommand& command, Request& request, Response explained,
            Streams& streams) {
  const auto parameters = ParseParameters(command.parameters);
  if (!parameters.ok()) return Fail(parameters.status(), kCliUsage, streams);
  request.mutable_parameters()->insert(parameters->begin(), parameters->end());
  const absl::Status called =
      AskWithSecrets(command, request, explained, streams);
  if (!called.ok()) return FailCall(called, streams);
  return YieldMessage(explained, ExplainText(explained, Palette(streams)),
                      streams);
}

}  // namespace

int RunExplain(const ExplainCommand& command, Streams& streams) {
  if (command.group) {
    admin_pb::ExplainGroupRequest request;
    request.set_group_id(command.id);
    return Explain(command, request, admin_pb::ExplainGroupResponse(), streams);
  }
  admin_pb::ExplainVolumeRequest request;
  request.set_volume_id(command.id);
  return Explain(command, request, admin_pb::ExplainVolumeResponse(), streams);
}

}  // namespace addons
