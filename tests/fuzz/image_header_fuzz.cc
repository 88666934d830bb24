// What librbd writes of an image: whatever stands there, nothing is read that
// is not in it. The first byte says which of the three it is: h, a snapshot in
// a header; m, the record of mirroring; s, the reports.

#include <string>

#include "ceph/librados/header_encoding.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

void CheckHeader(const std::string& snapshot) {
  const auto header = DecodeImageHeader(
      {{"size", std::string("\0\0\x80\0\0\0\0\0", 8)},
       {"order", std::string("\x16", 1)},
       {"features", std::string("\x3d\0\0\0\0\0\0\0", 8)},
       {"create_timestamp", std::string("\x3d\xad\x07\x6b\0\0\0\0", 8)},
       {"snapshot_0000000000000004", snapshot}});
  if (!header.has_value()) return;
  CheckThat(
      header->mirror_snapshots.size() + header->other_snapshots.size() == 1,
      "one snapshot is one", snapshot);
  for (const MirrorSnapshot& one : header->mirror_snapshots) {
    size_t read = one.primary_mirror_uuid.size();
    for (const std::string& uuid : one.unsynced_peer_uuids) {
      read += uuid.size();
    }
    CheckThat(read <= snapshot.size(), "no more is read than is there",
              snapshot);
  }
}

void CheckStatuses(const std::string& bytes) {
  const auto sites = DecodeSiteStatuses(bytes);
  if (!sites.has_value()) return;
  size_t read = 0;
  for (size_t i = 0; i < sites->size(); ++i) {
    const SiteStatus& site = (*sites)[i];
    read += site.mirror_uuid.size() + site.description.size();
    CheckThat(site.last_update != 0, "what nobody wrote is no report", bytes);
  }
  CheckThat(read <= bytes.size(), "no more is read than is there", bytes);
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using addons::testing::CheckThat;
  const std::string input(addons::testing::TextOf(data, size));
  if (input.empty()) return 0;
  const std::string bytes = input.substr(1);
  switch (input[0]) {
    case 'h':
      addons::testing::CheckHeader(bytes);
      break;
    case 'm':
      if (const auto info = addons::DecodeMirrorRecord(bytes)) {
        CheckThat(info->global_id.size() <= bytes.size() && !info->primary,
                  "no more is read than is there", bytes);
      }
      break;
    default:
      addons::testing::CheckStatuses(bytes);
  }
  return 0;
}
