#ifndef ADDONS_INSPECTION_MIRRORING_FACTS_H_
#define ADDONS_INSPECTION_MIRRORING_FACTS_H_

#include <vector>

#include "inspection/explain.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/session.h"

namespace addons {

/// Adds what `view` shows of the image's mirroring to `facts`, under the topic
/// "mirroring": state and role, snapshots, what each site's rbd-mirror says,
/// and what is noted of earlier calls. Blocks for a read of the pool's peers
/// for each name of a site.
void AddMirroringFacts(const ReplicationEnvironment& environment,
                       const OpenedVolume& opened, const MirrorView& view,
                       std::vector<Fact>* facts);

}  // namespace addons

#endif  // ADDONS_INSPECTION_MIRRORING_FACTS_H_
