#include "points/started_tests.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr int kFormat = 1;

std::string FormatTest(const StartedTest& test) {
  return AsciiJsonText({{"format", kFormat},
                        {"uuid", test.uuid},
                        {"volume", test.volume_id},
                        {"source", test.source},
                        {"sourceImage", test.source_image},
                        {"point", test.point},
                        {"made", test.made},
                        {"began", test.began},
                        {"bytes", test.bytes},
                        {"ready", test.ready}});
}

/// nullopt: not in the form that this version knows.
std::optional<StartedTest> ParseTest(const std::string& text) {
  JsonFields fields(text);
  if (fields.Number("format") != kFormat) return std::nullopt;
  StartedTest test;
  test.uuid = fields.Text("uuid");
  test.volume_id = fields.Text("volume");
  test.source = fields.Text("source");
  test.source_image = fields.Text("sourceImage");
  test.point = fields.Text("point");
  test.made = static_cast<int64_t>(fields.Number("made"));
  test.began = static_cast<int64_t>(fields.Number("began"));
  test.bytes = fields.Number("bytes");
  test.ready = fields.Flag("ready");
  if (!fields.wrong().empty()) return std::nullopt;
  return test;
}

}  // namespace

absl::StatusOr<std::map<std::string, StartedTest>> ReadTests(Pool& pool) {
  std::map<std::string, StartedTest> tests;
  const auto values = pool.ReadOmap(kTestsObject, "");
  if (absl::IsNotFound(values.status())) return tests;
  ADDONS_RETURN_IF_ERROR(values.status());
  for (const auto& [uuid, text] : *values) {
    auto test = ParseTest(text);
    if (!test.has_value()) {
      return absl::UnimplementedError(absl::StrCat(
          "Failed to read the test failovers of pool '", pool.name(),
          "': what stands in object '", kTestsObject, "' of the volume '", uuid,
          "' is not in the form that this version knows; a newer one wrote it: "
          "use that"));
    }
    tests.emplace(uuid, *std::move(test));
  }
  return tests;
}

absl::Status WriteTest(Pool& pool, const std::string& source_uuid,
                       const StartedTest& test) {
  absl::Status created = pool.CreateObject(kTestsObject);
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  ADDONS_ASSIGN_OR_RETURN(
      const bool written,
      pool.ReplaceOmapValue(kTestsObject, source_uuid, std::nullopt,
                            FormatTest(test)));
  return written ? absl::OkStatus()
                 : absl::AbortedError(
                       "another daemon has begun a test of it "
                       "meanwhile; repeat the call");
}

absl::Status MarkReady(Pool& pool, const std::string& source_uuid,
                       StartedTest* test) {
  const std::string before = FormatTest(*test);
  test->ready = true;
  const auto marked = pool.ReplaceOmapValue(kTestsObject, source_uuid, before,
                                            FormatTest(*test));
  if (marked.ok() && *marked) return absl::OkStatus();
  if (!marked.ok() && !absl::IsNotFound(marked.status())) {
    return marked.status();
  }
  return absl::AbortedError(
      "another daemon has ended the test meanwhile; repeat the call");
}

absl::Status RemoveTest(Pool& pool, const std::string& source_uuid,
                        const StartedTest& test) {
  const auto value = pool.ReadOmapKey(kTestsObject, source_uuid);
  if (absl::IsNotFound(value.status())) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(value.status());
  if (!value->has_value()) return absl::OkStatus();
  const auto there = ParseTest(**value);
  if (!there.has_value() || there->uuid != test.uuid) return absl::OkStatus();
  const auto removed = pool.RemoveOmapValue(kTestsObject, source_uuid, **value);
  return absl::IsNotFound(removed.status()) ? absl::OkStatus()
                                            : removed.status();
}

}  // namespace addons
