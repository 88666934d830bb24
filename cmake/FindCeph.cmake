# Targets Ceph::rados and Ceph::rbd. Debian ships neither .pc nor CMake files for them.
find_path(Ceph_INCLUDE_DIR rbd/librbd.h)
find_path(Ceph_RADOSPP_INCLUDE_DIR rados/librados.hpp)
find_library(Ceph_RADOS_LIBRARY rados)
find_library(Ceph_RBD_LIBRARY rbd)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ceph
  REQUIRED_VARS Ceph_RADOS_LIBRARY Ceph_RBD_LIBRARY Ceph_INCLUDE_DIR Ceph_RADOSPP_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install librados-dev librbd-dev libradospp-dev")

if(Ceph_FOUND AND NOT TARGET Ceph::rados)
  add_library(Ceph::rados UNKNOWN IMPORTED)
  set_target_properties(Ceph::rados PROPERTIES
    IMPORTED_LOCATION "${Ceph_RADOS_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Ceph_INCLUDE_DIR}")
  add_library(Ceph::rbd UNKNOWN IMPORTED)
  set_target_properties(Ceph::rbd PROPERTIES
    IMPORTED_LOCATION "${Ceph_RBD_LIBRARY}"
    INTERFACE_LINK_LIBRARIES Ceph::rados)
endif()
mark_as_advanced(Ceph_INCLUDE_DIR Ceph_RADOSPP_INCLUDE_DIR Ceph_RADOS_LIBRARY Ceph_RBD_LIBRARY)
