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

inline constexpr size_t kSlots = 32;
inline constexpr size_t kBlockBytes = 4096;

/// Names its image and its number, over and over, so that a block that is torn,
/// old in part, or of another image is seen in every byte.
std::string MakeBlock(const std::string& image, uint64_t number);

struct Content {
  uint64_t newest = 0;  // number; 0: nothing was written
  /// What no single moment of the writer can have left; empty: nothing.
  std::string fault;
};

/// `blocks` are the slots of `image` in order.
Content JudgeContent(const std::string& image,
                     const std::vector<std::string>& blocks);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_CONTENT_H_
