#include "cli/changing_lines.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

/// Of a terminal that does not tell.
constexpr size_t kUsualColumns = 80;

size_t TerminalColumns() {
  constexpr size_t kFew = 20;
  winsize size{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): there is no other way.
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > 0 ? std::max<size_t>(size.ws_col, kFew)
                                  : kUsualColumns;
}

/// In lines of `columns` at most, but for words that are longer.
std::vector<std::string> WrapWords(const std::string& text, size_t columns) {
  std::vector<std::string> lines;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > columns) {
      lines.emplace_back(word);
    } else {
      absl::StrAppend(&lines.back(), " ", word);
    }
  }
  return lines;
}

}  // namespace

void ChangingLines::Draw(const std::string& text) {
  const size_t columns = columns_ > 0 ? columns_ : TerminalColumns();
  const std::vector<std::string> lines = WrapWords(text, columns - 1);
  Clear();
  streams_.err << "\r\x1b[K" << absl::StrJoin(lines, "\n") << std::flush;
  drawn_ = lines.size();
}

void ChangingLines::Clear() {
  for (; drawn_ > 1; --drawn_) streams_.err << "\r\x1b[K\x1b[A";
  if (drawn_ > 0) streams_.err << "\r\x1b[K" << std::flush;
  drawn_ = 0;
}

}  // namespace addons
