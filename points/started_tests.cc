#include "points/started_tests.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "ceph/omap_object.h"

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
  const nlohmann::json object = ParseJson(text);
  if (!object.is_object() || object.value("format", 0) != kFormat) {
    return std::nullopt;
  }
  try {
    StartedTest test;
    test.uuid = object.at("uuid").get<std::string>();
    test.volume_id = object.at("volume").get<std::string>();
    test.source = object.at("source").get<std::string>();
    test.source_image = object.at("sourceImage").get<std::string>();
    test.point = object.at("point").get<std::string>();
    test.made = object.at("made").get<int64_t>();
    test.began = object.at("began").get<int64_t>();
    test.bytes = object.at("bytes").get<uint64_t>();
    test.ready = object.at("ready").get<bool>();
    return test;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
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
  return SetOmapValuesCreating(pool, kTestsObject,
                               OmapValues{{source_uuid, FormatTest(test)}});
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
