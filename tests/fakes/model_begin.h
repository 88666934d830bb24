#ifndef ADDONS_TESTS_FAKES_MODEL_BEGIN_H_
#define ADDONS_TESTS_FAKES_MODEL_BEGIN_H_

namespace addons::model {

/// A model begins at one moment, the same each time, so that a walk is the same
/// one at any hour. Those made after this begin in the present minute: for a
/// program whose clients go by the host's clock. Before other threads begin.
void BeginModelsNow();

}  // namespace addons::model

#endif  // ADDONS_TESTS_FAKES_MODEL_BEGIN_H_
