#include "server/status_page.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/utc.h"

namespace addons {
namespace {

constexpr char kStyle[] = R"(
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--dim:#5b6470;--line:#d9dde2;
--bad:#a4161a;--badbg:#fde8e8;--warn:#7a4b00;--warnbg:#fff3d6;--good:#0b6b34;--goodbg:#e3f5ea}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e8ea;--dim:#9aa4af;
--line:#30363c;--bad:#ff9b9b;--badbg:#431b1d;--warn:#ffd27a;--warnbg:#3d2f10;
--good:#86e0a8;--goodbg:#153524}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:90rem;padding:1rem;background:var(--bg);color:var(--fg);
font:16px/1.45 system-ui,sans-serif}
h1{font-size:1.35rem;margin:0 0 .5rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
p{margin:.3rem 0}.dim{color:var(--dim)}
ul.trouble{list-style:none;margin:.6rem 0;padding:0}
ul.trouble li{margin:.3rem 0;padding:.45rem .7rem;border-radius:.3rem;overflow-wrap:anywhere}
.bad{color:var(--bad);background:var(--badbg)}.warn{color:var(--warn);background:var(--warnbg)}
.good{color:var(--good);background:var(--goodbg)}
.tag{display:inline-block;padding:0 .45rem;border-radius:.3rem;font-weight:600}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--dim);font-size:.85rem}
td.name,td.wide{overflow-wrap:anywhere;min-width:14rem}
.tag{white-space:nowrap}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
@media(max-width:50rem){thead{position:absolute;left:-9999px}
table,tbody,tr,td{display:block;width:100%}
tr{border-bottom:2px solid var(--line);padding:.4rem 0}
td{border:0;padding:.1rem 0;overflow-wrap:anywhere}td.name,td.wide{min-width:0}
td[data-l]::before{content:attr(data-l) ": ";color:var(--dim);font-size:.85rem}}
)";

std::string Escaped(absl::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// "45 s", "12 min", "3 h", "5 d".
std::string Lasting(int64_t seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return absl::StrCat(seconds, " s");
  if (seconds < 2 * kHour) return absl::StrCat(seconds / kMinute, " min");
  if (seconds < 2 * kDay) return absl::StrCat(seconds / kHour, " h");
  return absl::StrCat(seconds / kDay, " d");
}

int64_t SecondsBetween(SteadyTime begin, SteadyTime end) {
  return std::chrono::duration_cast<std::chrono::seconds>(end - begin).count();
}

std::string Bytes(int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  const double mib = static_cast<double>(bytes) / kMiB;
  return mib < 1024 ? absl::StrFormat("%.1f MiB", mib)
                    : absl::StrFormat("%.1f GiB", mib / 1024);
}

std::string Tag(absl::string_view kind, absl::string_view text) {
  return absl::StrCat("<span class=\"tag ", kind, "\">", Escaped(text),
                      "</span>");
}

/// `html` is escaped already.
std::string Cell(absl::string_view label, absl::string_view html,
                 absl::string_view kind = "") {
  return absl::StrCat("<td data-l=\"", label, "\"",
                      kind.empty() ? "" : " class=\"", kind,
                      kind.empty() ? "" : "\"", ">", html, "</td>");
}

std::string PlaceOf(const WatchedPool& pool) {
  return absl::StrCat(pool.cluster_id, "/", pool.pool,
                      pool.rados_namespace.empty() ? "" : "/",
                      pool.rados_namespace);
}

struct Row {
  const WatchedPool* pool;
  const WatchedImage* image;
};

/// Of all pools, in the order of the page.
std::vector<Row> RowsOf(const WatchSnapshot& seen) {
  std::vector<Row> rows;
  for (const WatchedPool& pool : seen.pools) {
    for (const WatchedImage& image : pool.images) {
      rows.push_back({&pool, &image});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return TroubleFirst(*a.image, *b.image);
  });
  return rows;
}

/// What is wrong, the worst first, as items of a list.
struct Troubles {
  std::vector<std::string> bad;
  std::vector<std::string> warn;
};

std::string Images(size_t count) {
  return count == 1 ? "1 volume" : absl::StrCat(count, " volumes");
}

void AddPoolTroubles(const WatchedPool& pool, SteadyTime now,
                     Troubles* troubles) {
  const std::string place = PlaceOf(pool);
  if (!pool.unseen.empty()) {
    (pool.seen_at.has_value() || pool.failed_looks > 0 ? troubles->bad
                                                       : troubles->warn)
        .push_back(absl::StrCat(
            place, " cannot be seen: ", pool.unseen,
            pool.seen_at.has_value()
                ? absl::StrCat("; what is shown of it is ",
                               Lasting(SecondsBetween(*pool.seen_at, now)),
                               " old")
                : ""));
  }
  if (!pool.seen_at.has_value()) return;
  const size_t split = static_cast<size_t>(std::count_if(
      pool.images.begin(), pool.images.end(),
      [](const WatchedImage& image) { return image.split_brain; }));
  if (split > 0) {
    troubles->bad.push_back(
        absl::StrCat(place, ": split brain of ", Images(split)));
  }
  const size_t errors =
      pool.by_health.at(static_cast<size_t>(ReplicationHealth::kError));
  if (errors > 0) {
    troubles->bad.push_back(
        absl::StrCat(place, ": ", Images(errors), " in error"));
  }
  if (pool.local_mirror_up == false) {
    troubles->bad.push_back(
        absl::StrCat(place, ": rbd-mirror of this site does not report"));
  }
  if (pool.peer_mirror_up == false) {
    troubles->bad.push_back(
        absl::StrCat(place, ": rbd-mirror of the peer site does not report"));
  }
  const size_t degraded =
      pool.by_health.at(static_cast<size_t>(ReplicationHealth::kDegraded));
  if (degraded > 0) {
    troubles->warn.push_back(
        absl::StrCat(place, ": ", Images(degraded), " degraded"));
  }
  if (!pool.schedules_unseen.empty()) {
    troubles->warn.push_back(absl::StrCat(
        place, ": the manager does not tell the snapshot schedules: ",
        pool.schedules_unseen));
  }
}

Troubles TroublesOf(const StatusPage& page) {
  Troubles troubles;
  if (!page.not_ready.empty()) {
    troubles.bad.push_back(absl::StrCat("not ready: ", page.not_ready));
  }
  if (page.watch == nullptr) return troubles;
  for (const WatchedPool& pool : page.watch->pools) {
    AddPoolTroubles(pool, page.now, &troubles);
  }
  if (page.watch->pools_left_out > 0) {
    troubles.warn.push_back(absl::StrCat(
        page.watch->pools_left_out,
        " more pools are not watched, because there are too many"));
  }
  return troubles;
}

std::string Title(const StatusPage& page, const Troubles& troubles) {
  const size_t count = troubles.bad.size() + troubles.warn.size();
  if (count > 0) {
    return absl::StrCat(
        troubles.bad.empty() ? troubles.warn.front() : troubles.bad.front(),
        count > 1 ? absl::StrCat(" (and ", count - 1, " more)") : "");
  }
  if (page.watch == nullptr) return "running, replication is not watched";
  if (page.watch->pools.empty()) return "running, no replication seen yet";
  return "no trouble seen";
}

void AddTroubles(const Troubles& troubles, std::string* html) {
  if (troubles.bad.empty() && troubles.warn.empty()) return;
  absl::StrAppend(html, "<ul class=\"trouble\">\n");
  for (const std::string& text : troubles.bad) {
    absl::StrAppend(html, "<li class=\"bad\">", Escaped(text), "</li>\n");
  }
  for (const std::string& text : troubles.warn) {
    absl::StrAppend(html, "<li class=\"warn\">", Escaped(text), "</li>\n");
  }
  absl::StrAppend(html, "</ul>\n");
}

std::string UpText(const std::optional<bool>& up) {
  if (!up.has_value()) return "never reported";
  return *up ? Tag("good", "reports") : Tag("bad", "silent");
}

void AddPools(const StatusPage& page, std::string* html) {
  absl::StrAppend(
      html,
      "<h2>Clusters and pools</h2>\n<table><thead><tr><th>pool</th>"
      "<th>seen</th><th>rbd-mirror here</th><th>rbd-mirror of the peer</th>"
      "<th>volumes</th></tr></thead><tbody>\n");
  for (const WatchedPool& pool : page.watch->pools) {
    std::string seen =
        pool.seen_at.has_value()
            ? absl::StrCat(Lasting(SecondsBetween(*pool.seen_at, page.now)),
                           " ago")
            : "never";
    if (!pool.unseen.empty()) {
      seen = absl::StrCat(Tag("bad", "cannot be seen"), " ", seen);
    }
    const auto role = [&pool](WatchedRole which) {
      return pool.by_role.at(static_cast<size_t>(which));
    };
    absl::StrAppend(
        html, "<tr>", Cell("pool", Escaped(PlaceOf(pool)), "name"),
        Cell("seen", seen),
        Cell("rbd-mirror here", UpText(pool.local_mirror_up)),
        Cell("rbd-mirror of the peer", UpText(pool.peer_mirror_up)),
        Cell("volumes",
             pool.seen_at.has_value()
                 ? absl::StrCat(pool.total, ": ", role(WatchedRole::kPrimary),
                                " primary, ", role(WatchedRole::kSecondary),
                                " secondary, ", role(WatchedRole::kUnclear),
                                " unclear")
                 : std::string("not known")),
        "</tr>\n");
  }
  absl::StrAppend(html, "</tbody></table>\n");
}

std::string SyncText(const WatchedImage& image) {
  if (!image.last_sync.has_value()) return "not known";
  std::string text = FormatUtc(absl::FromUnixSeconds(*image.last_sync));
  if (image.lag_seconds.has_value()) {
    absl::StrAppend(&text, ", ", Lasting(*image.lag_seconds), " old");
  }
  if (image.interval_seconds.has_value()) {
    absl::StrAppend(&text, " (every ", Lasting(*image.interval_seconds), ")");
  }
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

void AddImages(const StatusPage& page, std::string* html) {
  const std::vector<Row> rows = RowsOf(*page.watch);
  size_t total = 0;
  size_t healthy = 0;
  for (const WatchedPool& pool : page.watch->pools) {
    total += pool.total;
    healthy +=
        pool.by_health.at(static_cast<size_t>(ReplicationHealth::kHealthy));
  }
  absl::StrAppend(html, "<h2>Volumes under replication: ", total, "</h2>\n");
  if (rows.empty()) {
    absl::StrAppend(html, "<p class=\"dim\">none has been seen</p>\n");
    return;
  }
  absl::StrAppend(html,
                  "<table><thead><tr><th>volume</th><th>health</th>"
                  "<th>role here</th><th>last complete copy</th>"
                  "<th>copying</th><th>message</th></tr></thead><tbody>\n");
  const size_t shown = std::min(rows.size(), kMostRows);
  for (size_t i = 0; i < shown; ++i) {
    const WatchedImage& image = *rows[i].image;
    std::string name = absl::StrCat("<b>", Escaped(image.image), "</b>");
    if (!image.volume_name.empty()) {
      absl::StrAppend(&name, "<br>", Escaped(image.volume_name));
    }
    absl::StrAppend(&name, "<br><span class=\"dim\">",
                    Escaped(PlaceOf(*rows[i].pool)), "</span>");
    std::string health = image.split_brain ? Tag("bad", "split brain")
                         : image.health == ReplicationHealth::kHealthy
                             ? Tag("good", Name(image.health))
                         : image.health == ReplicationHealth::kDegraded
                             ? Tag("warn", Name(image.health))
                             : Tag("bad", Name(image.health));
    if (!rows[i].pool->unseen.empty()) {
      absl::StrAppend(&health, " ", Tag("warn", "not seen now"));
    }
    absl::StrAppend(html, "<tr>", Cell("volume", name, "name"),
                    Cell("health", health), Cell("role", Name(image.role)),
                    Cell("last complete copy", SyncText(image)),
                    Cell("copying", Escaped(ProgressText(image))),
                    Cell("message", Escaped(image.message), "wide"), "</tr>\n");
  }
  absl::StrAppend(html, "</tbody></table>\n");
  if (total > shown) {
    // Those with trouble stand first.
    const bool trouble_shown =
        total - healthy <= shown &&
        std::all_of(
            page.watch->pools.begin(), page.watch->pools.end(),
            [](const WatchedPool& pool) { return pool.unseen.empty(); });
    absl::StrAppend(html, "<p>and ", total - shown, " more",
                    trouble_shown ? ", all in order" : "", "</p>\n");
  }
}

std::string StateOf(const OperationInfo& operation) {
  if (operation.stopping) return "stopping";
  if (!operation.running) return "queued";
  if (operation.mutating) return "changing";
  return operation.between_looks ? "waiting" : "running";
}

void AddOperations(const StatusPage& page, std::string* html) {
  absl::StrAppend(html, "<h2>Running operations: ", page.operations.size(),
                  "</h2>\n");
  if (page.operations.empty()) return;
  absl::StrAppend(html,
                  "<table><thead><tr><th>verb</th><th>object</th><th>age</th>"
                  "<th>state</th><th>step</th><th>progress</th></tr></thead>"
                  "<tbody>\n");
  const size_t shown = std::min(page.operations.size(), kMostRows);
  for (size_t i = 0; i < shown; ++i) {
    const OperationInfo& operation = page.operations[i];
    const int64_t age =
        std::chrono::duration_cast<std::chrono::seconds>(operation.age).count();
    absl::StrAppend(
        html, "<tr>", Cell("verb", Escaped(operation.verb)),
        Cell("object", Escaped(operation.object), "name"),
        Cell("age", Lasting(age)), Cell("state", StateOf(operation)),
        Cell("step", Escaped(operation.step)),
        Cell("progress",
             operation.total == 0
                 ? std::string()
                 : absl::StrCat(operation.done, " of ", operation.total)),
        "</tr>\n");
  }
  absl::StrAppend(html, "</tbody></table>\n");
  if (page.operations.size() > shown) {
    absl::StrAppend(html, "<p>and ", page.operations.size() - shown,
                    " younger ones</p>\n");
  }
}

}  // namespace

std::string RenderStatusPage(const StatusPage& page) {
  const Troubles troubles = TroublesOf(page);
  const std::string title = Title(page, troubles);
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"refresh\" content=\"30\">\n<title>",
      Escaped(title), " - rbd-addons</title>\n<style>", kStyle,
      "</style></head><body>\n<h1>rbd-addons: ", Escaped(title), "</h1>\n");
  AddTroubles(troubles, &html);
  absl::StrAppend(&html, "<p class=\"dim\">as of ",
                  FormatUtc(absl::FromChrono(page.wall_now)),
                  "; this page renews itself every 30 s</p>\n");
  if (page.watch != nullptr) {
    if (page.watch->pools.empty()) {
      absl::StrAppend(&html,
                      "<p>No call has named a volume under replication in the "
                      "last day, so nothing is watched.</p>\n");
    } else {
      AddPools(page, &html);
      AddImages(page, &html);
    }
  } else if (page.replicates) {
    absl::StrAppend(&html,
                    "<p>Replication is not watched (--watch-interval is 0)."
                    "</p>\n");
  }
  AddOperations(page, &html);
  absl::StrAppend(&html, "<h2>This daemon</h2>\n<p>version ",
                  Escaped(page.version), "</p>\n<pre>",
                  Escaped(page.configuration), "</pre>\n</body></html>\n");
  return html;
}

}  // namespace addons
