#include "inspection/adopt_service.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "inspection/adopt.h"
#include "inspection/named_pool.h"
#include "operation/run_operation.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

// So an answer stays far below the 4 MiB that gRPC takes.
constexpr int kMostAdoptions = 5000;
constexpr int kMostNamedImages = 5000;
constexpr char kBlockEncryption[] = "block";
constexpr char kFileEncryption[] = "file";

constexpr std::array<std::pair<AdoptOutcome, admin_pb::AdoptedVolume::Outcome>,
                     6>
    kOutcomes = {
        {{AdoptOutcome::kKnown, admin_pb::AdoptedVolume::KNOWN},
         {AdoptOutcome::kWouldWrite, admin_pb::AdoptedVolume::WOULD_WRITE},
         {AdoptOutcome::kWritten, admin_pb::AdoptedVolume::WRITTEN},
         {AdoptOutcome::kNoVolume, admin_pb::AdoptedVolume::NO_VOLUME},
         {AdoptOutcome::kRefused, admin_pb::AdoptedVolume::REFUSED},
         {AdoptOutcome::kFailed, admin_pb::AdoptedVolume::FAILED}}};

admin_pb::AdoptedVolume::Outcome NameOf(AdoptOutcome wanted) {
  return std::find_if(
             kOutcomes.begin(), kOutcomes.end(),
             [&](const auto& outcome) { return outcome.first == wanted; })
      ->second;
}

/// What the operation needs; outlives the call.
struct AskedAdoption {
  NamedPool pool;
  std::string rados_namespace;
  AdoptRequest request;
  bool write = false;
};

struct AdoptedPlace {
  ResolvedPlace place;
  std::vector<Adoption> adoptions;
};

absl::Status CheckText(const char* field, const std::string& text) {
  if (std::any_of(text.begin(), text.end(),
                  [](unsigned char c) { return absl::ascii_iscntrl(c); })) {
    return InvalidField(field, "has control characters");
  }
  return absl::OkStatus();
}

absl::Status TakeAdoption(const admin_pb::AdoptVolumesRequest& request,
                          AskedAdoption* asked) {
  ADDONS_RETURN_IF_ERROR(Require("pool", request.pool()));
  ADDONS_RETURN_IF_ERROR(CheckText("volume_name", request.volume_name()));
  ADDONS_RETURN_IF_ERROR(CheckText("owner", request.owner()));
  ADDONS_RETURN_IF_ERROR(CheckText("kms_id", request.kms_id()));
  if (request.images_size() > kMostNamedImages) {
    return InvalidField("images", absl::StrCat("may have ", kMostNamedImages,
                                               " names at most"));
  }
  for (const std::string& image : request.images()) {
    if (image.empty() || absl::StrContains(image, '/')) {
      return InvalidField("images", "has a text that is no image's name");
    }
    asked->request.images.emplace_back(image);
  }
  if ((!request.volume_name().empty() || !request.owner().empty()) &&
      request.images_size() != 1) {
    return InvalidField(request.volume_name().empty() ? "owner" : "volume_name",
                        "is for one image");
  }
  const std::string& type = request.encryption_type();
  if (!type.empty() && type != kBlockEncryption && type != kFileEncryption) {
    return InvalidField("encryption_type", "is neither block nor file");
  }
  asked->request.request_name = request.volume_name();
  asked->request.owner = request.owner();
  asked->request.kms_id = request.kms_id();
  asked->request.encryption_type = type.empty() ? kBlockEncryption : type;
  asked->rados_namespace = request.rados_namespace();
  asked->write = request.write();
  asked->pool.cluster_id = ClusterId(request.cluster_id());
  asked->pool.pool = request.pool();
  ADDONS_ASSIGN_OR_RETURN(asked->pool.user,
                          UserFromSecrets(TakeSecrets(request.secrets())));
  return absl::OkStatus();
}

OperationSpec SpecOf(const AskedAdoption& asked) {
  OperationSpec spec;
  spec.share = WorkerShare::OfCluster(asked.pool.cluster_id);
  spec.verb = asked.write ? "adopt" : "plan adoption";
  spec.object = Describe(asked.pool);
  const AdoptRequest& request = asked.request;
  std::vector<std::string> what = {
      spec.object,   asked.rados_namespace, request.request_name,
      request.owner, request.kms_id,        request.encryption_type};
  for (const ImageName& image : request.images) what.push_back(image.text());
  spec.parameters = CallFingerprint(spec.verb, *asked.pool.user, {}, what);
  if (asked.write) {
    // One after the other; the lease holds off other daemons.
    spec.keys = {
        absl::StrCat("adopt ", asked.rados_namespace, " in ", spec.object)};
  } else {
    MakeRead(&spec);
  }
  return spec;
}

absl::StatusOr<AdoptedPlace> RunAdoption(OperationContext& context,
                                         LeaseKeeper& leases,
                                         ConfigStore& config,
                                         ClusterProvider& clusters,
                                         const std::vector<ClusterId>& home,
                                         const AskedAdoption& asked) {
  context.Step("finding the pool");
  AdoptedPlace adopted;
  ADDONS_ASSIGN_OR_RETURN(adopted.place,
                          FindAdoptionPlace(config, clusters, home, asked.pool,
                                            asked.rados_namespace));
  ADDONS_ASSIGN_OR_RETURN(
      adopted.adoptions,
      asked.write ? Adopt(context, leases, adopted.place, asked.request)
                  : PlanAdoption(context, adopted.place, asked.request));
  return adopted;
}

void CountAdoption(const Adoption& adoption,
                   admin_pb::AdoptVolumesResponse* response) {
  switch (adoption.outcome) {
    case AdoptOutcome::kKnown:
      return response->set_known(response->known() + 1);
    case AdoptOutcome::kWouldWrite:
      return response->set_would_write(response->would_write() + 1);
    case AdoptOutcome::kWritten:
      return response->set_written(response->written() + 1);
    case AdoptOutcome::kNoVolume:
      return response->set_no_volume(response->no_volume() + 1);
    case AdoptOutcome::kRefused:
    case AdoptOutcome::kFailed:
      return response->set_refused(response->refused() + 1);
  }
}

void Fill(const std::vector<Adoption>& adoptions,
          admin_pb::AdoptVolumesResponse* response) {
  for (const Adoption& adoption : adoptions) {
    CountAdoption(adoption, response);
    if (response->volumes_size() == kMostAdoptions) {
      response->set_more(true);
      continue;
    }
    admin_pb::AdoptedVolume& filled = *response->add_volumes();
    const VolumeAttributes& entry = adoption.entry;
    // They may repeat what Ceph or another program wrote.
    filled.set_image(CleanLine(adoption.image, kMaxTextBytes));
    filled.set_outcome(NameOf(adoption.outcome));
    filled.set_volume_id(adoption.volume_id);
    filled.set_volume_name(CleanLine(entry.request_name, kMaxTextBytes));
    filled.set_image_id(CleanLine(entry.image_id, kMaxTextBytes));
    filled.set_owner(CleanLine(entry.owner, kMaxTextBytes));
    filled.set_kms_id(CleanLine(entry.kms_id, kMaxTextBytes));
    filled.set_encryption_type(CleanLine(entry.encryption_type, kMaxTextBytes));
    filled.set_generated_name(adoption.generated_name);
    filled.set_text(CleanLine(adoption.text, kMaxTextBytes));
  }
}

/// Each volume that was written, in the history.
void RecordAdoptions(EventLog& history, const AdoptedPlace& adopted,
                     const std::string& user, const std::string& request_id) {
  for (const Adoption& adoption : adopted.adoptions) {
    if (adoption.outcome != AdoptOutcome::kWritten) continue;
    history.Locate(adoption.volume_id, adopted.place, adoption.image);
    HistoryEvent event;
    event.object = adoption.volume_id;
    event.verb = "adopt";
    event.user = user;
    event.request = request_id;
    history.AddAnswered(std::move(event), absl::OkStatus());
  }
}

}  // namespace

AdoptService::AdoptService(Rpc& rpc, OperationTable& operations,
                           ConfigStore& config, ClusterProvider& clusters,
                           LeaseKeeper& leases, EventLog& history,
                           std::vector<ClusterId> home, std::string instance_id)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      leases_(leases),
      history_(history),
      home_(std::move(home)),
      instance_id_(std::move(instance_id)) {}

grpc::ServerUnaryReactor* AdoptService::AdoptVolumes(
    grpc::CallbackServerContext* context,
    const admin_pb::AdoptVolumesRequest* request,
    admin_pb::AdoptVolumesResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        auto asked = std::make_shared<AskedAdoption>();
        asked->request.instance_id = instance_id_;
        ADDONS_RETURN_IF_ERROR(TakeAdoption(*request, asked.get()));
        return RunOperation<AdoptedPlace>(
                   operations_, SpecOf(*asked), call.caller,
                   [this, asked](OperationContext& operation) {
                     return RunAdoption(operation, leases_, config_, clusters_,
                                        home_, *asked);
                   })
            .Then([this, asked, request_id = call.caller.request_id,
                   response](absl::StatusOr<AdoptedPlace> adopted) {
              if (!adopted.ok()) return adopted.status();
              RecordAdoptions(history_, *adopted, asked->pool.user->id,
                              request_id);
              Fill(adopted->adoptions, response);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
