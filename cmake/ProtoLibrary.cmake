# addons_proto_library(NAME name PROTOS a.proto ... [DEPS ...])
# Generated code goes to <build>/gen and is a system include: its warnings are not ours.
function(addons_proto_library)
  cmake_parse_arguments(ARG "" "NAME" "PROTOS;DEPS" ${ARGN})
  set(gen "${PROJECT_BINARY_DIR}/gen")
  file(MAKE_DIRECTORY "${gen}")
  add_library(addons_${ARG_NAME} STATIC ${ARG_PROTOS})
  add_library(addons::${ARG_NAME} ALIAS addons_${ARG_NAME})
  target_include_directories(addons_${ARG_NAME} SYSTEM PUBLIC "${gen}")
  target_link_libraries(addons_${ARG_NAME}
    PUBLIC protobuf::libprotobuf gRPC::grpc++ ${ARG_DEPS} PRIVATE addons_hardening)
  protobuf_generate(TARGET addons_${ARG_NAME} LANGUAGE cpp OUT_VAR messages
    PROTOC_OUT_DIR "${gen}" IMPORT_DIRS "${CMAKE_CURRENT_SOURCE_DIR}")
  protobuf_generate(TARGET addons_${ARG_NAME} LANGUAGE grpc OUT_VAR services
    GENERATE_EXTENSIONS .grpc.pb.h .grpc.pb.cc
    PLUGIN "protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>"
    PROTOC_OUT_DIR "${gen}" IMPORT_DIRS "${CMAKE_CURRENT_SOURCE_DIR}")
  # For tools that only read code: scripts/lint.sh.
  add_custom_target(addons_${ARG_NAME}_sources DEPENDS ${messages} ${services})
  target_compile_options(addons_${ARG_NAME} PRIVATE -w)
  # Each file of messages has the same names of its own. Those of services do not, and most
  # of what they take is gRPC's headers.
  set_source_files_properties(${messages} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(ADDONS_SANITIZER)
    list(JOIN ADDONS_SANITIZER "," sanitizers)
    target_compile_options(addons_${ARG_NAME} PRIVATE -fsanitize=${sanitizers})
    # With this macro protobuf's headers lay map fields out in another way than the
    # distribution's library, which is built without: reflection then crashes.
    target_compile_options(addons_${ARG_NAME} PUBLIC -U__SANITIZE_THREAD__)
  endif()
endfunction()
