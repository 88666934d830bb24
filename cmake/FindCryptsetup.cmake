# Target Cryptsetup::cryptsetup. Debian ships no CMake files for it.
find_path(Cryptsetup_INCLUDE_DIR libcryptsetup.h)
find_library(Cryptsetup_LIBRARY cryptsetup)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cryptsetup
  REQUIRED_VARS Cryptsetup_LIBRARY Cryptsetup_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libcryptsetup-dev")

if(Cryptsetup_FOUND AND NOT TARGET Cryptsetup::cryptsetup)
  add_library(Cryptsetup::cryptsetup UNKNOWN IMPORTED)
  set_target_properties(Cryptsetup::cryptsetup PROPERTIES
    IMPORTED_LOCATION "${Cryptsetup_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Cryptsetup_INCLUDE_DIR}")
endif()
mark_as_advanced(Cryptsetup_INCLUDE_DIR Cryptsetup_LIBRARY)
