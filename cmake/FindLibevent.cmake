# Targets Libevent::core and Libevent::extra. Debian ships only .pc files for them.
find_path(Libevent_INCLUDE_DIR event2/http.h)
find_library(Libevent_CORE_LIBRARY event_core)
find_library(Libevent_EXTRA_LIBRARY event_extra)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libevent
  REQUIRED_VARS Libevent_CORE_LIBRARY Libevent_EXTRA_LIBRARY Libevent_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libevent-dev")

if(Libevent_FOUND AND NOT TARGET Libevent::core)
  add_library(Libevent::core UNKNOWN IMPORTED)
  set_target_properties(Libevent::core PROPERTIES
    IMPORTED_LOCATION "${Libevent_CORE_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Libevent_INCLUDE_DIR}")
  add_library(Libevent::extra UNKNOWN IMPORTED)
  set_target_properties(Libevent::extra PROPERTIES
    IMPORTED_LOCATION "${Libevent_EXTRA_LIBRARY}"
    INTERFACE_LINK_LIBRARIES Libevent::core)
endif()
mark_as_advanced(Libevent_INCLUDE_DIR Libevent_CORE_LIBRARY Libevent_EXTRA_LIBRARY)
