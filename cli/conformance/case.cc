#include "cli/conformance/case.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace addons {
namespace {

std::string Names(const Steps::Codes& codes) {
  return absl::StrJoin(codes, " or ", [](std::string* out, absl::StatusCode c) {
    absl::StrAppend(out, absl::StatusCodeToString(c));
  });
}

}  // namespace

bool Steps::Holds(bool held, const std::string& what) {
  if (!held && !failed()) outcome_ = Outcome::Failed(what);
  return !failed();
}

bool Steps::Answers(absl::string_view step, const Reply& reply,
                    const Codes& codes) {
  if (failed()) return false;
  const std::string begin = step.empty() ? "" : absl::StrCat(step, ": ");
  if (!Holds(codes.contains(reply.status.code()),
             absl::StrCat(begin, "expected ", Names(codes), ", got ",
                          Shown(reply)))) {
    return false;
  }
  return Holds(reply.ok() || !reply.status.message().empty(),
               absl::StrCat(begin, Shown(reply), " has no message")) &&
         Holds(reply.details.empty(),
               absl::StrCat(begin, Shown(reply), " has details"));
}

Outcome Expect(const Reply& reply, const Steps::Codes& codes) {
  Steps steps;
  steps.Answers("", reply, codes);
  return steps.outcome();
}

}  // namespace addons
