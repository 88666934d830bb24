#ifndef ADDONS_CLI_VOLUME_RESULTS_H_
#define ADDONS_CLI_VOLUME_RESULTS_H_

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/streams.h"

namespace addons {

// Commands that take several volumes do one after the other, also where one
// fails, and print one answer for all.

/// What became of one volume.
struct VolumeResult {
  std::string id;
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  std::string text;  // for people, with the ends of its lines
  absl::Status status;
};

/// The fields of an answer, beside what is there.
void AddFields(const google::protobuf::Message& answer, VolumeResult* result);

/// Nothing is tried with the next volume after that.
bool EndsAll(const absl::Status& status);

/// Prints them, each with its id under `id_key`, and the errors. Returns the
/// exit code of the first that failed.
int PrintResults(const std::vector<VolumeResult>& results, const char* id_key,
                 Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_VOLUME_RESULTS_H_
