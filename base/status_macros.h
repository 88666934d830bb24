#ifndef ADDONS_BASE_STATUS_MACROS_H_
#define ADDONS_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

/// Leaves the enclosing function with `expr`'s status unless it is OK.
#define ADDONS_RETURN_IF_ERROR(expr)                                  \
  do {                                                                \
    if (::absl::Status addons_status = (expr); !addons_status.ok()) { \
      return addons_status;                                           \
    }                                                                 \
  } while (false)

#define ADDONS_CONCAT_INNER(a, b) a##b
#define ADDONS_CONCAT(a, b) ADDONS_CONCAT_INNER(a, b)

/// `ADDONS_ASSIGN_OR_RETURN(auto x, F())`: assigns the value of a StatusOr or
/// leaves the enclosing function with its status.
#define ADDONS_ASSIGN_OR_RETURN(lhs, expr) \
  ADDONS_ASSIGN_OR_RETURN_IMPL(ADDONS_CONCAT(addons_or_, __LINE__), lhs, expr)
#define ADDONS_ASSIGN_OR_RETURN_IMPL(statusor, lhs, expr)  \
  auto statusor = (expr);                                  \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = *std::move(statusor)

namespace addons {

/// `status` with another code and message; payloads stay. Not of OK.
inline absl::Status Recode(const absl::Status& status, absl::StatusCode code,
                           absl::string_view message) {
  absl::Status recoded(code, message);
  status.ForEachPayload(
      [&](absl::string_view type_url, const absl::Cord& payload) {
        recoded.SetPayload(type_url, payload);
      });
  return recoded;
}

/// `status` with "context: " before its message; code and payloads stay.
inline absl::Status Annotate(const absl::Status& status,
                             absl::string_view context) {
  if (status.ok()) return status;
  return Recode(status, status.code(),
                absl::StrCat(context, ": ", status.message()));
}

}  // namespace addons

#endif  // ADDONS_BASE_STATUS_MACROS_H_
