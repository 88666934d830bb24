# The ways to make a target here: addons_library, addons_executable, addons_test,
# addons_integration_test (with addons_integration_suites).

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckPIESupported)

# What makes a mistake in memory end the program instead of being used against it. For our
# code and for generated code. Executables are position independent where the linker can.
add_library(addons_hardening INTERFACE)
check_pie_supported(LANGUAGES CXX OUTPUT_VARIABLE addons_pie_problem)
if(NOT CMAKE_CXX_LINK_PIE_SUPPORTED)
  message(STATUS "Executables are not position independent: ${addons_pie_problem}")
endif()
target_compile_definitions(addons_hardening INTERFACE _GLIBCXX_ASSERTIONS)
target_compile_options(addons_hardening INTERFACE -fstack-protector-strong)
target_link_options(addons_hardening INTERFACE LINKER:-z,relro,-z,now)
check_cxx_compiler_flag(-fstack-clash-protection ADDONS_HAS_STACK_CLASH_PROTECTION)
if(ADDONS_HAS_STACK_CLASH_PROTECTION)
  target_compile_options(addons_hardening INTERFACE -fstack-clash-protection)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|i[3-6]86)$")
  check_cxx_compiler_flag(-fcf-protection ADDONS_HAS_CF_PROTECTION)
  if(ADDONS_HAS_CF_PROTECTION)
    target_compile_options(addons_hardening INTERFACE -fcf-protection)
  endif()
endif()
# Fortify needs an optimised build, and the sanitizers bring their own checks. Level 3 needs
# a newer compiler and C library than level 2.
if(NOT ADDONS_SANITIZER AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("
    #include <cstring>
    #if __USE_FORTIFY_LEVEL < 3
    #error level 3 is not known
    #endif
    int main() { return 0; }" ADDONS_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  target_compile_options(addons_hardening INTERFACE
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${ADDONS_HAS_FORTIFY_3}>,3,2>)
endif()

add_library(addons_options INTERFACE)
target_link_libraries(addons_options INTERFACE addons_hardening)
target_include_directories(addons_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(addons_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(addons_options INTERFACE -Wold-style-cast -Wsuggest-override)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(addons_options INTERFACE -Wthread-safety)
endif()
if(ADDONS_WERROR)
  target_compile_options(addons_options INTERFACE -Werror)
endif()
if(ADDONS_FAULT_POINTS)
  target_compile_definitions(addons_options INTERFACE ADDONS_FAULT_POINTS=1)
endif()

if(ADDONS_SANITIZER)
  list(JOIN ADDONS_SANITIZER "," addons_sanitizers)
  target_compile_options(addons_options INTERFACE
    -fsanitize=${addons_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(addons_options INTERFACE -fsanitize=${addons_sanitizers})
  # Memory and time are not judged then. (The compiler's own macro for the thread sanitizer
  # is taken away where protobuf is used, see ProtoLibrary.cmake.)
  target_compile_definitions(addons_options INTERFACE ADDONS_SANITIZED=1)
endif()
# All of our code tells the fuzzer which ways it took; the fuzzer itself is in its targets.
if(ADDONS_FUZZERS)
  target_compile_options(addons_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(ADDONS_COVERAGE)
  target_compile_options(addons_options INTERFACE --coverage)
  target_link_options(addons_options INTERFACE --coverage)
endif()

# addons_library(NAME name SRCS ... [DEPS public ...] [PRIVATE_DEPS private ...])
# A static library addons_<name> with the alias addons::<name>.
function(addons_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(addons_${ARG_NAME} STATIC ${ARG_SRCS})
    target_link_libraries(addons_${ARG_NAME}
      PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} addons_options)
    target_include_directories(addons_${ARG_NAME} PUBLIC "${PROJECT_SOURCE_DIR}")
  else()
    add_library(addons_${ARG_NAME} INTERFACE)
    target_link_libraries(addons_${ARG_NAME} INTERFACE ${ARG_DEPS})
    target_include_directories(addons_${ARG_NAME} INTERFACE "${PROJECT_SOURCE_DIR}")
  endif()
  add_library(addons::${ARG_NAME} ALIAS addons_${ARG_NAME})
endfunction()

# addons_executable(NAME name SRCS ... [DEPS ...])
function(addons_executable)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} addons_options)
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()

# scripts/test.sh builds by these names, also where no test has the label yet.
foreach(label IN ITEMS unit rpc deploy contract integration long)
  add_custom_target(tests-${label})
endforeach()

# Adds a test program to the targets that build it: one per label, tests-<label>, and one per
# folder, tests-in-<path below tests/ with dashes>; `wanted` is set to its ctest labels,
# which are the given ones and in-<...> for the folder.
function(addons_group_test program labels wanted)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
    BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" OUTPUT_VARIABLE folder)
  string(REPLACE "/" "-" folder "${folder}")
  foreach(group IN ITEMS ${labels} in-${folder})
    if(NOT TARGET tests-${group})
      add_custom_target(tests-${group})
    endif()
    add_dependencies(tests-${group} ${program})
  endforeach()
  set(${wanted} ${labels} in-${folder} PARENT_SCOPE)
endfunction()

# addons_test(NAME name SRCS ... [SEPARATE ... of them] [DEPS ...] [LABELS ...]
#             [TIMEOUT seconds] [SERIAL regex])
# One binary per folder and level; each TEST becomes a ctest test. What is SEPARATE is
# compiled alone, also where others are compiled together (CMAKE_UNITY_BUILD): it has names
# that other files of the program have, too. Tests whose names match SERIAL have the machine
# for themselves.
function(addons_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT;SERIAL" "SRCS;SEPARATE;DEPS;LABELS" ${ARGN})
  include(GoogleTest)
  if(ARG_SEPARATE)
    set_source_files_properties(${ARG_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(ADDONS_SANITIZER)  # several times as slow
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 6")
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE
    ${ARG_DEPS} GTest::gmock GTest::gtest_main addons_options)
  set_target_properties(${ARG_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  addons_group_test(${ARG_NAME} "${ARG_LABELS}" labels)
  gtest_discover_tests(${ARG_NAME}
    DISCOVERY_TIMEOUT 60
    NO_PRETTY_VALUES  # they show addresses, which differ in each run
    PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  # A property above may be no list, so ctest sets the labels when it reads the tests.
  set(with_labels "${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_labels.cmake")
  file(WRITE "${with_labels}"
    "if(${ARG_NAME}_TESTS)\n"
    "  set_tests_properties(\${${ARG_NAME}_TESTS} PROPERTIES LABELS \"${labels}\")\n"
    "endif()\n")
  foreach(line IN LISTS addons_durations)
    if(NOT line MATCHES " integration[.]" AND line MATCHES "^([0-9]+) ([^ ]+[.][^ ]+)$")
      file(APPEND "${with_labels}"
        "list(FIND ${ARG_NAME}_TESTS \"${CMAKE_MATCH_2}\" at)\n"
        "if(NOT at EQUAL -1)\n"
        "  set_tests_properties(\"${CMAKE_MATCH_2}\" PROPERTIES COST ${CMAKE_MATCH_1})\n"
        "endif()\n")
    endif()
  endforeach()
  if(ARG_SERIAL)
    file(APPEND "${with_labels}"
      "foreach(test IN LISTS ${ARG_NAME}_TESTS)\n"
      "  if(test MATCHES \"${ARG_SERIAL}\")\n"
      "    set_tests_properties(\"\${test}\" PROPERTIES RUN_SERIAL ON)\n"
      "  endif()\n"
      "endforeach()\n")
  endif()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${with_labels}")
endfunction()

# Seconds. It ends what hangs, and only that: on a busy machine a suite takes six times as
# long as on a quiet one.
set(ADDONS_INTEGRATION_TIMEOUT 1800)

# What each took, in seconds: ctest begins with the longest, so that the end is not spent
# waiting for one of them. (It learns by itself only where it has run before.) One on real
# clusters that the file does not know may be long, and begins first.
file(STRINGS "${PROJECT_SOURCE_DIR}/tests/durations.txt" addons_durations REGEX "^[^#]")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
  CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/durations.txt")
function(addons_set_cost test)
  set_tests_properties(${test} PROPERTIES COST 1000)
  foreach(line IN LISTS addons_durations)
    if(line MATCHES "^([0-9]+) (.*)$" AND CMAKE_MATCH_2 STREQUAL test)
      set_tests_properties(${test} PROPERTIES COST ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

# addons_integration_suites(PROGRAM name SUITES suite ... [LABELS ...] [TIMEOUT seconds])
# Each suite of a program of addons_integration_test is one ctest test with clusters of its
# own, because starting them takes longer than most tests. A suite with parameters (TEST_P)
# is one test, too. tests/structure/suites.sh compares the names with the sources.
function(addons_integration_suites)
  cmake_parse_arguments(ARG "" "PROGRAM;TIMEOUT" "LABELS;SUITES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${ADDONS_INTEGRATION_TIMEOUT})
  endif()
  addons_group_test(${ARG_PROGRAM} "${ARG_LABELS}" labels)
  foreach(suite IN LISTS ARG_SUITES)
    add_test(NAME integration.${suite}
      COMMAND ${ARG_PROGRAM} "--gtest_filter=${suite}.*:*/${suite}.*")
    set_tests_properties(integration.${suite} PROPERTIES
      LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
    addons_set_cost(integration.${suite})
  endforeach()
endfunction()

# addons_integration_test(NAME name SRCS ... [DEPS ...] [LABELS ...] [TIMEOUT seconds]
#                         [SUITES suite ...])
# A binary whose tests run on real Ceph clusters: one ctest test for each of SUITES; without
# SUITES the whole binary is one test, named after it. A test all of whose cases were skipped
# counts as skipped.
function(addons_integration_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SRCS;DEPS;LABELS;SUITES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${ADDONS_INTEGRATION_TIMEOUT})
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS integration)
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE
    ${ARG_DEPS} nlohmann_json::nlohmann_json addons::skip_aware_main addons_options)
  set_target_properties(${ARG_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  if(ARG_SUITES)
    addons_integration_suites(PROGRAM ${ARG_NAME} SUITES ${ARG_SUITES}
      LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT})
  else()
    addons_group_test(${ARG_NAME} "${ARG_LABELS}" labels)
    add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
    set_tests_properties(${ARG_NAME} PROPERTIES
      LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
    addons_set_cost(${ARG_NAME})
  endif()
endfunction()
