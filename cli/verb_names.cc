#include "cli/verb_names.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/text.h"

namespace addons {
namespace {

/// More is no verb, however it is spelt.
constexpr size_t kLongestVerb = 40;

std::vector<const CLI::App*> SubcommandsOf(const CLI::App& app) {
  return app.get_subcommands(std::function<bool(const CLI::App*)>());
}

const CLI::App* SubcommandNamed(const CLI::App& app, const std::string& name) {
  for (const CLI::App* const sub : SubcommandsOf(app)) {
    if (sub->check_name(name)) return sub;
  }
  return nullptr;
}

}  // namespace

size_t LettersBetween(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_last;
  std::vector<size_t> last(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> now(b.size() + 1);
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1,
                         last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, std::move(now));
  }
  return last[b.size()];
}

std::string NearestName(absl::string_view misspelt,
                        const std::vector<std::string>& names) {
  if (misspelt.empty() || misspelt.size() > kLongestVerb) return "";
  std::string nearest;
  // A third of the letters may be others.
  size_t least = std::max<size_t>(1, misspelt.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t letters = LettersBetween(misspelt, name);
    if (letters >= least) continue;
    least = letters;
    nearest = name;
  }
  if (!nearest.empty() || misspelt.size() < 3) return nearest;
  // "check" and the like, where only one verb begins so.
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, misspelt)) continue;
    if (!nearest.empty()) return "";
    nearest = name;
  }
  return nearest;
}

std::string DescribeUnknownVerb(const CLI::App& app,
                                const std::vector<std::string>& arguments) {
  const CLI::App* at = &app;
  std::string path;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (SubcommandsOf(*at).empty() || absl::StartsWith(word, "-")) return "";
    const CLI::App* const sub = SubcommandNamed(*at, word);
    if (sub != nullptr) {
      at = sub;
      absl::StrAppend(&path, sub->get_name(), " ");
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App* const known : SubcommandsOf(*at)) {
      names.push_back(known->get_name());
      const auto& aliases = known->get_aliases();
      names.insert(names.end(), aliases.begin(), aliases.end());
    }
    const std::string nearest = NearestName(word, names);
    return absl::StrCat(
        "unknown verb '", path, CleanLine(word, kLongestVerb), "'; ",
        nearest.empty()
            ? absl::StrCat("rbd-addons ", path, "--help has all of them")
            : absl::StrCat("did you mean '", path, nearest, "'?"));
  }
  return "";
}

}  // namespace addons
