#include "server/page/volumes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "server/page/html.h"
#include "server/page/query.h"

namespace addons {
namespace {

struct Row {
  const WatchedPool* pool;
  const WatchedImage* image;
};

/// Of all pools, those that the query shows, in the order of the page.
std::vector<Row> RowsOf(const WatchSnapshot& seen, const PageQuery& query) {
  std::vector<Row> rows;
  for (const WatchedPool& pool : seen.pools) {
    for (const WatchedImage& image : pool.images) {
      if (query.Shows(pool, image)) rows.push_back({&pool, &image});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return TroubleFirst(*a.image, *b.image);
  });
  return rows;
}

std::string SyncText(const WatchedImage& image) {
  if (!image.last_sync.has_value()) return "not known";
  std::string text;
  if (image.lag_seconds.has_value()) {
    absl::StrAppend(&text, Lasting(*image.lag_seconds), " old");
    if (image.interval_seconds.has_value()) {
      absl::StrAppend(&text, " (every ", Lasting(*image.interval_seconds), ")");
    }
    absl::StrAppend(&text, "<br>");
  }
  absl::StrAppend(&text, "<span class=\"time dim\">",
                  FormatUtc(absl::FromUnixSeconds(*image.last_sync)),
                  "</span>");
  return text;
}

std::string ProgressText(const WatchedImage& image) {
  std::string text = image.state;
  if (image.percent.has_value()) {
    absl::StrAppend(&text, ", ", *image.percent, "%");
  }
  if (image.bytes_remaining.value_or(0) > 0) {
    absl::StrAppend(&text, ", about ", Bytes(*image.bytes_remaining), " left");
  }
  return text;
}

std::string HealthText(const Row& row) {
  const WatchedImage& image = *row.image;
  std::string health = image.split_brain ? Tag("bad", "split brain")
                       : image.health == ReplicationHealth::kHealthy
                           ? Tag("good", Name(image.health))
                       : image.health == ReplicationHealth::kDegraded
                           ? Tag("warn", Name(image.health))
                           : Tag("bad", Name(image.health));
  if (!row.pool->unseen.empty()) {
    absl::StrAppend(&health, " ", Tag("warn", "not seen now"));
  }
  return health;
}

std::string MessageText(const WatchedImage& image) {
  std::string text = image.message;
  if (image.missed_snapshots.value_or(0) > 0) {
    absl::StrAppend(
        &text, text.empty() ? "" : "; ", *image.missed_snapshots,
        *image.missed_snapshots == 1 ? " snapshot is" : " snapshots are",
        " missing: see `rbd mirror snapshot schedule status`");
  }
  return text;
}

void AddRow(const Row& row, std::string* html) {
  const WatchedImage& image = *row.image;
  std::string name = absl::StrCat("<b>", Escaped(image.image), "</b>");
  if (!image.volume_name.empty()) {
    absl::StrAppend(&name, "<br>", Escaped(image.volume_name));
  }
  absl::StrAppend(&name, "<br><span class=\"dim\">",
                  Escaped(PlaceOf(*row.pool)), "</span>");
  absl::StrAppend(
      html, "<tr>", Cell("volume", name, "name"),
      Cell("health", HealthText(row)), Cell("role", Name(image.role)),
      Cell("last complete copy", SyncText(image)),
      Cell("copying", Escaped(ProgressText(image))),
      Cell("message", Escaped(MessageText(image)), "wide"), "</tr>\n");
}

void AddForm(const PageQuery& query, std::string* html) {
  constexpr std::array<std::pair<PageQuery::Health, const char*>, 5> kChoices =
      {{{PageQuery::Health::kAll, "all"},
        {PageQuery::Health::kTrouble, "in trouble"},
        {PageQuery::Health::kError, "in error"},
        {PageQuery::Health::kDegraded, "degraded"},
        {PageQuery::Health::kHealthy, "healthy"}}};
  absl::StrAppend(
      html,
      "<form method=\"get\" action=\"#volumes\">"
      "<label>with <input name=\"q\" type=\"search\" maxlength=\"200\" "
      "placeholder=\"name, id, pool or message\" value=\"",
      Escaped(query.text),
      "\"></label> <label>that are <select "
      "name=\"health\">");
  for (const auto& [health, words] : kChoices) {
    absl::StrAppend(html, "<option value=\"", Name(health), "\"",
                    health == query.health ? " selected" : "", ">", words,
                    "</option>");
  }
  absl::StrAppend(
      html, "</select></label> <button>show</button>",
      query.filters() ? " <a href=\"?#volumes\">all volumes</a>" : "",
      "</form>\n");
}

/// "page 1 2 ... 25", each a link.
void AddPages(const PageQuery& query, size_t current, size_t pages,
              std::string* html) {
  if (pages < 2) return;
  absl::StrAppend(html, "<p class=\"pages\">page");
  for (size_t page = 1; page <= pages; ++page) {
    if (page == current) {
      absl::StrAppend(html, " <b>", page, "</b>");
    } else {
      absl::StrAppend(html, " <a href=\"", Escaped(query.Link(page)),
                      "#volumes\">", page, "</a>");
    }
  }
  absl::StrAppend(html, "</p>\n");
}

/// What is seen of a group's members.
struct GroupRow {
  const WatchedGroup* group = nullptr;
  std::array<size_t, kReplicationHealths> by_health{};
  size_t unseen = 0;
  size_t split_brain = 0;
  std::optional<int64_t> oldest_sync;

  size_t of(ReplicationHealth health) const {
    return by_health.at(static_cast<size_t>(health));
  }
  /// The more, the sooner a person is needed.
  std::tuple<size_t, size_t, size_t, size_t> Trouble() const {
    return {split_brain, of(ReplicationHealth::kError),
            of(ReplicationHealth::kDegraded), unseen};
  }
};

std::vector<GroupRow> GroupRowsOf(const WatchSnapshot& seen) {
  std::map<std::string, const WatchedImage*> by_volume;
  for (const WatchedPool& pool : seen.pools) {
    for (const WatchedImage& image : pool.images) {
      if (!image.volume_id.empty()) by_volume[image.volume_id] = &image;
    }
  }
  std::vector<GroupRow> rows;
  for (const WatchedGroup& group : seen.groups) {
    GroupRow& row = rows.emplace_back();
    row.group = &group;
    for (const std::string& member : group.members) {
      const auto found = by_volume.find(member);
      if (found == by_volume.end()) {
        ++row.unseen;
        continue;
      }
      const WatchedImage& image = *found->second;
      ++row.by_health.at(static_cast<size_t>(image.health));
      if (image.split_brain) ++row.split_brain;
      if (image.last_sync.has_value()) {
        row.oldest_sync = std::min(row.oldest_sync.value_or(*image.last_sync),
                                   *image.last_sync);
      }
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GroupRow& a, const GroupRow& b) {
                     return a.Trouble() > b.Trouble();
                   });
  return rows;
}

std::string GroupHealth(const GroupRow& row) {
  std::string text;
  const auto add = [&text](size_t count, absl::string_view kind,
                           absl::string_view what) {
    if (count == 0) return;
    absl::StrAppend(&text, text.empty() ? "" : " ",
                    Tag(kind, absl::StrCat(count, " ", what)));
  };
  add(row.split_brain, "bad", "split brain");
  add(row.of(ReplicationHealth::kError), "bad", "in error");
  add(row.of(ReplicationHealth::kDegraded), "warn", "degraded");
  add(row.unseen, "warn", "not seen");
  add(row.of(ReplicationHealth::kHealthy), "good", "healthy");
  return text.empty() ? "no members" : text;
}

}  // namespace

void AddVolumes(const StatusPage& page, std::string* html) {
  const PageQuery query = PageQuery::Parse(page.query);
  const std::vector<Row> rows = RowsOf(*page.watch, query);
  size_t total = 0;
  size_t kept = 0;
  for (const WatchedPool& pool : page.watch->pools) {
    total += pool.total;
    kept += pool.images.size();
  }
  AddHeading("volumes", absl::StrCat("Volumes under replication: ", total),
             html);
  if (kept == 0) {
    absl::StrAppend(html, "<p class=\"dim\">none has been seen</p>\n");
    return;
  }
  AddForm(query, html);
  const size_t pages =
      std::max<size_t>(1, (rows.size() + kRowsOfPage - 1) / kRowsOfPage);
  const size_t current = std::min(query.page, pages);
  const size_t begin = (current - 1) * kRowsOfPage;
  const size_t end = std::min(rows.size(), begin + kRowsOfPage);
  absl::StrAppend(html, "<p class=\"dim\">");
  if (rows.empty()) {
    absl::StrAppend(html, "none is like that");
  } else {
    absl::StrAppend(html, begin + 1, " to ", end, " of ", rows.size(),
                    query.filters() ? " that are like that" : "",
                    ", trouble first");
  }
  if (total > kept) {
    absl::StrAppend(html, "; ", total - kept,
                    " more are counted, but not kept by name");
  }
  absl::StrAppend(html, "</p>\n");
  if (rows.empty()) return;
  AddPages(query, current, pages, html);
  BeginTable("volume|health|role here|last complete copy|copying|message",
             html);
  for (size_t i = begin; i < end; ++i) AddRow(rows[i], html);
  EndTable(html);
  AddPages(query, current, pages, html);
}

void AddGroups(const StatusPage& page, std::string* html) {
  const std::vector<GroupRow> rows = GroupRowsOf(*page.watch);
  if (rows.empty()) return;
  AddHeading("groups", absl::StrCat("Volume groups: ", rows.size()), html);
  BeginTable("group|members|oldest complete copy of a member", html);
  const size_t shown = std::min(rows.size(), kRowsOfPage);
  for (size_t i = 0; i < shown; ++i) {
    const GroupRow& row = rows[i];
    absl::StrAppend(
        html, "<tr>", Cell("group", Escaped(row.group->group_id), "name"),
        Cell("members", GroupHealth(row)),
        Cell("oldest complete copy",
             row.oldest_sync.has_value()
                 ? FormatUtc(absl::FromUnixSeconds(*row.oldest_sync))
                 : std::string("not known")),
        "</tr>\n");
  }
  EndTable(html);
  if (rows.size() > shown) {
    absl::StrAppend(html, "<p>and ", rows.size() - shown, " more</p>\n");
  }
}

}  // namespace addons
