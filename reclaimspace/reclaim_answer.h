#ifndef ADDONS_RECLAIMSPACE_RECLAIM_ANSWER_H_
#define ADDONS_RECLAIMSPACE_RECLAIM_ANSWER_H_

#include <string>

#include "absl/status/status.h"

namespace addons {

/// What a call about `object` answers when its operation ended with `error`. An
/// operation that an administrator cancelled is OK, which the log says: after
/// an error the operator would begin it again at once. `caller_left`: it is
/// CANCELLED because nobody waits.
absl::Status AnswerFor(const absl::Status& error, bool caller_left,
                       const std::string& object);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_RECLAIM_ANSWER_H_
