#include "replication/steps/write_record.h"

#include <optional>

#include "base/status_macros.h"
#include "replication/look/point.h"
#include "replication/look/record.h"

namespace addons {

absl::Status WriteLocalRecord(Image& image, const LocalRecord& record,
                              MirrorView* view, const MetadataChanges& also) {
  MetadataChanges changes = also;
  if (record != view->own) {
    if (!record.empty()) {
      changes[kLocalRecordKey] =
          FormatLocalRecord(record, view->image_id, view->info.global_id);
    } else if (view->marks.contains(kLocalRecordKey)) {
      changes[kLocalRecordKey] = std::nullopt;
    }
    for (const char* const key : kFormerLocalKeys) {
      if (view->marks.contains(key)) changes[key] = std::nullopt;
    }
  }
  ADDONS_RETURN_IF_ERROR(image.ChangeMetadata(changes));
  for (const auto& [key, value] : changes) {
    if (value.has_value()) {
      view->marks[key] = *value;
    } else {
      view->marks.erase(key);
    }
  }
  view->own = record;
  return absl::OkStatus();
}

absl::Status NoteTerm(Image& image, MirrorView* view) {
  const std::optional<TermNote> term = TermNoteDue(*view);
  if (!term.has_value()) return absl::OkStatus();
  LocalRecord record = view->own;
  record.term = term;
  return WriteLocalRecord(image, record, view);
}

absl::Status ReplacePointRecord(
    Image& image, const std::map<std::string, std::string>& record) {
  ADDONS_ASSIGN_OR_RETURN(const auto present,
                          image.ListMetadata(kPointRecordKey));
  MetadataChanges changes;
  for (const auto& [key, value] : present) changes[key] = std::nullopt;
  for (const auto& [key, value] : record) changes[key] = value;
  return image.ChangeMetadata(changes);
}

}  // namespace addons
