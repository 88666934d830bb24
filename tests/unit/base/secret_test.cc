#include "base/secret.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace addons {
namespace {

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

static_assert(!Printable<Secret>);
static_assert(!std::is_copy_constructible_v<Secret>);
static_assert(!std::is_copy_assignable_v<Secret>);
static_assert(!std::is_convertible_v<std::string, Secret>);
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(std::is_nothrow_move_constructible_v<Secret>);

TEST(SecretTest, RevealsItsText) { EXPECT_EQ(Secret("AQB1").Reveal(), "AQB1"); }

TEST(SecretTest, IsEmptyWithoutText) {
  EXPECT_TRUE(Secret().empty());
  EXPECT_FALSE(Secret("x").empty());
}

TEST(SecretTest, MovingLeavesNothingBehind) {
  Secret from("short");
  const Secret to(std::move(from));
  EXPECT_EQ(to.Reveal(), "short");
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): promised
}

TEST(SecretTest, MoveAssignmentReplacesTheText) {
  Secret from("new text of some length beyond small strings");
  Secret to("old");
  to = std::move(from);
  EXPECT_EQ(to.Reveal(), "new text of some length beyond small strings");
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): promised
}

TEST(SecretTest, MoveAssignmentToItselfKeepsTheText) {
  Secret secret("kept");
  Secret& same = secret;
  secret = std::move(same);
  EXPECT_EQ(secret.Reveal(), "kept");
}

TEST(SecretTest, ACloneIsIndependent) {
  Secret original("key");
  const Secret clone = original.Clone();
  original = Secret("other");
  EXPECT_EQ(clone.Reveal(), "key");
}

TEST(SecretTest, TheFingerprintIsSha256) {
  EXPECT_EQ(Secret("abc").Fingerprint(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(SecretTest, FingerprintsTellSecretsApart) {
  EXPECT_EQ(Secret("a").Fingerprint(), Secret("a").Fingerprint());
  EXPECT_NE(Secret("a").Fingerprint(), Secret("b").Fingerprint());
}

TEST(WipeStringTest, OverwritesTheBytesInPlace) {
  std::string text(64, 'k');
  const char* bytes = text.data();
  WipeString(text);
  EXPECT_TRUE(text.empty());
  ASSERT_EQ(text.data(), bytes);  // the same buffer
  text.resize(0);
  EXPECT_GE(text.capacity(), 64U);
  // clear() itself writes byte 0 only; the rest shows whether it was wiped.
  std::string seen(63, '?');
  std::char_traits<char>::copy(seen.data(), bytes + 1, seen.size());
  EXPECT_EQ(seen, std::string(63, '\0'));
}

}  // namespace
}  // namespace addons
