#include "lease/namespace_id.h"

#include <unistd.h>

#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace addons {

std::string NamespaceId(absl::string_view kind) {
  std::array<char, 64> link{};
  const ssize_t size = readlink(absl::StrCat("/proc/self/ns/", kind).c_str(),
                                link.data(), link.size());
  if (size <= 0) return "";
  std::string digits;
  for (const char c :
       absl::string_view(link.data(), static_cast<size_t>(size))) {
    if (absl::ascii_isdigit(static_cast<unsigned char>(c))) digits.push_back(c);
  }
  return digits;
}

}  // namespace addons
