#include "base/shell_command.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace addons {

std::string ShellWord(absl::string_view word) {
  constexpr absl::string_view kPlain = "-_./:@%+=,";
  const bool plain =
      !word.empty() &&
      std::all_of(word.begin(), word.end(), [&](unsigned char c) {
        return absl::ascii_isalnum(c) ||
               absl::StrContains(kPlain, static_cast<char>(c));
      });
  if (plain) return std::string(word);
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", R"('\'')"}}), "'");
}

std::string ShellCommand(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ",
                       [](std::string* out, const std::string& word) {
                         absl::StrAppend(out, ShellWord(word));
                       });
}

std::string RadosCommand(const std::string& pool,
                         const std::string& rados_namespace,
                         const std::vector<std::string>& words) {
  std::vector<std::string> all = {"rados", "-p", pool};
  if (!rados_namespace.empty()) {
    all.insert(all.end(), {"-N", rados_namespace});
  }
  all.insert(all.end(), words.begin(), words.end());
  return ShellCommand(all);
}

}  // namespace addons
