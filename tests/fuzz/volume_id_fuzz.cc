// Ids of volumes and groups: what is accepted keeps the limits, and printed and
// read again it is the same.

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "volume/csi_handle.h"
#include "volume/volume_id.h"

namespace addons::testing {
namespace {

void CheckAccepted(const std::string& text, const VolumeId& id) {
  CheckThat(text.size() >= 64 && text.size() <= 128, "an id has 64-128 bytes");
  CheckThat(
      std::none_of(text.begin(), text.end(),
                   [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }),
      "an id has no control characters", text);
  CheckThat(id.version == 1, "only version 1 is accepted", text);
  CheckThat(id.uuid.size() == 36 && absl::EndsWith(text, "-" + id.uuid),
            "the uuid is the end of the text", text);
  CheckThat(std::none_of(id.uuid.begin(), id.uuid.end(),
                         [](char c) {
                           return c <= ' ' || c >= 0x7f || c == '/' ||
                                  c == '\'' || c == '"';
                         }),
            "a uuid can be part of an object's name", id.uuid);
  CheckThat(
      text.substr(10, id.cluster_id.text().size()) == id.cluster_id.text(),
      "the cluster id stands in the text as it is", text);
  CheckThat(VolumeId::HasShape(text), "what is accepted has the shape", text);

  const auto printed = id.ToString();
  CheckThat(printed.ok(), "what was read can be printed", text);
  CheckThat(absl::EqualsIgnoreCase(*printed, text),
            "printed it differs at most in the case of hex digits", *printed);
  const auto again = VolumeId::Parse(*printed);
  CheckThat(again.ok() && *again == id, "read again it is the same", *printed);
}

void Check(const std::string& text) {
  const auto id = VolumeId::Parse(text);
  if (id.ok()) {
    CheckAccepted(text, *id);
  } else {
    CheckError(id.status(), absl::StatusCode::kInvalidArgument);
  }
  const VolumeHandle volume(text);
  const GroupHandle group(text);
  CheckThat(volume.id().ok() == id.ok() && group.id().ok() == id.ok(),
            "ids of volumes and of groups look alike", text);
  CheckThat(volume.text() == text && group.text() == text,
            "a handle keeps its text", text);
  if (!id.ok()) {
    CheckError(volume.id().status(), absl::StatusCode::kInvalidArgument);
    CheckError(group.id().status(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(std::string(addons::testing::TextOf(data, size)));
  return 0;
}
