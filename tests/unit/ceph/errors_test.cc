#include "ceph/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/status_macros.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::HasSubstr;

struct ErrnoCase {
  int error;
  absl::StatusCode code;
};

class CephErrorCodeTest : public ::testing::TestWithParam<ErrnoCase> {};

TEST_P(CephErrorCodeTest, MapsErrnoToItsCode) {
  EXPECT_THAT(CephError(-GetParam().error, "open", "image 'p/i'"),
              StatusIs(GetParam().code));
}

INSTANTIATE_TEST_SUITE_P(
    All, CephErrorCodeTest,
    ::testing::Values(ErrnoCase{ENOENT, absl::StatusCode::kNotFound},
                      ErrnoCase{EEXIST, absl::StatusCode::kAlreadyExists},
                      ErrnoCase{EBUSY, absl::StatusCode::kUnavailable},
                      ErrnoCase{EAGAIN, absl::StatusCode::kUnavailable},
                      ErrnoCase{ENOTCONN, absl::StatusCode::kUnavailable},
                      ErrnoCase{ESHUTDOWN, absl::StatusCode::kUnavailable},
                      ErrnoCase{ETIMEDOUT, absl::StatusCode::kDeadlineExceeded},
                      ErrnoCase{EACCES, absl::StatusCode::kPermissionDenied},
                      ErrnoCase{EPERM, absl::StatusCode::kPermissionDenied},
                      ErrnoCase{ENOSPC, absl::StatusCode::kResourceExhausted},
                      ErrnoCase{EDQUOT, absl::StatusCode::kResourceExhausted},
                      ErrnoCase{EOPNOTSUPP, absl::StatusCode::kUnavailable},
                      ErrnoCase{ENOSYS, absl::StatusCode::kUnavailable},
                      ErrnoCase{EINVAL, absl::StatusCode::kInternal},
                      ErrnoCase{EROFS, absl::StatusCode::kUnavailable},
                      ErrnoCase{EILSEQ, absl::StatusCode::kInternal}),
    [](const auto& test) { return std::to_string(test.param.error); });

// The operator forces a promote after FAILED_PRECONDITION, counts a job as done
// after UNIMPLEMENTED, and forgets a volume after NOT_FOUND: only an operation
// that has looked may answer these.
TEST(CephErrorTest, NoErrnoBecomesACodeThatMakesOthersAct) {
  for (int error = 0; error < 4096; ++error) {
    for (const int result : {error, -error}) {
      const absl::StatusCode code = CephError(result, "do", "it").code();
      EXPECT_NE(code, absl::StatusCode::kOk) << result;
      EXPECT_NE(code, absl::StatusCode::kFailedPrecondition) << result;
      EXPECT_NE(code, absl::StatusCode::kUnimplemented) << result;
      EXPECT_NE(code, absl::StatusCode::kInvalidArgument) << result;
      EXPECT_NE(code, absl::StatusCode::kUnauthenticated) << result;
      EXPECT_EQ(code == absl::StatusCode::kNotFound, error == ENOENT) << result;
    }
  }
}

TEST(CephErrorTest, NamesActionObjectAndCause) {
  EXPECT_EQ(CephError(-EBUSY, "promote", "image 'p/i'").message(),
            "Failed to promote image 'p/i': (16) Device or resource busy");
}

TEST(CephErrorTest, CarriesTheErrno) {
  EXPECT_EQ(CephErrno(CephError(-EBUSY, "promote", "image 'p/i'")), EBUSY);
}

TEST(CephErrorTest, TakesPositiveResultsForErrorsToo) {
  const absl::Status status = CephError(ETIMEDOUT, "ask", "the manager");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               HasSubstr("(110)")));
  EXPECT_EQ(CephErrno(status), ETIMEDOUT);
}

TEST(CephErrnoTest, SurvivesAnnotation) {
  EXPECT_EQ(CephErrno(Annotate(CephError(-ESHUTDOWN, "open", "pool"),
                               "while asking")),
            kBlocklistedErrno);
}

TEST(CephErrnoTest, IsZeroForOtherStatuses) {
  EXPECT_EQ(CephErrno(absl::OkStatus()), 0);
  EXPECT_EQ(CephErrno(absl::NotFoundError("no such volume")), 0);
}

}  // namespace
}  // namespace addons
