# addons_documents(RESULT variable FILES pages of docs/): writes documents.cc, in which the
# daemon has these pages, as server/page/documents.h tells, and sets `variable` to its path.
function(addons_documents)
  cmake_parse_arguments(ARG "" "RESULT" "FILES" ${ARGN})
  set(entries "")
  foreach(file IN LISTS ARG_FILES)
    file(READ "${PROJECT_SOURCE_DIR}/${file}" text)
    string(APPEND entries "      {\"${file}\", R\"DOCUMENT(${text})DOCUMENT\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
  endforeach()
  set(result "${CMAKE_CURRENT_BINARY_DIR}/documents.cc")
  # Left alone where nothing has changed, so that nothing is compiled again.
  file(CONFIGURE OUTPUT "${result}" @ONLY CONTENT
"// Made by cmake/Documents.cmake.
#include \"server/page/documents.h\"

namespace addons {

const std::vector<Document>& Documents() {
  static const auto* const kDocuments = new std::vector<Document>{
@entries@  };
  return *kDocuments;
}

}  // namespace addons
")
  set(${ARG_RESULT} "${result}" PARENT_SCOPE)
endfunction()
