#ifndef ADDONS_TESTS_FAKES_LOCAL_NOTES_H_
#define ADDONS_TESTS_FAKES_LOCAL_NOTES_H_

#include <string>

#include "replication/look/local_record.h"
#include "tests/fakes/fake_site.h"

namespace addons {

/// What `site` has noted of its image for itself.
inline LocalRecord Noted(const FakeSite& site, const std::string& image) {
  return ReadLocalRecord(site.ImageMetadata(image), site.ImageId(image),
                         site.Info(image).global_id);
}

/// As if a daemon had noted it.
inline void Note(FakeSite& site, const std::string& image,
                 const LocalRecord& record) {
  site.SetImageMetadata(image, kLocalRecordKey,
                        FormatLocalRecord(record, site.ImageId(image),
                                          site.Info(image).global_id));
}
inline void NoteDemotion(FakeSite& site, const std::string& image,
                         const OwnDemotionMark& mark) {
  LocalRecord record = Noted(site, image);
  record.demotion = mark;
  Note(site, image, record);
}

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_LOCAL_NOTES_H_
