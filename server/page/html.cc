#include "server/page/html.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace addons {

const char kPageStyle[] = R"(
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--dim:#5b6470;--line:#d9dde2;--soft:#f3f5f7;
--bad:#a4161a;--badbg:#fde8e8;--warn:#7a4b00;--warnbg:#fff3d6;--good:#0b6b34;--goodbg:#e3f5ea}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e8ea;--dim:#9aa4af;--soft:#1e2327;
--line:#30363c;--bad:#ff9b9b;--badbg:#431b1d;--warn:#ffd27a;--warnbg:#3d2f10;
--good:#86e0a8;--goodbg:#153524}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:120rem;padding:1rem;background:var(--bg);color:var(--fg);
font:16px/1.45 system-ui,sans-serif}
h1{font-size:1.35rem;margin:0 0 .5rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
h1 span{display:block;font-size:.95rem;font-weight:400;color:var(--dim)}p{margin:.3rem 0}.dim{color:var(--dim)}
ul.trouble{list-style:none;margin:.6rem 0;padding:0}
ul.trouble li{margin:.3rem 0;padding:.45rem .7rem;border-radius:.3rem;overflow-wrap:anywhere}
ul.trouble span{color:var(--fg)}
code{font:.9em ui-monospace,monospace;background:var(--bg);color:var(--fg);padding:.1rem .4rem;
border:1px solid var(--line);border-radius:.3rem;user-select:all;overflow-wrap:anywhere}
.bad{color:var(--bad);background:var(--badbg)}.warn{color:var(--warn);background:var(--warnbg)}
.good{color:var(--good);background:var(--goodbg)}.old{color:var(--dim);background:var(--soft)}
.tag{display:inline-block;padding:0 .45rem;border-radius:.3rem;font-weight:600}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.5rem;margin:.6rem 0}
.tiles a{display:block;padding:.5rem .7rem;border-radius:.3rem;text-decoration:none;min-width:0}
.tiles a:not(.bad):not(.warn):not(.good){background:var(--soft);color:var(--fg)}
.tiles a:hover{text-decoration:underline}
.tiles b{display:block;font-size:1.5rem;line-height:1.2}
.tiles i{font-style:normal;display:block;font-size:.85rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
table{border-collapse:collapse;width:100%}
form label{display:inline-block;margin-right:.4rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--dim);font-size:.85rem;white-space:nowrap}
td.name,td.wide{overflow-wrap:anywhere;min-width:14rem}
.volumes td{white-space:nowrap}
.volumes td.name{max-width:0;width:100%;overflow:hidden;text-overflow:ellipsis}
.volumes td.far{display:none;color:var(--dim)}
.volumes th.far{display:none}
.volumes tr.why td{white-space:normal;overflow-wrap:anywhere;background:var(--soft)}
tr.stale td{color:var(--dim)}
.tag,.time{white-space:nowrap}input{width:16rem}
nav{margin:.5rem 0}nav a{display:inline-block;padding:.15rem .7rem .15rem 0}
form{margin:.4rem 0}input,select,button{font:inherit;max-width:100%;color:inherit;
background:var(--bg);border:1px solid var(--line);border-radius:.3rem;padding:.15rem .4rem}
button{cursor:pointer}a{color:inherit}.pages a,.pages b{display:inline-block;padding:.1rem .3rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
@media(min-width:85rem){.volumes td.far,.volumes th.far{display:table-cell}}
@media(max-width:50rem){thead{position:absolute;left:-9999px}
table,tbody,tr,td{display:block;width:100%}
tr{border-bottom:2px solid var(--line);padding:.4rem 0}
td{border:0;padding:.1rem 0;overflow-wrap:anywhere}td.name,td.wide{min-width:0}
td[data-l]::before{content:attr(data-l) ": ";color:var(--dim);font-size:.85rem}
.volumes td{display:inline;white-space:normal;padding:0 .5rem 0 0}.volumes tr{padding:.3rem 0;border-width:1px}
.volumes td.name{display:block;max-width:none;width:auto;white-space:normal}
.volumes tr.why{background:var(--soft)}.volumes tr.why td{display:block;padding:.3rem .4rem}
.volumes td[data-l]::before{content:none}
.tiles{grid-template-columns:1fr 1fr}.tiles a{padding:.35rem .7rem}.tiles b{font-size:1.15rem}
ul.trouble a{display:inline-block;padding:.3rem 0}}
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

std::string Lasting(int64_t seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return absl::StrCat(seconds, " s");
  if (seconds < 2 * kHour) return absl::StrCat(seconds / kMinute, " min");
  if (seconds < 2 * kDay) return absl::StrCat(seconds / kHour, " h");
  return absl::StrCat(seconds / kDay, " d");
}

std::string Interval(int64_t seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds > 0 && seconds % kDay == 0) {
    return absl::StrCat(seconds / kDay, " d");
  }
  if (seconds > 0 && seconds % kHour == 0) {
    return absl::StrCat(seconds / kHour, " h");
  }
  if (seconds > 0 && seconds % kMinute == 0) {
    return absl::StrCat(seconds / kMinute, " min");
  }
  return Lasting(seconds);
}

int64_t SecondsBetween(SteadyTime begin, SteadyTime end) {
  return std::chrono::duration_cast<std::chrono::seconds>(end - begin).count();
}

std::string Bytes(int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  const double mib = static_cast<double>(bytes) / kMiB;
  if (bytes < (int64_t{1} << 20)) {
    return absl::StrFormat("%.0f KiB", static_cast<double>(bytes) / 1024);
  }
  return mib < 1024 ? absl::StrFormat("%.1f MiB", mib)
                    : absl::StrFormat("%.1f GiB", mib / 1024);
}

std::string Tag(absl::string_view kind, absl::string_view text) {
  return absl::StrCat("<span class=\"tag ", kind, "\">", Escaped(text),
                      "</span>");
}

std::string Cell(absl::string_view label, absl::string_view html,
                 absl::string_view kind) {
  return absl::StrCat("<td data-l=\"", label, "\"",
                      kind.empty() ? "" : " class=\"", kind,
                      kind.empty() ? "" : "\"", ">", html, "</td>");
}

std::string Link(absl::string_view address, absl::string_view text) {
  return absl::StrCat("<a href=\"", Escaped(address), "\">", Escaped(text),
                      "</a>");
}

std::string Ago(std::optional<SteadyTime> then, SteadyTime now) {
  if (!then.has_value()) return "never";
  return absl::StrCat(Lasting(SecondsBetween(*then, now)), " ago");
}

std::string PlaceOf(const WatchedPool& pool) {
  return absl::StrCat(pool.cluster_id, "/", pool.pool,
                      pool.rados_namespace.empty() ? "" : "/",
                      pool.rados_namespace);
}

void AddHeading(absl::string_view id, absl::string_view title,
                std::string* html) {
  absl::StrAppend(html, "<h2 id=\"", id, "\">", Escaped(title), "</h2>\n");
}

void BeginTable(absl::string_view columns, std::string* html) {
  absl::StrAppend(html, "<table><thead><tr>");
  for (const absl::string_view column : absl::StrSplit(columns, '|')) {
    absl::StrAppend(html, "<th>", column, "</th>");
  }
  absl::StrAppend(html, "</tr></thead><tbody>\n");
}

void EndTable(std::string* html) {
  absl::StrAppend(html, "</tbody></table>\n");
}

}  // namespace addons
