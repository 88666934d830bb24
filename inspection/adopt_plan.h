#ifndef ADDONS_INSPECTION_ADOPT_PLAN_H_
#define ADDONS_INSPECTION_ADOPT_PLAN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "inspection/adopt.h"
#include "operation/operation_context.h"
#include "volume/told_entry.h"

namespace addons {

/// How many are looked at, or written, at a time.
inline constexpr size_t kImagesAtOnce = 16;

/// One image on its way through the plan.
struct Planned {
  ImageName name;
  std::string image_id;
  std::string uuid;
  Adoption adoption;
  ToldEntry told;
  bool without_object = false;  // or with one that is not finished
  std::string former;           // another name that leads to it, to be freed
  bool renames = false;         // an entry with a generated name
  bool correct_image_id = false;

  bool writes() const { return adoption.outcome == AdoptOutcome::kWouldWrite; }
};

/// Says in the plan why nothing is written for an image.
void Refuse(Planned& planned, std::string why,
            AdoptOutcome outcome = AdoptOutcome::kRefused);

/// Looks at the images of one pool and namespace, and says of each what is to
/// be written. Reads only; blocks for some reads of each image, several images
/// at a time. CANCELLED when nobody waits any more.
absl::StatusOr<std::vector<Planned>> PlanImages(OperationContext& context,
                                                const ResolvedPlace& place,
                                                const AdoptRequest& request);

}  // namespace addons

#endif  // ADDONS_INSPECTION_ADOPT_PLAN_H_
