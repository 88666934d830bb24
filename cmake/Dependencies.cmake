# Everything comes as a Debian package; a missing one is named here.
find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED MODULE)  # module mode first: gRPC's config expects its targets
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(Ceph REQUIRED)
if(ADDONS_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
endif()
