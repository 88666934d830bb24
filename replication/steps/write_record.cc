#include "replication/steps/write_record.h"

#include <string>

#include "base/status_macros.h"

namespace addons {

absl::Status WriteLocalRecord(Image& image, const LocalRecord& record,
                              MirrorView* view) {
  if (record == view->own) return absl::OkStatus();
  if (!record.empty()) {
    const std::string text =
        FormatLocalRecord(record, view->image_id, view->info.global_id);
    ADDONS_RETURN_IF_ERROR(image.SetMetadata(kLocalRecordKey, text));
    view->marks[kLocalRecordKey] = text;
  } else if (view->marks.contains(kLocalRecordKey)) {
    ADDONS_RETURN_IF_ERROR(image.RemoveMetadata(kLocalRecordKey));
    view->marks.erase(kLocalRecordKey);
  }
  for (const char* const key : kFormerLocalKeys) {
    if (!view->marks.contains(key)) continue;
    ADDONS_RETURN_IF_ERROR(image.RemoveMetadata(key));
    view->marks.erase(key);
  }
  view->own = record;
  return absl::OkStatus();
}

}  // namespace addons
