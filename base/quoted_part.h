#ifndef ADDONS_BASE_QUOTED_PART_H_
#define ADDONS_BASE_QUOTED_PART_H_

#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// "ID" of "volume 'ID'": what stands between the first and the last single
/// quote; empty where there are no two. Part of `text`.
absl::string_view QuotedPart(absl::string_view text);

/// "volume 'NAME'" of "volume 'ID'"; `text` where it has no quoted part.
std::string WithQuotedPart(absl::string_view text, absl::string_view name);

}  // namespace addons

#endif  // ADDONS_BASE_QUOTED_PART_H_
