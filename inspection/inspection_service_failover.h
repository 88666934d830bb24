#ifndef ADDONS_INSPECTION_INSPECTION_SERVICE_FAILOVER_H_
#define ADDONS_INSPECTION_INSPECTION_SERVICE_FAILOVER_H_

#include <cstddef>
#include <string>

#include "inspection/failover_check.h"
#include "inspection/forecast.h"
#include "rbdaddons/admin.grpc.pb.h"

namespace addons {

/// As the messages of rbdaddons.admin.v1 that they fill.
void FillForecast(const Forecast& forecast, const std::string& verb,
                  Force force, ::rbdaddons::admin::v1::Forecast* filled);

void FillFinding(const FailoverFinding& finding,
                 ::rbdaddons::admin::v1::FailoverFinding* filled);

/// The counts of all findings, and `most` of them, those first that work in no
/// way.
void FillFindings(FailoverFindings found, size_t most,
                  ::rbdaddons::admin::v1::CheckFailoverResponse* response);

}  // namespace addons

#endif  // ADDONS_INSPECTION_INSPECTION_SERVICE_FAILOVER_H_
