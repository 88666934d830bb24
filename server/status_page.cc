#include "server/status_page.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "server/page/documents.h"
#include "server/page/html.h"
#include "server/page/tables.h"
#include "server/page/troubles.h"
#include "server/page/view.h"
#include "server/page/volumes.h"

namespace addons {

namespace {

/// "site-a, pod-1": where one is.
std::string Whose(const StatusPage& page) {
  const absl::string_view between =
      page.site.empty() || page.host.empty() ? "" : ", ";
  return absl::StrCat(page.site, between, page.host);
}

/// Everything below the troubles; without a watch the view is empty.
std::string Body(const StatusPage& page, const PageView& view) {
  std::string html;
  if (page.watch != nullptr) {
    if (page.watch->pools.empty()) {
      if (!page.watch->own_trouble.empty()) {
        absl::StrAppend(&html, "<p>--watch-user finds nothing: ",
                        Escaped(page.watch->own_trouble), "</p>\n");
      }
      absl::StrAppend(
          &html,
          "<p>No call has named a volume under replication since the daemon's "
          "start, or in the last day, so none is watched. Name one of each "
          "pool: <code>rbd-addons info VOLUME</code></p>\n");
    } else {
      AddVolumes(page, view, &html);
    }
    AddGroups(page, &html);
    AddPools(page, &html);
    AddFences(page, &html);
  } else if (page.replicates) {
    absl::StrAppend(&html,
                    "<p>Replication is not watched (--watch-interval is 0)."
                    "</p>\n");
  }
  AddOperations(page, &html);
  AddEnded(page, &html);
  AddReclaims(page, &html);
  AddClusters(page, &html);
  AddHeading("daemon", "This daemon", &html);
  absl::StrAppend(&html, "<p>version ", Escaped(page.version), "</p>\n<pre>",
                  Escaped(page.configuration), "</pre>\n");
  return html;
}

/// Links to the parts that are there: hundreds of volumes are long on a phone.
std::string Navigation(absl::string_view body) {
  std::string html = "<nav>";
  for (const char* part : {"volumes", "groups", "pools", "fences", "operations",
                           "ended", "reclaims", "clusters", "daemon"}) {
    if (!absl::StrContains(body, absl::StrCat("<h2 id=\"", part, "\">"))) {
      continue;
    }
    absl::StrAppend(&html, "<a href=\"#", part, "\">", part, "</a>");
  }
  return absl::StrCat(html, Link(kAlertsDocument, "alerts"),
                      Link("docs/runbooks/README.md", "runbooks"), "</nav>\n");
}

}  // namespace

std::string RenderStatusPage(const StatusPage& page) {
  const std::vector<Trouble> troubles = TroublesOf(page);
  const std::string headline = Headline(page, troubles);
  const std::string whose = Whose(page);
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"refresh\" content=\"30\">\n<title>",
      Escaped(whose), whose.empty() ? "" : ": ", Escaped(headline),
      " - rbd-addons</title>\n<style>", kPageStyle,
      "</style></head><body>\n<h1>",
      whose.empty() ? "" : absl::StrCat("<span>", Escaped(whose), "</span> "),
      Escaped(headline), "</h1>\n");
  const PageView view = page.watch == nullptr ? PageView() : ViewOf(page);
  if (view.totals.volumes > 0) AddTiles(view.totals, &html);
  AddTroubles(troubles, &html);
  const std::string body = Body(page, view);
  absl::StrAppend(&html, "<p class=\"dim\">as of ",
                  FormatUtc(absl::FromChrono(page.wall_now)),
                  "; this page renews itself every 30 s</p>\n",
                  Navigation(body), body, "</body></html>\n");
  return html;
}

}  // namespace addons
