# The only ways to make a target here: addons_library, addons_executable, addons_test.

add_library(addons_options INTERFACE)
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

# Hardening. Fortify needs an optimised build, and the sanitizers bring their own checks.
target_compile_options(addons_options INTERFACE -fstack-protector-strong)
target_compile_definitions(addons_options INTERFACE _GLIBCXX_ASSERTIONS)
if(ADDONS_SANITIZER)
  list(JOIN ADDONS_SANITIZER "," addons_sanitizers)
  target_compile_options(addons_options INTERFACE
    -fsanitize=${addons_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(addons_options INTERFACE -fsanitize=${addons_sanitizers})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(addons_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(ADDONS_COVERAGE)
  target_compile_options(addons_options INTERFACE --coverage)
  target_link_options(addons_options INTERFACE --coverage)
endif()
target_link_options(addons_options INTERFACE LINKER:-z,relro,-z,now)

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

# addons_test(NAME name SRCS ... [DEPS ...] [LABELS ...] [TIMEOUT seconds])
# One binary per folder and level; each TEST becomes a ctest test.
function(addons_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  include(GoogleTest)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE
    ${ARG_DEPS} GTest::gmock GTest::gtest_main addons_options)
  set_target_properties(${ARG_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  gtest_discover_tests(${ARG_NAME}
    DISCOVERY_TIMEOUT 60
    NO_PRETTY_VALUES  # they show addresses, which differ in each run
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
