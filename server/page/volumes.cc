#include "server/page/volumes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "server/page/html.h"
#include "server/page/query.h"
#include "watch/copy_state.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

constexpr int kColumns = 7;

/// What is old is grey, but for what does not mend itself.
std::string StateTag(const PageVolume& volume) {
  if (volume.image->split_brain) return Tag("bad", "split brain");
  switch (volume.state) {
    case CopyState::kInStep:
      return Tag("good", Name(volume.state));
    case CopyState::kBroken:
      return Tag("bad", Name(volume.state));
    case CopyState::kLate:
      return Tag(volume.stale() ? "old" : "bad", Name(volume.state));
    case CopyState::kCopying:
      return Tag("warn", Name(volume.state));
    case CopyState::kUnknown:
      break;
  }
  return Tag("old", Name(volume.state));
}

/// "45 s old, every 5 min".
std::string CopyText(const PageVolume& volume) {
  const WatchedImage& image = *volume.image;
  std::string text;
  if (volume.age.has_value()) {
    text = absl::StrCat(Lasting(*volume.age), " old");
  } else if (image.last_sync.has_value()) {
    text = FormatUtc(absl::FromUnixSeconds(*image.last_sync));
  } else if (volume.state != CopyState::kCopying) {
    text = "not known";
  }
  if (image.interval_seconds.value_or(0) > 0) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "every ",
                    Interval(*image.interval_seconds));
  }
  return text;
}

/// "43%, 1.2 GiB left, 12.0 MiB/s, 2 min".
std::string ProgressText(const PageVolume& volume) {
  const WatchedImage& image = *volume.image;
  std::vector<std::string> parts;
  if (image.percent.has_value()) {
    parts.push_back(absl::StrCat(*image.percent, "%"));
  }
  if (image.bytes_remaining.value_or(0) > 0) {
    parts.push_back(absl::StrCat(Bytes(*image.bytes_remaining), " left"));
  }
  if (image.bytes_per_second.value_or(0) > 0) {
    parts.push_back(absl::StrCat(Bytes(*image.bytes_per_second), "/s"));
  }
  if (const auto left = volume.SecondsLeft(); left.has_value()) {
    parts.push_back(absl::StrCat("about ", Lasting(*left)));
  }
  return absl::StrJoin(parts, ", ");
}

/// All that it is called.
std::string AllNames(const PageVolume& volume) {
  std::vector<std::string> names = {std::string(volume.name)};
  const WatchedImage& image = *volume.image;
  for (const std::string& name :
       {image.volume_name, SpecOf(*volume.pool, image), image.volume_id}) {
    if (!name.empty() && name != names.front()) names.push_back(name);
  }
  return absl::StrJoin(names, "\n");
}

/// The peers' names, those grey that are not heard of.
std::string PeerText(const PageVolume& volume) {
  const WatchedPool& pool = *volume.pool;
  if (pool.peer_mirror_up != false) {
    return Escaped(absl::StrJoin(pool.peers, ", "));
  }
  return Tag("old", absl::StrCat(absl::StrJoin(pool.peers, ", "),
                                 pool.peers.empty() ? "silent" : ": silent"));
}

void AddRow(const PageVolume& volume, std::string* html) {
  const std::string spec = SpecOf(*volume.pool, *volume.image);
  absl::StrAppend(
      html, volume.stale() ? "<tr class=\"stale\">" : "<tr>",
      "<td data-l=\"volume\" class=\"name\" title=\"",
      Escaped(AllNames(volume)), "\"><b>", Escaped(volume.name), "</b></td>",
      Cell("copy", StateTag(volume)),
      Cell("role here", Name(volume.image->role)),
      Cell("last complete copy", Escaped(CopyText(volume))),
      Cell("copying", ProgressText(volume)), Cell("peer", PeerText(volume)),
      Cell("image", volume.name == spec ? "" : Escaped(spec), "far"),
      "</tr>\n");
}

/// What is said of the volumes below, with how many of all have it.
void AddWhy(const StatusPage& page, const PageVolume& first,
            std::string* html) {
  const std::string why = first.Why();
  const bool has_numbers = std::any_of(why.begin(), why.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  absl::StrAppend(
      html, "<tr class=\"why\"><td colspan=\"", kColumns, "\">",
      first.same_why > 1
          ? absl::StrCat("<b>", first.same_why, " volumes",
                         has_numbers ? "</b>, for example: " : ":</b> ")
          : "",
      first.stale() && first.pool->seen_at.has_value()
          ? absl::StrCat("<span class=\"dim\">said ",
                         Ago(first.pool->seen_at, page.now), ":</span> ")
          : "",
      Escaped(why), "</td></tr>\n");
}

template <typename Value>
void AddOption(absl::string_view name, absl::string_view words, Value value,
               Value chosen, std::string* html) {
  absl::StrAppend(html, "<option value=\"", name, "\"",
                  value == chosen ? " selected" : "", ">", words, "</option>");
}

void AddForm(const PageQuery& query, std::string* html) {
  using State = PageQuery::State;
  using Sort = PageQuery::Sort;
  absl::StrAppend(
      html,
      "<form method=\"get\" action=\"#volumes\">"
      "<label>with <input name=\"q\" type=\"search\" maxlength=\"200\" "
      "placeholder=\"name, id, pool or message\" value=\"",
      Escaped(query.text),
      "\"></label><label>that are <select name=\"state\">");
  for (const auto& [state, words] : std::vector<std::pair<State, const char*>>{
           {State::kAll, "in any state"},
           {State::kTrouble, "in trouble"},
           {State::kBroken, "broken"},
           {State::kLate, "late"},
           {State::kUnknown, "unknown"},
           {State::kCopying, "copying"},
           {State::kInStep, "in step"}}) {
    AddOption(Name(state), words, state, query.state, html);
  }
  absl::StrAppend(html, "</select></label><label>and <select name=\"role\">");
  AddOption<std::optional<WatchedRole>>("", "of any role", std::nullopt,
                                        query.role, html);
  for (const WatchedRole role : {WatchedRole::kPrimary, WatchedRole::kSecondary,
                                 WatchedRole::kUnclear}) {
    AddOption<std::optional<WatchedRole>>(
        Name(role),
        absl::StrCat(Name(role), role == WatchedRole::kUnclear ? "" : " here"),
        role, query.role, html);
  }
  absl::StrAppend(html, "</select></label><label>first <select name=\"sort\">");
  for (const auto& [sort, words] : std::vector<std::pair<Sort, const char*>>{
           {Sort::kTrouble, "trouble"},
           {Sort::kName, "by name"},
           {Sort::kAge, "the oldest copy"},
           {Sort::kLeft, "most left to copy"}}) {
    AddOption(Name(sort), words, sort, query.sort, html);
  }
  absl::StrAppend(
      html, "</select></label><button>show</button>",
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

absl::string_view WordsOf(PageQuery::Sort sort) {
  switch (sort) {
    case PageQuery::Sort::kName:
      return "by name";
    case PageQuery::Sort::kAge:
      return "the oldest copy first";
    case PageQuery::Sort::kLeft:
      return "what has most left to copy first";
    case PageQuery::Sort::kTrouble:
      break;
  }
  return "trouble first";
}

void AddTile(absl::string_view address, absl::string_view kind,
             absl::string_view number, absl::string_view what,
             std::string* html) {
  absl::StrAppend(html, "<a href=\"", Escaped(address), "#volumes\"",
                  kind.empty() ? "" : absl::StrCat(" class=\"", kind, "\""),
                  "><b>", Escaped(number), "</b><i>", Escaped(what),
                  "</i></a>\n");
}

/// What is seen of a group's members.
struct GroupRow {
  const WatchedGroup* group = nullptr;
  CopyStateCounts by_state{};
  size_t unseen = 0;
  size_t split_brain = 0;
  std::optional<int64_t> oldest_age;
  std::vector<std::string> names;  // of its members

  size_t of(CopyState state) const {
    return by_state.at(static_cast<size_t>(state));
  }
  /// The more, the sooner a person is needed.
  std::tuple<size_t, size_t, size_t, size_t> Trouble() const {
    return {split_brain, of(CopyState::kBroken), of(CopyState::kLate),
            of(CopyState::kUnknown) + unseen};
  }
};

std::vector<GroupRow> GroupRowsOf(const WatchSnapshot& seen, SteadyTime now) {
  if (seen.groups.empty()) return {};
  std::map<std::string, std::pair<const WatchedPool*, const WatchedImage*>>
      by_volume;
  for (const WatchedPool& pool : seen.pools) {
    for (const WatchedImage& image : pool.images) {
      if (!image.volume_id.empty()) {
        by_volume[image.volume_id] = {&pool, &image};
      }
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
      const auto& [pool, image] = found->second;
      row.names.push_back(NameOf(*pool, *image));
      if (image->split_brain) {
        ++row.split_brain;
      } else {
        ++row.by_state.at(static_cast<size_t>(CopyStateAt(*pool, *image, now)));
      }
      row.oldest_age = std::max(row.oldest_age, CopyAgeAt(*pool, *image, now));
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GroupRow& a, const GroupRow& b) {
                     return a.Trouble() > b.Trouble();
                   });
  return rows;
}

/// "a, b, c and 5 more".
std::string MembersText(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  if (names.size() <= kShown) return absl::StrJoin(names, ", ");
  return absl::StrCat(
      absl::StrJoin(names.begin(), names.begin() + kShown, ", "), " and ",
      names.size() - kShown, " more");
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
  add(row.of(CopyState::kBroken), "bad", "broken");
  add(row.of(CopyState::kLate), "bad", "late");
  add(row.of(CopyState::kUnknown), "old", "unknown");
  add(row.unseen, "old", "not seen");
  add(row.of(CopyState::kCopying), "warn", "copying");
  add(row.of(CopyState::kInStep), "good", "in step");
  return text.empty() ? "no members" : text;
}

}  // namespace

void AddTiles(const PageTotals& totals, std::string* html) {
  const size_t in_step = totals.of(CopyState::kInStep);
  // Numbers of what cannot be seen are grey.
  const bool stale = totals.stale > 0 && totals.stale == totals.volumes;
  const auto add = [&](CopyState state, absl::string_view kind, bool always) {
    const size_t count = totals.of(state);
    if (count == 0 && !always) return;
    const absl::string_view word =
        state == CopyState::kUnknown ? "not known" : Name(state);
    AddTile(absl::StrCat("?state=", Name(state)),
            count == 0 || (stale && state != CopyState::kBroken) ? "" : kind,
            absl::StrCat(count), word, html);
  };
  absl::StrAppend(html, "<div class=\"tiles\">\n");
  AddTile("?state=in-step",
          totals.volumes > 0 && in_step == totals.volumes ? "good" : "",
          absl::StrCat(in_step, " of ", totals.volumes), "protected: in step",
          html);
  add(CopyState::kLate, "bad", true);
  add(CopyState::kBroken, "bad", true);
  add(CopyState::kUnknown, "warn", false);
  add(CopyState::kCopying, "", false);
  AddTile("?role=primary", "", absl::StrCat(totals.primary),
          stale ? "primary here when last seen" : "primary here", html);
  AddTile("?sort=age", "",
          totals.oldest_age.has_value() ? Lasting(*totals.oldest_age)
                                        : std::string("not known"),
          totals.oldest_age.has_value()
              ? absl::StrCat("oldest copy: ", totals.oldest_name)
              : std::string("oldest copy"),
          html);
  absl::StrAppend(html, "</div>\n");
}

void AddVolumes(const StatusPage& page, const PageView& view,
                std::string* html) {
  const PageQuery& query = view.query;
  const std::vector<PageVolume>& rows = view.volumes;
  const size_t total = view.totals.volumes;
  const size_t kept = view.totals.kept;
  AddHeading("volumes", absl::StrCat("Volumes under replication: ", total),
             html);
  if (kept == 0) {
    absl::StrAppend(html, "<p class=\"dim\">none has been seen</p>\n");
    return;
  }
  AddForm(query, html);
  const size_t pages =
      std::max<size_t>(1, (rows.size() + kRowsOfPage - 1) / kRowsOfPage);
  const size_t current = std::min(query.page.value_or(1), pages);
  const size_t begin = (current - 1) * kRowsOfPage;
  const size_t end = std::min(rows.size(), begin + kRowsOfPage);
  absl::StrAppend(html, "<p class=\"dim\">");
  if (rows.empty()) {
    absl::StrAppend(html, "none is like that");
  } else {
    absl::StrAppend(html, begin + 1, " to ", end, " of ", rows.size(),
                    query.filters() ? " that are like that" : "", ", ",
                    WordsOf(query.sort));
  }
  if (total > kept) {
    absl::StrAppend(html, "; ", total - kept,
                    " more are counted, but not kept by name");
  }
  absl::StrAppend(html, "; ", Link("status.json" + query.Link(), "as JSON"),
                  "</p>\n");
  if (rows.empty()) return;
  AddPages(query, current, pages, html);
  absl::StrAppend(
      html, "<table class=\"volumes\"><thead><tr><th>",
      Link(query.Link(PageQuery::Sort::kName) + "#volumes", "volume"),
      "</th><th>",
      Link(query.Link(PageQuery::Sort::kTrouble) + "#volumes", "copy"),
      "</th><th>role here</th><th>",
      Link(query.Link(PageQuery::Sort::kAge) + "#volumes",
           "last complete copy"),
      "</th><th>",
      Link(query.Link(PageQuery::Sort::kLeft) + "#volumes", "copying"),
      "</th><th>peer</th><th class=\"far\">image</th>"
      "</tr></thead><tbody>\n");
  const PageVolume* before = nullptr;
  for (size_t i = begin; i < end; ++i) {
    const PageVolume& volume = rows[i];
    if (volume.why_key != 0 &&
        (before == nullptr || before->why_key != volume.why_key)) {
      AddWhy(page, volume, html);
    }
    AddRow(volume, html);
    before = &volume;
  }
  EndTable(html);
  AddPages(query, current, pages, html);
}

void AddGroups(const StatusPage& page, std::string* html) {
  const std::vector<GroupRow> rows = GroupRowsOf(*page.watch, page.now);
  if (rows.empty()) return;
  AddHeading("groups", absl::StrCat("Volume groups: ", rows.size()), html);
  BeginTable("group|copies|oldest copy|id", html);
  const size_t shown = std::min(rows.size(), kRowsOfPage);
  for (size_t i = 0; i < shown; ++i) {
    const GroupRow& row = rows[i];
    const std::string& id = row.group->group_id;
    absl::StrAppend(
        html, "<tr>",
        Cell(
            "group",
            absl::StrCat(
                "<b>", Escaped(row.names.empty() ? id : MembersText(row.names)),
                "</b>"),
            "name"),
        Cell("copies", GroupHealth(row)),
        Cell("oldest copy", row.oldest_age.has_value()
                                ? absl::StrCat(Lasting(*row.oldest_age), " old")
                                : std::string("not known")),
        Cell("id", row.names.empty() ? "" : Escaped(id), "wide"), "</tr>\n");
  }
  EndTable(html);
  if (rows.size() > shown) {
    absl::StrAppend(html, "<p>and ", rows.size() - shown, " more</p>\n");
  }
}

}  // namespace addons
