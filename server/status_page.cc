#include "server/status_page.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "server/page/html.h"
#include "server/page/tables.h"
#include "server/page/troubles.h"
#include "server/page/volumes.h"

namespace addons {

namespace {

/// Everything below the troubles.
std::string Body(const StatusPage& page) {
  std::string html;
  if (page.watch != nullptr) {
    if (page.watch->pools.empty()) {
      absl::StrAppend(&html,
                      "<p>No call has named a volume under replication in the "
                      "last day, so none is watched.</p>\n");
    }
    AddPools(page, &html);
    if (!page.watch->pools.empty()) AddVolumes(page, &html);
    AddGroups(page, &html);
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
  for (const char* part : {"pools", "volumes", "groups", "fences", "operations",
                           "ended", "reclaims", "clusters", "daemon"}) {
    if (!absl::StrContains(body, absl::StrCat("<h2 id=\"", part, "\">"))) {
      continue;
    }
    absl::StrAppend(&html, "<a href=\"#", part, "\">", part, "</a>");
  }
  return html + "</nav>\n";
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
      Escaped(title), " - rbd-addons</title>\n<style>", kPageStyle,
      "</style></head><body>\n<h1>rbd-addons: ", Escaped(title), "</h1>\n");
  AddTroubles(troubles, &html);
  const std::string body = Body(page);
  absl::StrAppend(&html, "<p class=\"dim\">as of ",
                  FormatUtc(absl::FromChrono(page.wall_now)),
                  "; this page renews itself every 30 s</p>\n",
                  Navigation(body), body, "</body></html>\n");
  return html;
}

}  // namespace addons
