#include "cli/flag_names.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

struct FlagName {
  const char* field;  // the last part of its path, without an index
  const char* flag;
};

/// A name means the same in each request.
constexpr FlagName kFlagNames[] = {
    {"cluster_id", "--cluster"},
    {"pool", "--pool"},
    {"volume_id", "the volume"},
    {"volume_ids", "the volumes"},
    {"group_id", "the volume group"},
    {"group_ids", "--group"},
    {"volume_group_id", "the volume group"},
    {"name", "the name"},
    {"images", "the images"},
    {"rados_namespace", "--rados-namespace"},
    {"volume_name", "--pv-name"},
    {"owner", "--owner"},
    {"kms_id", "--kms"},
    {"encryption_type", "--encryption-type"},
    {"text", "the text"},
    {"operation_id", "the operation's id"},
    {"confirmed", "--confirmed"},
    {"decision", "--keep or --restore"},
    {"cidr", "the range"},
    {"volume_path", "--path"},
    {"parameters", "--parameter"},
};

/// "replication_source.volume.volume_id" and "volume_ids[3]" by their last
/// names; empty: it is no field.
absl::string_view LastName(absl::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot != absl::string_view::npos) path = path.substr(dot + 1);
  return path.substr(0, path.find('['));
}

const char* FlagOf(absl::string_view path) {
  constexpr absl::string_view kMap = "a key of ";
  if (absl::StartsWith(path, kMap)) path.remove_prefix(kMap.size());
  const absl::string_view name = LastName(path);
  for (const FlagName& known : kFlagNames) {
    if (name == known.field) return known.flag;
  }
  return nullptr;
}

}  // namespace

absl::Status InWordsOfFlags(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  const absl::string_view message = status.message();
  const size_t end = message.find(": ");
  if (end == absl::string_view::npos) return status;
  const char* const flag = FlagOf(message.substr(0, end));
  if (flag == nullptr) return status;
  return absl::InvalidArgumentError(absl::StrCat(flag, message.substr(end)));
}

}  // namespace addons
