// That the kernel tells who lives, whatever their pid.

#include "lease/life_sign.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "base/uuid.h"

namespace addons {
namespace {

TEST(LifeSignTest, ThisProcessHasOneAndItIsAlwaysTheSame) {
  const std::string name = LifeSign();
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(LifeSign(), name);
  EXPECT_FALSE(LifeSignIsGone(name));
}

TEST(LifeSignTest, ThatOfNobodyIsGone) {
  EXPECT_TRUE(LifeSignIsGone(NewUuid()));
  EXPECT_FALSE(LifeSignIsGone(""));
}

TEST(LifeSignTest, ThatOfAKilledProcessGoesWithIt) {
  const std::string name = NewUuid();
  std::array<int, 2> shown{};
  ASSERT_EQ(pipe(shown.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const UniqueFd sign = ShowLifeSign(name);
    const char answer = sign.valid() ? 'y' : 'n';
    if (write(shown[1], &answer, 1) != 1) _exit(1);
    while (true) pause();
  }
  close(shown[1]);
  char answer = 0;
  EXPECT_EQ(read(shown[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  close(shown[0]);
  EXPECT_FALSE(LifeSignIsGone(name));
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(LifeSignIsGone(name));
}

/// Ends the process with 0 where it is so.
void ExpectNothingIsKnownWithoutADescriptor() {
  const rlimit none{0, 0};
  const bool limited = setrlimit(RLIMIT_NOFILE, &none) == 0;
  const bool known = LifeSignIsGone("nobody's") || !LifeSign().empty();
  _exit(limited && !known ? 0 : 1);
}

// Nobody is declared dead for want of a descriptor, nor does this process claim
// a sign that it does not show.
TEST(LifeSignTest, WithoutADescriptorNothingIsKnown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ExpectNothingIsKnownWithoutADescriptor(),
              ::testing::ExitedWithCode(0), "");
}

TEST(LifeSignTest, NobodyElseCanShowIt) {
  EXPECT_FALSE(ShowLifeSign(LifeSign()).valid());
}

}  // namespace
}  // namespace addons
