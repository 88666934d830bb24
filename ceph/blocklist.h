#ifndef ADDONS_CEPH_BLOCKLIST_H_
#define ADDONS_CEPH_BLOCKLIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/cidr.h"

namespace addons {

/// One entry of a cluster's blocklist.
struct BlocklistEntry {
  enum class Kind {
    kRange,    // "10.0.0.0:0/24" of the second list: all clients of the range
    kAddress,  // "10.0.0.1:0/0": all clients of the address
    kClient,   // "10.0.0.1:0/123": one client
  };
  Kind kind = Kind::kClient;
  std::string key;     // as the monitor lists it
  IpAddress address;   // of a range: with the host bits that were given
  int prefix = 0;      // of a range; otherwise all bits
  uint32_t nonce = 0;  // of a client
  /// By the monitor's clock. nullopt: the date cannot be read.
  std::optional<absl::Time> until;

  /// What is blocked, or where the client is.
  Cidr Range() const { return Cidr(address, prefix); }
  /// How `osd blocklist rm` wants to be told of it.
  std::string Argument() const;
  bool HasHostBits() const { return Range().address() != address; }

  friend bool operator==(const BlocklistEntry&,
                         const BlocklistEntry&) = default;
};

/// What a cluster blocks.
struct Blocklist {
  std::vector<BlocklistEntry> entries;
  /// The monitor knows range blocklists: it prints a list of them, even an
  /// empty one.
  bool has_ranges = false;
  /// Entries whose address is not understood, as printed and shortened.
  std::vector<std::string> unreadable;

  /// Adds what is blocked by `key`, spelled as `osd blocklist ls` does, until
  /// `until`: to `unreadable` when the address is not understood.
  void Add(absl::string_view key, absl::string_view until, bool range);

  /// `text` is the answer to `osd blocklist ls`: one of the shapes that
  /// monitors print: an array of entries; two arrays, one after the other; or
  /// (after Ceph 20) an object with the arrays "blocklist" and
  /// "range_blocklist". INTERNAL naming the command when it is anything else:
  /// what is not understood must not look like an empty list. Only an address
  /// in an unknown spelling is no error.
  static absl::StatusOr<Blocklist> Parse(absl::string_view text);

  /// The entry that this daemon makes for `range`: a range without host bits.
  const BlocklistEntry* FindRange(const Cidr& range) const;
  /// The entry "address:0/0" of a single address.
  const BlocklistEntry* FindAddress(const IpAddress& address) const;
  /// An entry of this one client, told by address and nonce. `addresses` is as
  /// Ceph prints a client: one address, or several in brackets.
  const BlocklistEntry* FindClient(absl::string_view addresses) const;
};

/// "2026-11-20T16:57:11.774822+0000" and its older forms, which have a blank
/// for the T or no zone (UTC). nullopt: anything else.
std::optional<absl::Time> ParseMonitorTime(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_CEPH_BLOCKLIST_H_
