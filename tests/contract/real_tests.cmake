# Tests on real Ceph clusters, each binary with a bed of its own.
addons_library(NAME testbed
  SRCS testbed.cc
  DEPS addons::base absl::status absl::statusor absl::strings)
target_compile_definitions(addons_testbed
  PRIVATE "ADDONS_TESTBED=\"${PROJECT_SOURCE_DIR}/scripts/testbed\"")

addons_library(NAME real_bed
  SRCS real_bed.cc
  DEPS addons::ceph_librados addons::testbed addons::testing
  PRIVATE_DEPS nlohmann_json::nlohmann_json GTest::gtest)

# addons_real_test(NAME name SRCS ...): one ctest test for the whole binary, because starting
# the clusters takes longer than most tests.
function(addons_real_test)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE
    addons::real_bed ${ARG_DEPS} nlohmann_json::nlohmann_json
    GTest::gmock GTest::gtest_main addons_options)
  set_target_properties(${ARG_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS integration TIMEOUT 300)
endfunction()

addons_real_test(NAME real_backend_test SRCS real_backend_test.cc)
addons_real_test(NAME real_contract_test SRCS real_contract_test.cc)
