#ifndef ADDONS_BASE_UTC_H_
#define ADDONS_BASE_UTC_H_

#include <string>

#include "absl/time/time.h"

namespace addons {

/// RFC 3339 in UTC, to the second: "2026-01-31T12:00:00Z".
std::string FormatUtc(absl::Time time);

/// The same in what may be a name: "20260131T120000Z".
std::string FormatUtcForName(absl::Time time);

/// The time of day alone, for a person: "03:12:40 UTC".
std::string FormatUtcTimeOfDay(absl::Time time);

}  // namespace addons

#endif  // ADDONS_BASE_UTC_H_
