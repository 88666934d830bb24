#include "keyrotation/rotate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cidr.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/ceph_address.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "keyrotation/key_slots.h"
#include "keyrotation/key_store.h"
#include "keyrotation/kms_config.h"
#include "keyrotation/passphrase_wrap.h"
#include "keyrotation/rotation_lock.h"
#include "operation/job_answer.h"
#include "volume/image_proof.h"
#include "volume/patience.h"

namespace addons {
namespace {

constexpr char kFile[] = "file";
constexpr char kClientAddressKey[] = ".rbd.csi.ceph.com/clientaddress/";
/// Longer than the lock of a daemon that died, shorter than a sidecar waits.
constexpr std::chrono::seconds kLockPatience{75};
constexpr std::chrono::seconds kLookAgain{1};

/// The volume whose key is rotated.
struct EncryptedVolume {
  ResolvedVolume volume;
  KmsKind kms = KmsKind::kMetadata;
  std::unique_ptr<Pool> reads;
  std::unique_ptr<Pool> changes;
};

/// Since when the lock is waited for.
struct LockWait {
  std::optional<SteadyTime> since;
};

/// Only a few at a time, and all others wait for as long as their callers do.
absl::StatusOr<Slots::Slot> TakeTurn(OperationContext& context,
                                     const RotationEnvironment& environment) {
  Slots turns = environment.turns;
  for (;;) {
    if (Slots::Slot turn = turns.TryTake()) return turn;
    context.Step("waiting for other rotations on this node");
    ADDONS_RETURN_IF_ERROR(context.LookAgainAfter(kLookAgain));
  }
}

absl::StatusOr<EncryptedVolume> FindVolume(
    OperationContext& context, const RotationEnvironment& environment,
    const RotationRequest& request) {
  context.Step("finding the volume and its KMS");
  EncryptedVolume found;
  ADDONS_ASSIGN_OR_RETURN(found.volume,
                          environment.resolver.Resolve(
                              request.volume_id, request.user, Access::kMutate,
                              context.DeadlineWithin(kFindPatience)));
  const VolumeAttributes& attributes = found.volume.attributes;
  if (attributes.kms_id.empty()) {
    return absl::InvalidArgumentError("the volume is not encrypted");
  }
  if (attributes.encryption_type == kFile) {
    return absl::FailedPreconditionError(
        "its filesystem is encrypted (fscrypt), and has no key slots that "
        "could be rotated; nothing was changed");
  }
  ADDONS_ASSIGN_OR_RETURN(
      found.kms, ReadKmsKind(environment.kms_config_dir, attributes.kms_id));
  if (request.secret_passphrase.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "KMS '", attributes.kms_id,
        "' needs 'encryptionPassphrase' in the Secret, and it is not there; "
        "the secret is the one named by spec.csi.nodeStageSecretRef of the "
        "PersistentVolume"));
  }
  ADDONS_ASSIGN_OR_RETURN(found.reads, found.volume.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(found.changes,
                          found.volume.OpenPool(Access::kMutate));
  ADDONS_RETURN_IF_ERROR(CheckImageEncrypted(*found.reads, found.volume));
  return found;
}

/// " on node 'X'", where ceph-csi has noted one, and only one, with this
/// client's address: with --enable-fencing it writes ADDRESS_KEY/VOLUME/NODE.
std::string NotedNode(const std::map<std::string, std::string>& noted,
                      const Watcher& client) {
  const auto at = CephAddress::Parse(client.address);
  std::string node;
  for (const auto& [key, text] : noted) {
    const auto address = CephAddress::Parse(text);
    const auto ip = address ? address->ip : IpAddress::Parse(text);
    if (!ip || !at || at->ip != *ip) continue;
    if (!node.empty()) return "";
    node = absl::StrCat(" on node '", key.substr(key.rfind('/') + 1), "'");
  }
  return node;
}

/// Where the volume is mapped instead.
absl::Status NotMapped(EncryptedVolume& found) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      found.reads->OpenImageReadOnly(found.volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(
      const ImageClients clients,
      ListClients(*found.volume.cluster, *found.reads, *image));
  if (clients.workloads.empty()) {
    return absl::FailedPreconditionError(
        "the image is not mapped on this node, nor on any other; a key is "
        "rotated while a pod uses the volume");
  }
  const auto noted = image->ListMetadata(kClientAddressKey)
                         .value_or(std::map<std::string, std::string>());
  return absl::FailedPreconditionError(absl::StrCat(
      "the image is not mapped on this node, but elsewhere (",
      absl::StrJoin(clients.workloads, ", ",
                    [&noted](std::string* out, const Watcher& client) {
                      absl::StrAppend(out, DescribeWatchers({client}),
                                      NotedNode(noted, client));
                    }),
      "); the call belongs to the daemon of that node"));
}

absl::StatusOr<MappedDevice> FindDevice(OperationContext& context,
                                        const RotationEnvironment& environment,
                                        EncryptedVolume& found) {
  context.Step("finding the volume's device");
  std::vector<MappedDevice> devices =
      ListMappedDevices(environment.roots, environment.image_exports);
  std::erase_if(devices, [&](const MappedDevice& device) {
    return device.read_only || !ProveByCeph(device.image, found.volume).ok();
  });
  if (devices.empty()) return NotMapped(found);
  // A header that is written through one of several is written in the image.
  const MappedDevice& device = devices.front();
  if (device.image.encrypted) {
    return absl::FailedPreconditionError(absl::StrCat(
        device.image.Describe(),
        " has librbd's own encryption (rbd-nbd --encryption-format), whose "
        "keys ceph-csi does not know; nothing was changed"));
  }
  ADDONS_RETURN_IF_ERROR(environment.check_node(environment.roots, device));
  return device;
}

/// Waits for another one who has it, and takes it.
absl::Status TakeLock(OperationContext& context, RotationLock& lock) {
  auto& wait = context.memory().Of<LockWait>();
  if (!wait.since) wait.since = context.clock().Now();
  for (;;) {
    ADDONS_ASSIGN_OR_RETURN(std::string holder, lock.Holder());
    if (holder.empty()) {
      ADDONS_RETURN_IF_ERROR(context.BeginMutation());
      ADDONS_ASSIGN_OR_RETURN(const bool taken, lock.Take());
      if (taken) return absl::OkStatus();
      holder = "another client";
    }
    if (context.clock().Now() - *wait.since >= kLockPatience) {
      return absl::AbortedError(absl::StrCat(
          "another daemon rotates this key: ", holder, " has the lock on it"));
    }
    context.Step("waiting for the lock on the rotation");
    ADDONS_RETURN_IF_ERROR(context.LookAgainAfter(kLookAgain));
  }
}

/// The slot that the KMS's key opens, with what was left over removed.
absl::StatusOr<int> FindLive(KeySlots& slots, const EncryptedVolume& found,
                             const Secret& current) {
  ADDONS_ASSIGN_OR_RETURN(const std::optional<int> live, slots.Find(current));
  if (!live) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the key that KMS '", found.volume.attributes.kms_id,
        "' has of the volume opens no key slot; nothing was changed"));
  }
  return slots.Tidy(*live, current);
}

/// What the KMS has after a Store() that went wrong: true: `next`.
absl::StatusOr<bool> WasStored(MetadataKeyStore& store, const Secret& next) {
  ADDONS_ASSIGN_OR_RETURN(const Secret now, store.Current());
  return now.Reveal() == next.Reveal();
}

absl::Status RotateInMetadata(const BeforeChange& before_change,
                              KeySlots& slots, EncryptedVolume& found,
                              const RotationRequest& request) {
  ADDONS_ASSIGN_OR_RETURN(PassphraseWrap wrap,
                          PassphraseWrap::Derive(request.secret_passphrase,
                                                 request.volume_id.text()));
  MetadataKeyStore store(*found.reads, *found.changes, found.volume,
                         std::move(wrap));
  ADDONS_ASSIGN_OR_RETURN(const Secret current, store.Current());
  ADDONS_ASSIGN_OR_RETURN(const int live, FindLive(slots, found, current));
  if (request.wanted.Reveal() == current.Reveal()) return absl::OkStatus();
  Secret next = request.wanted.Clone();
  if (next.empty()) {
    ADDONS_ASSIGN_OR_RETURN(next, NewPassphrase());
  }
  ADDONS_ASSIGN_OR_RETURN(const int added, slots.Add(live, next));
  ADDONS_RETURN_IF_ERROR(before_change("storing the key"));
  absl::Status stored = store.Store(next);
  if (!stored.ok()) {
    const auto has_next = WasStored(store, next);
    // Not known: both keys open the volume, and the next call sees which is
    // the KMS's.
    if (!has_next.ok()) return stored;
    if (!*has_next) {
      ADDONS_RETURN_IF_ERROR(slots.Remove(added));
      return stored;
    }
  }
  return slots.Remove(live);
}

absl::Status MoveToSecret(KeySlots& slots, EncryptedVolume& found,
                          const RotationRequest& request) {
  const std::string& kms = found.volume.attributes.kms_id;
  const Secret& current = request.secret_passphrase;
  const Secret& previous = request.previous_passphrase;
  ADDONS_ASSIGN_OR_RETURN(std::optional<int> live, slots.Find(current));
  if (live && previous.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "KMS '", kms,
        "' keeps one passphrase for all volumes in the Secret, which this "
        "daemon cannot write; put a new one into 'encryptionPassphrase' and "
        "the one until now into 'previousEncryptionPassphrase'; nothing was "
        "changed"));
  }
  if (live) return slots.Tidy(*live, current, {&previous}).status();
  if (!previous.empty()) {
    ADDONS_ASSIGN_OR_RETURN(live, slots.Find(previous));
  }
  if (!live) {
    return absl::FailedPreconditionError(absl::StrCat(
        "neither 'encryptionPassphrase' nor 'previousEncryptionPassphrase' of "
        "the Secret opens a key slot (KMS '",
        kms, "'); nothing was changed"));
  }
  ADDONS_ASSIGN_OR_RETURN(const int old, slots.Tidy(*live, previous));
  ADDONS_RETURN_IF_ERROR(slots.Add(old, current).status());
  return slots.Remove(old);
}

absl::Status RotateLocked(OperationContext& context,
                          const RotationEnvironment& environment,
                          RotationLock& lock, EncryptedVolume& found,
                          const MappedDevice& device,
                          const RotationRequest& request) {
  const SteadyTime begin = context.clock().Now();
  const std::string path = NodePath(environment.roots, device);
  const BeforeChange before_change = [&](const std::string& step) {
    context.Step(step);
    return lock.Renew();
  };
  KeySlots slots([&] { return environment.open_header(path); }, before_change);
  context.Step("looking which key slot the key opens");
  absl::Status status =
      found.kms == KmsKind::kMetadata
          ? RotateInMetadata(before_change, slots, found, request)
          : MoveToSecret(slots, found, request);
  Log().info(
      "key rotation volume={} device={} format={} kms={} ok={} "
      "removed_slots={} kept_slots={} dur_ms={}",
      Quoted(request.volume_id.text()), device.image.device, slots.format(),
      Quoted(found.volume.attributes.kms_id), status.ok(),
      Quoted(slots.removed()), Quoted(slots.kept()),
      std::chrono::duration_cast<std::chrono::milliseconds>(
          context.clock().Now() - begin)
          .count());
  return status;
}

absl::Status RotateVolume(OperationContext& context,
                          const RotationEnvironment& environment,
                          const RotationRequest& request) {
  ADDONS_ASSIGN_OR_RETURN(const Slots::Slot turn,
                          TakeTurn(context, environment));
  ADDONS_ASSIGN_OR_RETURN(EncryptedVolume found,
                          FindVolume(context, environment, request));
  if (found.kms == KmsKind::kSecret && !request.wanted.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("encryption_key: KMS '", found.volume.attributes.kms_id,
                     "' takes the key from the Secret"));
  }
  ADDONS_ASSIGN_OR_RETURN(const MappedDevice device,
                          FindDevice(context, environment, found));
  RotationLock lock(*found.reads, *found.changes, request.volume_id);
  ADDONS_RETURN_IF_ERROR(TakeLock(context, lock));
  absl::Status status =
      RotateLocked(context, environment, lock, found, device, request);
  lock.GiveBack();
  return status;
}

}  // namespace

absl::Status Rotate(OperationContext& context,
                    const RotationEnvironment& environment,
                    const RotationRequest& request) {
  absl::Status status = RotateVolume(context, environment, request);
  if (status.ok() || RunsAgain(status)) return status;
  return AbortedIfTransient(
      Annotate(status, absl::StrCat("Failed to rotate the key of volume '",
                                    request.volume_id.text(), "'")));
}

}  // namespace addons
