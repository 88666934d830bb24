#include "cli/volume_results.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/flag_names.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/repeated_call.h"

namespace addons {

using nlohmann::ordered_json;

void AddFields(const google::protobuf::Message& answer, VolumeResult* result) {
  const auto fields = JsonOf(answer);
  if (fields.ok()) result->fields.update(*fields);
}

bool EndsAll(const absl::Status& status) {
  const int code = ExitCodeOf(status);
  return code == kCliUsage || code == kCliInterrupted;
}

int PrintResults(const std::vector<VolumeResult>& results, const char* id_key,
                 Streams& streams) {
  ordered_json items = ordered_json::array();
  std::string text;
  int code = 0;
  for (const VolumeResult& result : results) {
    ordered_json item = {{id_key, result.id}};
    item.update(result.fields);
    if (result.status.ok()) {
      absl::StrAppend(&text, result.text);
    } else {
      const absl::Status said = InWordsOfFlags(result.status);
      if (code == 0) code = ExitCodeOf(result.status);
      item["code"] = absl::StatusCodeToString(said.code());
      item["error"] = said.message();
      streams.err << ErrorLine(said) << "\n";
    }
    items.push_back(std::move(item));
  }
  Yield({{"items", items}}, text, streams);
  return code;
}

}  // namespace addons
