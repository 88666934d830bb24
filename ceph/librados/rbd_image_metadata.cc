// An image's metadata, read and changed.
#include <rados/librados.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/encoding.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"
#include "ceph/librados/rbd_image.h"
#include "ceph/librados/sized_buffer.h"
#include "ceph/librados/write_conditions.h"
#include "ceph/pinned_options.h"

namespace addons {
namespace {

constexpr size_t kMaxMetadata = 1U << 20U;  // one value
constexpr uint64_t kMetadataPage = 64;
constexpr size_t kMaxPage = 4U << 20U;    // of metadata
constexpr size_t kMaxValue = 64U << 20U;  // a page of one entry
/// How long a client that has the lock is left alone that could do the work.
constexpr std::chrono::milliseconds kLockPatience{2000};

/// The strings in `buffer`, each of which ends with a zero byte.
std::vector<std::string> SplitZeroTerminated(absl::string_view buffer) {
  std::vector<std::string> strings;
  while (!buffer.empty()) {
    const size_t end = buffer.find('\0');
    strings.emplace_back(buffer.substr(0, end));
    if (end == absl::string_view::npos) break;
    buffer.remove_prefix(end + 1);
  }
  return strings;
}

/// The class's method takes a map of texts.
std::string EncodeEntries(const MetadataChanges& changes) {
  std::string entries;
  uint32_t count = 0;
  for (const auto& [key, value] : changes) {
    if (!value.has_value()) continue;
    ++count;
    absl::StrAppend(&entries, EncodeText(key), EncodeText(*value));
  }
  if (count == 0) return "";
  return absl::StrCat(EncodeNumber(count, sizeof(count)), entries);
}

}  // namespace

absl::StatusOr<std::optional<std::string>> RbdImage::Metadata(
    const std::string& key) {
  std::string value;
  const int result =
      GrowUntilItFits(256, kMaxMetadata, [&](size_t capacity, size_t& needed) {
        value.assign(capacity, '\0');
        needed = capacity;
        return connection_->Call("rbd_metadata_get", [&] {
          return rbd_metadata_get(image_.get(), key.c_str(), value.data(),
                                  &needed);
        });
      });
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) return Error(result, "read the metadata of");
  return CString(value.c_str());
}

absl::StatusOr<std::vector<std::string>> RbdImage::MetadataPage(
    const std::string& last, uint64_t entries,
    std::map<std::string, std::string>& values) {
  std::string key_text;
  std::string value_text;
  size_t key_size = 0;
  size_t value_size = 0;
  const size_t most = entries == 1 ? kMaxValue : kMaxPage;
  const int result =
      GrowUntilItFits(4096, most, [&](size_t capacity, size_t& needed) {
        key_text.assign(capacity, '\0');
        value_text.assign(capacity, '\0');
        key_size = capacity;
        value_size = capacity;
        const int listed = connection_->Call("rbd_metadata_list", [&] {
          return rbd_metadata_list(image_.get(), last.c_str(), entries,
                                   key_text.data(), &key_size,
                                   value_text.data(), &value_size);
        });
        needed = std::max(key_size, value_size);
        return listed;
      });
  if (result < 0) return Error(result, "list the metadata of");
  std::vector<std::string> keys =
      SplitZeroTerminated(absl::string_view(key_text).substr(0, key_size));
  std::vector<std::string> split =
      SplitZeroTerminated(absl::string_view(value_text).substr(0, value_size));
  if (keys.size() == split.size()) {
    for (size_t i = 0; i < keys.size(); ++i) {
      values[keys[i]] = std::move(split[i]);
    }
  }
  return keys;
}

absl::StatusOr<std::map<std::string, std::string>> RbdImage::ListMetadata(
    const std::string& prefix) {
  std::map<std::string, std::string> found;
  std::string last;
  uint64_t entries = kMetadataPage;
  for (;;) {
    std::map<std::string, std::string> values;
    const auto page = MetadataPage(last, entries, values);
    if (CephErrno(page.status()) == ERANGE && entries > 1) {
      entries /= 4;
      continue;
    }
    ADDONS_RETURN_IF_ERROR(page.status());
    const std::vector<std::string>& keys = *page;
    for (const std::string& key : keys) {
      if (!absl::StartsWith(key, prefix)) continue;
      std::optional<std::string> value;
      if (const auto it = values.find(key); it != values.end()) {
        value = it->second;
      } else {
        ADDONS_ASSIGN_OR_RETURN(value, Metadata(key));
      }
      if (value) found[key] = *std::move(value);
    }
    // Only the last page is not full; to ask for another one is an operation.
    if (keys.size() < entries || keys.back() <= last) return found;
    last = keys.back();
  }
}

absl::StatusOr<bool> RbdImage::ChangeMetadataWhere(
    uint64_t features, const MetadataChanges& changes) {
  ADDONS_ASSIGN_OR_RETURN(const std::string id, Id());
  const std::string header = HeaderObject(id);
  const std::string entries = EncodeEntries(changes);
  const WriteOp op(rados_create_write_op());
  OnlyWhere(op.get(), "features", EncodeNumber(features, sizeof(features)));
  if (!entries.empty()) {
    rados_write_op_exec(op.get(), "rbd", "metadata_set", entries.data(),
                        entries.size(), nullptr);
  }
  for (const auto& [key, value] : changes) {
    if (value.has_value()) continue;
    const std::string name = EncodeText(key);
    rados_write_op_exec(op.get(), "rbd", "metadata_remove", name.data(),
                        name.size(), nullptr);
  }
  const int result = connection_->Call("rados_write_op_operate2", [&] {
    return rados_write_op_operate2(op.get(), ioctx_->get(), header.c_str(),
                                   nullptr, 0);
  });
  if (result == -ECANCELED) return false;
  if (result < 0) {
    return OfChange(*this, Error(result, "change the metadata of"));
  }
  return true;
}

absl::Status RbdImage::ChangeMetadata(const MetadataChanges& changes) {
  if (changes.empty()) return absl::OkStatus();
  if (mode_ == Mode::kWritable) {
    ADDONS_ASSIGN_OR_RETURN(const uint64_t features, FeatureBits());
    constexpr uint64_t kThroughLibrbd = RBD_FEATURE_NON_PRIMARY |
                                        RBD_FEATURE_JOURNALING |
                                        RBD_FEATURE_MIGRATING;
    if ((features & kThroughLibrbd) == 0) {
      ADDONS_ASSIGN_OR_RETURN(const bool changed,
                              ChangeMetadataWhere(features, changes));
      if (changed) return absl::OkStatus();
    }
  }
  for (const auto& [key, value] : changes) {
    ADDONS_RETURN_IF_ERROR(value.has_value() ? SetMetadata(key, *value)
                                             : RemoveMetadata(key));
  }
  return absl::OkStatus();
}

absl::Status RbdImage::ChangeMetadataOfSecondary(
    const MetadataChanges& changes) {
  ADDONS_ASSIGN_OR_RETURN(const uint64_t features, FeatureBits());
  if ((features & RBD_FEATURE_NON_PRIMARY) != 0) {
    ADDONS_ASSIGN_OR_RETURN(const bool changed,
                            ChangeMetadataWhere(features, changes));
    if (changed) return absl::OkStatus();
  }
  return Error(-EAGAIN, "change the metadata as that of a secondary of");
}

absl::Status RbdImage::SetMetadata(const std::string& key,
                                   const std::string& value) {
  return MutateWithLock(
      "rbd_metadata_set", "write the metadata of", kLockPatience,
      [&] {
        return rbd_metadata_set(image_.get(), key.c_str(), value.c_str());
      },
      [] {});
}

absl::Status RbdImage::RemoveMetadata(const std::string& key) {
  const absl::Status removed = MutateWithLock(
      "rbd_metadata_remove", "remove metadata of", kLockPatience,
      [&] { return rbd_metadata_remove(image_.get(), key.c_str()); }, [] {});
  return CephErrno(removed) == ENOENT ? absl::OkStatus() : removed;
}

}  // namespace addons
