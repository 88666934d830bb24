#include "replication/look/nvmeof_export.h"

#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

/// Of an NVMe qualified name.
constexpr size_t kMostNameBytes = 223;

}  // namespace

std::string DescribeNvmeofExport(
    const std::map<std::string, std::string>& noted) {
  const auto value = [&noted](absl::string_view key) -> std::string {
    const auto found = noted.find(absl::StrCat(kNvmeofPrefix, key));
    return found == noted.end()
               ? ""
               : absl::CHexEscape(absl::string_view(found->second)
                                      .substr(0, kMostNameBytes));
  };
  const std::string subsystem = value("SubsystemNQN");
  if (subsystem.empty()) return "";
  const std::string id = value("NamespaceID");
  const std::string address = value("GatewayAddress");
  const std::string port = value("GatewayPort");
  std::string text = absl::StrCat(
      "namespace ", id.empty() ? "of this image" : id,
      id.empty() ? " in subsystem '" : " of subsystem '", subsystem, "'");
  if (!address.empty()) {
    absl::StrAppend(&text, " at the NVMe-oF gateway '", address,
                    port.empty() ? "" : ":", port, "'");
  }
  return text;
}

}  // namespace addons
