#include "cli/site_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/count_reasons.h"
#include "cli/many_rows.h"
#include "cli/streams.h"
#include "rpc/text.h"

namespace addons {
namespace {

constexpr size_t kColumns = 5;
constexpr size_t kIdColumn = 3;
using Cells = std::array<std::string, kColumns>;

/// What is left, refused, waits, or was not begun comes before what is done.
int Rank(const SiteRow& row) {
  if (row.item.action == SiteAction::kLeave) return 0;
  if (row.item.action == SiteAction::kNothing) return 5;
  switch (row.progress.state) {
    case SiteState::kRefused:
      return 1;
    case SiteState::kWaiting:
      return 2;
    case SiteState::kNotBegun:
      return 3;
    case SiteState::kDone:
      break;
  }
  return 4;
}

void Sort(std::vector<SiteRow>& rows) {
  std::stable_sort(
      rows.begin(), rows.end(),
      [](const SiteRow& a, const SiteRow& b) { return Rank(a) < Rank(b); });
}

std::string MessageOf(const SiteRow& row) {
  return row.progress.message.empty() ? row.item.reason : row.progress.message;
}

/// What a person does about it; empty: nothing.
std::string RemedyOf(const SiteRow& row) {
  const int rank = Rank(row);
  if (rank >= 4) return "";
  if (rank >= 2) return "run the same command again, which goes on with it";
  if (row.item.group) {
    return absl::StrCat("rbd-addons explain --group ", row.item.id);
  }
  if (row.item.images.empty()) return "";
  return absl::StrCat("rbd-addons ", row.item.id.empty() ? "adopt" : "explain",
                      " ", CleanLine(row.item.images.front(), kMaxShownName));
}

Reasoned ReasonOf(const SiteRow& row) {
  std::string kind = ResultOf(row);
  const std::string message = MessageOf(row);
  // Which is cut off with the object that follows it.
  if (absl::StartsWith(message, kNotDemotedThere)) {
    absl::string_view there = kNotDemotedThere;
    there.remove_suffix(2);
    absl::StrAppend(&kind, ", ", there);
  }
  std::vector<std::string> objects = row.item.images;
  objects.push_back(row.item.id);
  objects.push_back(row.item.id_there);
  return {row.item.name, message, kind, RemedyOf(row), std::move(objects)};
}

std::string Painted(const SiteRow& row, const std::string& result,
                    const Palette& palette) {
  const int rank = Rank(row);
  if (rank >= 4) return palette.Good(result);
  return rank <= 1 ? palette.Bad(result) : palette.Poor(result);
}

/// The lines in columns, the heading first; ids in the wide form only.
std::string InColumns(const std::vector<const SiteRow*>& rows,
                      const std::vector<Cells>& lines,
                      const std::array<size_t, kColumns>& widths,
                      const Palette& palette, bool wide) {
  std::string text;
  for (size_t line = 0; line < lines.size(); ++line) {
    for (size_t i = 0; i < kColumns; ++i) {
      if (i == kIdColumn && !wide) continue;
      const std::string& cell = lines[line].at(i);
      // Without the heading.
      absl::StrAppend(&text, line > 0 && i == 0
                                 ? Painted(*rows[line - 1], cell, palette)
                                 : cell);
      if (i + 1 == kColumns) break;
      text.append(widths.at(i) - cell.size() + 2, ' ');
    }
    text.push_back('\n');
  }
  return text;
}

}  // namespace

const char* ResultOf(const SiteRow& row) {
  switch (Rank(row)) {
    case 0:
      return "left alone";
    case 1:
      return "refused";
    case 2:
      return "waits";
    case 3:
      return "not begun";
    default:
      return "done";
  }
}

bool IsDone(const SiteRow& row) { return Rank(row) >= 4; }

std::string ProgressLine(const std::vector<SiteProgress>& items) {
  size_t done = 0;
  size_t failed = 0;
  std::vector<Reasoned> waiting;
  for (const SiteProgress& item : items) {
    done += item.state == SiteState::kDone ? 1 : 0;
    failed += item.state == SiteState::kRefused ? 1 : 0;
    if (item.state == SiteState::kWaiting && !item.message.empty()) {
      waiting.push_back({"", item.message});
    }
  }
  std::string line = absl::StrCat(done, " done, ", items.size() - done - failed,
                                  " waiting, ", failed, " failed");
  if (waiting.empty()) return line;
  const CountedReason most = GroupReasons(waiting).front();
  return absl::StrCat(line, "; ", most.count, " for: ", most.reason);
}

std::string SiteTable(std::vector<SiteRow> rows, const Palette& palette,
                      bool wide) {
  Sort(rows);
  std::vector<Reasoned> reasons;
  reasons.reserve(rows.size());
  for (const SiteRow& row : rows) reasons.push_back(ReasonOf(row));
  const SelectedRows selected =
      SelectRows(reasons, wide ? Listing::kAll : Listing::kCounted,
                 "the same command with -o wide");
  std::vector<Cells> lines = {{"RESULT", "ROLE HERE", "NAME", "ID", "MESSAGE"}};
  std::vector<const SiteRow*> listed;
  size_t done = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const SiteRow& row = rows[i];
    done += IsDone(row) ? 1 : 0;
    if (!selected.listed[i]) continue;
    listed.push_back(&row);
    lines.push_back(
        {ResultOf(row), row.role, row.item.name, row.item.id, MessageOf(row)});
  }
  std::array<size_t, kColumns> widths{};
  for (Cells& line : lines) {
    for (size_t i = 0; i < kColumns; ++i) {
      if (line.at(i).empty()) line.at(i).push_back('-');
      widths.at(i) = std::max(widths.at(i), line.at(i).size());
    }
  }
  std::string text = absl::StrCat(
      selected.counted, InColumns(listed, lines, widths, palette, wide));
  absl::StrAppend(&text, done, " of ", rows.size(), " done\n");
  if (listed.size() <= kMostListed) return text;
  // What stands above has scrolled away.
  std::map<std::string, std::vector<Reasoned>> others;  // by result
  for (const SiteRow& row : rows) {
    if (!IsDone(row)) {
      others[ResultOf(row)].push_back({row.item.name, MessageOf(row)});
    }
  }
  for (const auto& [result, all] : others) {
    absl::StrAppend(&text, result, ":\n", CountReasons(all));
  }
  return text;
}

nlohmann::ordered_json SiteJson(std::vector<SiteRow> rows,
                                const std::vector<std::string>& unseen) {
  using nlohmann::ordered_json;
  Sort(rows);
  ordered_json answer = {{"items", ordered_json::array()}, {"unseen", unseen}};
  size_t done = 0;
  for (const SiteRow& row : rows) {
    done += IsDone(row) ? 1 : 0;
    const bool called = row.progress.state != SiteState::kNotBegun;
    answer["items"].push_back(
        {{"kind", row.item.group ? "group" : "volume"},
         {"name", row.item.name},
         {"id", row.item.id},
         {"images", row.item.images},
         {"role", row.role},
         {"result", ResultOf(row)},
         {"code", called ? absl::StatusCodeToString(row.progress.code) : ""},
         {"message", MessageOf(row)}});
  }
  answer["done"] = done;
  answer["all"] = rows.size();
  return answer;
}

}  // namespace addons
