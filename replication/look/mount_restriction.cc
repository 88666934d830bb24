#include "replication/look/mount_restriction.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace addons {
namespace {

constexpr char kToldUnder[] = "global_id";
constexpr char kToldByImage[] = "image";
constexpr char kToldAccounts[] = "accounts";

struct ToldRestriction {
  bool here = false;     // by this image
  std::string accounts;  // empty: anybody may mount
};

std::optional<ToldRestriction> ReadToldRestriction(const MirrorView& view) {
  const auto found = view.marks.find(kMountRestrictionMark);
  if (found == view.marks.end()) return std::nullopt;
  JsonFields mark(found->second);
  if (mark.Text(kToldUnder) != view.info.global_id) return std::nullopt;
  std::string accounts = mark.Text(kToldAccounts);
  if (!mark.wrong().empty()) return std::nullopt;
  return ToldRestriction{mark.Text(kToldByImage) == view.image_id,
                         std::move(accounts)};
}

/// What ceph-csi goes by on this site.
std::string OwnRestriction(const MirrorView& view) {
  const auto found = view.published.find(kServiceAccountKey);
  return found == view.published.end() ? "" : found->second;
}

/// Has the image be restricted to `accounts`, and say so.
MetadataChanges RestrictTo(const MirrorView& view,
                           const std::string& accounts) {
  MetadataChanges changes;
  if (accounts.empty() && view.published.contains(kServiceAccountKey)) {
    changes[kServiceAccountKey] = std::nullopt;
  } else if (accounts != OwnRestriction(view)) {
    changes[kServiceAccountKey] = accounts;
  }
  std::string mark = ReplacedJsonText({{kToldUnder, view.info.global_id},
                                       {kToldByImage, view.image_id},
                                       {kToldAccounts, accounts}});
  // What cannot be told as it is, is not told again and again.
  const auto told = view.marks.find(kMountRestrictionMark);
  if (told == view.marks.end() || told->second != mark) {
    changes[kMountRestrictionMark] = std::move(mark);
  }
  return changes;
}

}  // namespace

MetadataChanges TakeOverMountRestriction(const MirrorView& view, Force force) {
  if (view.info.mode != MirrorMode::kSnapshot) return {};
  const std::optional<ToldRestriction> told = ReadToldRestriction(view);
  if (!told.has_value() || told->here) return MountRestrictionDue(view);
  const bool lifts = told->accounts.empty() && force == Force::kYes;
  return RestrictTo(view, lifts ? OwnRestriction(view) : told->accounts);
}

std::string MountRestrictionOf(const MirrorView& view) {
  const std::optional<ToldRestriction> told = ReadToldRestriction(view);
  const bool own = view.info.primary || !told.has_value() || told->here ||
                   view.info.mode != MirrorMode::kSnapshot;
  return own ? OwnRestriction(view) : told->accounts;
}

MetadataChanges MountRestrictionDue(const MirrorView& view) {
  if (view.info.mode != MirrorMode::kSnapshot) return {};
  const std::optional<ToldRestriction> told = ReadToldRestriction(view);
  const std::string own = OwnRestriction(view);
  if (!told.has_value()) {
    return own.empty() ? MetadataChanges() : RestrictTo(view, own);
  }
  return RestrictTo(view, !told->here && own.empty() ? told->accounts : own);
}

std::string DescribeMountRestriction(const MirrorView& view) {
  const std::string own = OwnRestriction(view);
  const std::optional<ToldRestriction> told = ReadToldRestriction(view);
  const auto only = [](const std::string& accounts) {
    return absl::StrCat("only by the service account '", accounts, "'");
  };
  if (view.info.primary || !view.enabled() ||
      view.info.mode != MirrorMode::kSnapshot) {
    const bool lost = view.info.primary && view.enabled() && own.empty() &&
                      told.has_value() && !told->here;
    if (lost && !told->accounts.empty()) {
      return absl::StrCat(only(told->accounts),
                          " until this site was promoted; that is not restored "
                          "yet, so anybody may mount it");
    }
    return own.empty() ? "" : only(own);
  }
  if (!told.has_value() || told->here) {
    return own.empty() ? ""
                       : absl::StrCat(only(own),
                                      ", as this site has noted it as primary; "
                                      "a promotion keeps that, because the "
                                      "other site has told of none");
  }
  if (!told->accounts.empty()) {
    return absl::StrCat(only(told->accounts),
                        ", as the primary's site tells; a promotion restores "
                        "that here");
  }
  return own.empty() ? ""
                     : absl::StrCat(
                           "by anybody, as the primary's site tells; a "
                           "promotion lifts this site's restriction "
                           "to '",
                           own, "'");
}

}  // namespace addons
