#include "cli/history.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

std::string TimeText(int64_t unix_ms) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMillis(unix_ms),
                          absl::UTCTimeZone());
}

std::string Name(const std::string& text) {
  return CleanLine(text, kMaxShownName);
}

/// What it is about: by its name, else by its image, else by its id. All three
/// with `wide`.
std::string Subject(const admin_pb::HistoryEvent& event, bool wide) {
  std::vector<std::string> names;
  for (const std::string* const name :
       {&event.name(), &event.image(), &event.object()}) {
    if (!name->empty() && (names.empty() || wide) &&
        (names.empty() || names.front() != Name(*name))) {
      names.push_back(Name(*name));
    }
  }
  if (names.size() < 2) return absl::StrJoin(names, "");
  const std::string first = names.front();
  names.erase(names.begin());
  return absl::StrCat(first, " (", absl::StrJoin(names, ", "), ")");
}

std::string TextOf(const admin_pb::HistoryEvent& event, bool wide) {
  const bool role = !event.to().empty();
  std::string text =
      absl::StrCat(TimeText(event.time()), "  ", Subject(event, wide), "  ");
  if (role) {
    absl::StrAppend(&text, Name(event.from()), " -> ", Name(event.to()));
  } else {
    absl::StrAppend(&text, Name(event.verb()), ": ", Name(event.code()));
  }
  if (event.times() > 1) {
    absl::StrAppend(&text, ", ", event.times(), " times until ",
                    TimeText(event.until()));
  }
  absl::StrAppend(&text, "\n");
  if (!event.text().empty()) {
    absl::StrAppend(&text, "  ", CleanLine(event.text(), kMaxShownText), "\n");
  }
  if (!role) {
    absl::StrAppend(&text, "  asked by ",
                    event.user().empty()
                        ? "an administrator"
                        : absl::StrCat("client.", Name(event.user())),
                    event.request().empty() ? "" : ", request ",
                    Name(event.request()), "\n");
  }
  return text;
}

/// "90s", "2h" or, as status shows ages, "5d4h".
std::optional<absl::Duration> BeforeNow(absl::string_view text) {
  constexpr int kHoursOfADay = 24;
  constexpr int kMostDays = 36500;
  absl::Duration before;
  if (const size_t days_end = text.find('d');
      days_end != absl::string_view::npos) {
    int days = 0;
    if (!absl::SimpleAtoi(text.substr(0, days_end), &days) || days < 0 ||
        days > kMostDays) {
      return std::nullopt;
    }
    before = absl::Hours(kHoursOfADay) * days;
    text.remove_prefix(days_end + 1);
  }
  absl::Duration rest;
  const bool whole_days = text.empty() && before > absl::ZeroDuration();
  if (!whole_days &&
      (!absl::ParseDuration(text, &rest) || rest <= absl::ZeroDuration())) {
    return std::nullopt;
  }
  return before + rest;
}

}  // namespace

absl::StatusOr<absl::Time> ReadSince(const std::string& text, absl::Time now) {
  if (const auto before = BeforeNow(text); before.has_value()) {
    return now - *before;
  }
  absl::Time time;
  for (const char* const format :
       {"%Y-%m-%dT%H:%M:%E*S%Ez", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"}) {
    if (absl::ParseTime(format, text, &time, nullptr)) return time;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text,
                   "' is neither a duration such as 2h nor a time such as "
                   "2026-11-20T03:00:00Z"));
}

std::string HistoryText(const admin_pb::ListHistoryResponse& found,
                        absl::string_view of, bool wide) {
  std::string text;
  if (found.more()) {
    absl::StrAppend(&text, "there are older ones: see --limit and --since\n");
  }
  for (const admin_pb::HistoryEvent& event : found.events()) {
    absl::StrAppend(&text, TextOf(event, wide));
  }
  if (found.events().empty()) {
    absl::StrAppend(&text, "nothing has happened to ", of,
                    " in that time, as far as daemons have written it down\n");
  }
  if (found.unreadable() > 0) {
    absl::StrAppend(&text, found.unreadable(), " entries cannot be read\n");
  }
  return text;
}

int RunHistory(const HistoryCommand& command, Streams& streams) {
  admin_pb::ListHistoryRequest request;
  if (command.id.empty() == command.pool.empty()) {
    return Fail(absl::InvalidArgumentError(
                    "name a volume, a group with --group, or a --pool"),
                kCliUsage, streams);
  }
  std::string of;
  if (!command.pool.empty()) {
    of = absl::StrCat("pool ", Name(command.pool));
    request.set_pool(command.pool);
    request.set_cluster_id(command.cluster);
  } else if (command.group) {
    of = absl::StrCat("group ", Name(command.id));
    request.set_group_id(command.id);
  } else {
    of = absl::StrCat("volume ", TypedName(command.id, streams));
    request.set_volume_id(command.id);
  }
  if (!command.since.empty()) {
    request.set_since(
        absl::ToUnixSeconds(ReadSince(command.since, absl::Now()).value()));
  }
  request.set_limit(command.limit);
  admin_pb::ListHistoryResponse found;
  const absl::Status called = AskWithSecrets(command, request, found, streams);
  if (!called.ok()) return FailCall(called, streams);
  return YieldMessage(found, HistoryText(found, of, streams.wide), streams);
}

}  // namespace addons
