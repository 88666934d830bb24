#ifndef ADDONS_TESTS_CHAOS_CONTENT_H_
#define ADDONS_TESTS_CHAOS_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace addons::testing {

// What a writer of numbered blocks leaves on an image, and what can be told
// from it: block `number` goes to slot `number % kSlots`, one after the other,
// so the state of an image at any moment holds the blocks up to some number and
// nothing newer. Which numbers a slot may hold follows from the newest one.
//
// One that clears has a place for each slot, too, in the second half of the
// image. In one of kRounds rounds through the slots it writes the same block
// there, right before the slot; half of kRounds later it discards it, or asks
// for zeros. Mirroring does not carry that where nothing else of the object was
// written since the last mirror snapshot, or nothing is behind it, and the
// other site goes on holding what was there. That is told from damage.

inline constexpr size_t kSlots = 32;
inline constexpr size_t kBlockBytes = 4096;
/// Of a place, its block first: librbd rounds a discard inwards to this.
inline constexpr size_t kPlaceBytes = 65536;
/// As many as take longer than from one mirror snapshot to the next one.
inline constexpr uint64_t kRounds = 16;

/// Where they lie on an image of so many bytes, which are at least 64 MiB.
uint64_t SlotOffset(uint64_t image_bytes, size_t slot);
uint64_t PlaceOffset(uint64_t image_bytes, size_t slot);

/// Names its image and its number, over and over, so that a block that is torn,
/// old in part, or of another image is seen in every byte.
std::string MakeBlock(const std::string& image, uint64_t number);

/// What a number does to its place.
enum class Change { kNone, kWritten, kCleared };
Change ChangeOf(uint64_t number);

struct Content {
  uint64_t newest = 0;  // number; 0: nothing was written
  /// Places that hold a block which was cleared there since.
  uint64_t not_cleared = 0;
  /// What no single moment of the writer can have left; empty: nothing.
  std::string fault;
};

/// `blocks` are the slots of `image` in order, `places` the first blocks of the
/// places; empty: its writer does not clear.
Content JudgeContent(const std::string& image,
                     const std::vector<std::string>& blocks,
                     const std::vector<std::string>& places = {});

/// How two sites differ that should hold the same.
struct Difference {
  /// Blocks that are zeros at one of them, and at the other one what the writer
  /// had at this place earlier. JudgeContent() tells whether zeros belong
  /// there.
  uint64_t not_cleared = 0;
  uint64_t damaged = 0;      // all other blocks that are not the same
  std::string first_damage;  // where, and what is there
};

/// Adds what differs between `one` and `other`, whole blocks at this offset of
/// `image`.
void Compare(const std::string& image, uint64_t image_bytes, uint64_t offset,
             const std::string& one, const std::string& other,
             Difference& difference);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_CONTENT_H_
