#include "replication/look/known_proofs.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "ceph/omap_object.h"
#include "replication/look/mirror_view.h"

namespace addons {
namespace {

constexpr std::chrono::hours kForgottenAfter{24 * 366};

std::string FormatProof(const KnownProof& proof) {
  return AsciiJsonText({{"point", proof.point},
                        {"made", proof.made},
                        {"compared", proof.compared},
                        {"damaged", proof.damaged},
                        {"notClearedBytes", proof.not_cleared_bytes}});
}

/// nullopt: not in the form that this version knows.
std::optional<KnownProof> ParseProof(const std::string& text) {
  JsonFields fields(text);
  KnownProof proof;
  proof.point = fields.Text("point");
  proof.made = static_cast<int64_t>(fields.Number("made"));
  proof.compared = static_cast<int64_t>(fields.Number("compared"));
  proof.damaged = fields.Number("damaged");
  proof.not_cleared_bytes = fields.Number("notClearedBytes");
  if (!fields.wrong().empty()) return std::nullopt;
  return proof;
}

}  // namespace

bool IsCopy(const MirrorView& view) {
  return view.enabled() && !view.info.primary && !view.LastDemotionIsOwn();
}

absl::StatusOr<std::map<std::string, KnownProof>> ReadProofs(Pool& pool) {
  std::map<std::string, KnownProof> proofs;
  const auto values = pool.ReadOmap(kProofsObject, "");
  if (absl::IsNotFound(values.status())) return proofs;
  ADDONS_RETURN_IF_ERROR(values.status());
  for (const auto& [image_id, text] : *values) {
    if (auto proof = ParseProof(text); proof.has_value()) {
      proofs.emplace(image_id, *std::move(proof));
    }
  }
  return proofs;
}

absl::StatusOr<KnownProof> ReadProof(Pool& pool, const std::string& image_id) {
  const auto value = pool.ReadOmapKey(kProofsObject, image_id);
  if (absl::IsNotFound(value.status())) return KnownProof();
  ADDONS_RETURN_IF_ERROR(value.status());
  if (!value->has_value()) return KnownProof();
  return ParseProof(**value).value_or(KnownProof());
}

absl::Status WriteProof(Pool& pool, const std::string& image_id,
                        const KnownProof& proof) {
  ADDONS_ASSIGN_OR_RETURN(const auto all, ReadProofs(pool));
  const auto before = all.find(image_id);
  if (before != all.end() && before->second.made > proof.made) {
    return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(SetOmapValuesCreating(
      pool, kProofsObject, OmapValues{{image_id, FormatProof(proof)}}));
  std::vector<std::string> old;
  for (const auto& [id, known] : all) {
    if (proof.compared - known.compared >
        std::chrono::seconds(kForgottenAfter).count()) {
      old.push_back(id);
    }
  }
  return old.empty() ? absl::OkStatus()
                     : pool.RemoveOmapKeys(kProofsObject, old);
}

absl::Status ForgetProof(Pool& pool, const std::string& image_id) {
  const absl::Status forgotten = pool.RemoveOmapKeys(kProofsObject, {image_id});
  return absl::IsNotFound(forgotten) ? absl::OkStatus() : forgotten;
}

absl::Status AddProof(Pool& pool, MirrorView* view) {
  if (!IsCopy(*view)) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(view->proof, ReadProof(pool, view->image_id));
  return absl::OkStatus();
}

void AddProof(const std::map<std::string, KnownProof>& proofs,
              MirrorView* view) {
  const auto found = proofs.find(view->image_id);
  if (found != proofs.end() && IsCopy(*view)) view->proof = found->second;
}

std::string DescribeProof(const KnownProof& proof) {
  if (proof.point.empty()) return "";
  return absl::StrCat(
      proof.whole() ? "whole" : "damaged", " at point '", proof.point, "'",
      proof.whole() ? ""
                    : absl::StrCat(": ", proof.damaged,
                                   proof.damaged == 1 ? " object differs"
                                                      : " objects differ"),
      proof.not_cleared_bytes == 0
          ? ""
          : absl::StrCat(", ", proof.not_cleared_bytes,
                         " bytes of old data are not cleared"),
      ", compared at ", FormatUnixSeconds(proof.compared));
}

}  // namespace addons
