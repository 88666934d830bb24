#ifndef ADDONS_TESTS_TESTING_LOCAL_RECORDS_H_
#define ADDONS_TESTS_TESTING_LOCAL_RECORDS_H_

#include <regex>
#include <string>

#include "absl/strings/match.h"
#include "replication/look/local_record.h"

namespace addons::testing {

/// What a text that is compared says of a LocalRecord, but for the demotion
/// from which the image was promoted: a promotion that was interrupted before
/// it noted that has no later chance to, and a demotion without it waits
/// longer. Empty: nothing else. Other metadata, by its key, stays as it is.
inline std::string Comparable(const std::string& key, const std::string& text) {
  if (!absl::EndsWith(key, kLocalRecordKey)) return text;
  static const std::regex kFrom(R"("promoted_from":\d+,)");
  static const std::regex kNothing(
      R"(\{("global":"[^"]*",)?"image":"[^"]*","version":1\})");
  const std::string rest = std::regex_replace(text, kFrom, "");
  return std::regex_match(rest, kNothing) ? "" : rest;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_LOCAL_RECORDS_H_
