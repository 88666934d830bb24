#include "volume/membership.h"

namespace addons {

std::optional<FlattenMode> ToFlattenMode(absl::string_view text) {
  if (text == "never") return FlattenMode::kNever;
  if (text == "force") return FlattenMode::kForce;
  return std::nullopt;
}

}  // namespace addons
