#ifndef ADDONS_CEPH_IMAGE_DIFF_H_
#define ADDONS_CEPH_IMAGE_DIFF_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "ceph/pool.h"

namespace addons {

// What differs between two states of an image, from what the OSDs keep about
// each object: librbd 16 compares user snapshots only, by name, and object maps
// of a secondary's snapshots are wrong.

/// What an object reads as in a state that it is not there in.
enum class AbsentObject {
  kZeros,    // the image has no parent
  kParent,   // as the parent's, the same in both states
  kUnclear,  // the states have different parents, or one has none
};

/// Two states of an image, the older one first: snapshot ids, or kHead.
struct ImageStates {
  uint64_t from = 0;
  uint64_t to = kHead;
  AbsentObject absent = AbsentObject::kZeros;
  /// Also where an object that is in one of them, or in none, was larger in
  /// between, as far as a snapshot still shows it.
  bool between = false;
};

/// Whether the object was there in a state, a snapshot id or kHead.
bool WasThere(const ObjectSnapshots& object, uint64_t state);

/// What may differ in one object between two states, ascending. An object that
/// covers one of a parent in one of them only differs to its end, which is not
/// known here: such a range is longer than any object.
std::vector<ImageRange> ObjectDifference(const ObjectSnapshots& object,
                                         const ImageStates& states);

/// Where a range of object `number` is in an image with this layout; added to
/// `ranges`.
void AddImageRanges(const ImageLayout& layout, uint64_t number,
                    const ImageRange& in_object,
                    std::vector<ImageRange>* ranges);

/// `ranges` in ascending order, each grown to whole blocks of 4 KiB and joined
/// with those that touch it, without what lies beyond `bytes`.
std::vector<ImageRange> Joined(std::vector<ImageRange> ranges, uint64_t bytes);

/// The name of a data object of an image with this layout, by its number.
std::string DataObjectName(const ImageLayout& layout, uint64_t number);

/// Called now and then, with objects; a status that is not OK ends it.
using DiffProgressFn =
    std::function<absl::Status(uint64_t done, uint64_t total)>;

/// Sees one object, by its number and name; a status that is not OK ends it.
using ObjectFn = std::function<absl::Status(
    uint64_t number, const std::string& name, const ObjectSnapshots& object)>;

/// All objects that an image of `layout` can have, in ascending order, also
/// absent ones. `data` is the pool and namespace that they are in. One read
/// operation for each.
absl::Status ForEachObject(Pool& data, const ImageLayout& layout,
                           const DiffProgressFn& progress,
                           const ObjectFn& object);

/// Where an image of `layout` (of its largest state) differs in any of these
/// pairs of states, as Joined() within the first `bytes`. It may tell of more
/// than differs, never of less. See ForEachObject().
absl::StatusOr<std::vector<ImageRange>> ChangedRanges(
    Pool& data, const ImageLayout& layout,
    const std::vector<ImageStates>& states, uint64_t bytes,
    const DiffProgressFn& progress);

}  // namespace addons

#endif  // ADDONS_CEPH_IMAGE_DIFF_H_
