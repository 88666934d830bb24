#ifndef ADDONS_CLI_PALETTE_H_
#define ADDONS_CLI_PALETTE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/streams.h"

namespace addons {

/// Colours for verdicts, where a terminal shows them; else the same text
/// without.
class Palette {
 public:
  Palette() = default;
  explicit Palette(const Streams& streams) : on_(streams.color) {}

  std::string Good(absl::string_view text) const { return Paint(text, "32"); }
  std::string Poor(absl::string_view text) const { return Paint(text, "33"); }
  std::string Bad(absl::string_view text) const { return Paint(text, "31"); }

 private:
  std::string Paint(absl::string_view text, const char* color) const {
    if (!on_) return std::string(text);
    return absl::StrCat("\x1b[", color, "m", text, "\x1b[0m");
  }

  bool on_ = false;
};

}  // namespace addons

#endif  // ADDONS_CLI_PALETTE_H_
