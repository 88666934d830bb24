// The kernel's list of mounts: what was read is found, and written as the
// kernel does and read again it is the same.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "node/mount_table.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
      absl::StrAppendFormat(&escaped, "\\%03o", static_cast<unsigned>(c));
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

std::string Line(const MountEntry& entry) {
  return absl::StrCat(entry.id, " 1 ", entry.device.major, ":",
                      entry.device.minor, " / ", Escaped(entry.mount_point),
                      " rw,relatime shared:1 - ", Escaped(entry.filesystem),
                      " ", Escaped(entry.source), " ",
                      entry.filesystem_read_only ? "ro" : "rw", "\n");
}

void Check(absl::string_view input) {
  const MountTable table = MountTable::Parse(input);
  CheckThat(static_cast<std::ptrdiff_t>(table.entries().size()) <=
                std::count(input.begin(), input.end(), '\n') + 1,
            "a line is at most one mount", input);
  std::string written;
  for (const MountEntry& entry : table.entries()) {
    const MountEntry* const by_id = table.FindById(entry.id);
    CheckThat(by_id != nullptr && by_id->id == entry.id, "its id finds it",
              input);
    const MountEntry* const by_place =
        table.FindByMountPoint(entry.mount_point);
    CheckThat(by_place != nullptr && by_place >= &entry &&
                  by_place->mount_point == entry.mount_point,
              "its place finds it, or what lies over it", input);
    CheckThat(table.CountOf(entry.device) >= 1, "its device is mounted", input);
    absl::StrAppend(&written, Line(entry));
  }
  const MountTable again = MountTable::Parse(written);
  CheckThat(std::equal(table.entries().begin(), table.entries().end(),
                       again.entries().begin(), again.entries().end(),
                       [](const MountEntry& a, const MountEntry& b) {
                         return a.id == b.id && a.device == b.device &&
                                a.mount_point == b.mount_point &&
                                a.filesystem == b.filesystem &&
                                a.source == b.source &&
                                a.filesystem_read_only ==
                                    b.filesystem_read_only;
                       }),
            "written and read again it is the same", written);
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
