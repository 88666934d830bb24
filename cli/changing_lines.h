#ifndef ADDONS_CLI_CHANGING_LINES_H_
#define ADDONS_CLI_CHANGING_LINES_H_

#include <cstddef>
#include <string>

#include "cli/streams.h"

namespace addons {

/// Text on the terminal of a command's error stream that is drawn over itself:
/// whole, in as many lines as it needs there. Nothing else may be written
/// between Draw() and Clear(). One thread at a time.
class ChangingLines {
 public:
  /// `streams` is not owned. `columns` of the terminal; 0: it is asked, each
  /// time.
  explicit ChangingLines(Streams& streams, size_t columns = 0)
      : streams_(streams), columns_(columns) {}

  /// In place of what was drawn last. Words that are longer than a line are
  /// left to the terminal.
  void Draw(const std::string& text);
  /// Takes away what was drawn.
  void Clear();

 private:
  Streams& streams_;
  const size_t columns_;
  size_t drawn_ = 0;  // lines
};

}  // namespace addons

#endif  // ADDONS_CLI_CHANGING_LINES_H_
