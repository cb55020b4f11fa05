#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# How the project declares its libraries, tools and unit tests.
#
#===----------------------------------------------------------------------===#

include(NormPrecompiledHeaders)

# add_norm_library(NAME
#   SOURCES a.cpp ...     own sources; without any, an interface library
#   LINK_LIBS lib ...     norm libraries and MLIR/LLVM components, by name
#   DEPENDS target ...    TableGen targets that must run first
#   [NO_PCH])             doesn't read the shared header (free of MLIR)
#
# Libraries that link an MLIR component read the shared precompiled header.
function(add_norm_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;LINK_LIBS;DEPENDS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_norm_library(${name}): "
                        "unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  norm_upstream_libraries(libraries ${ARG_LINK_LIBS})

  set(access PUBLIC)
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    norm_use_shared_header(${name} "${libraries}" ${ARG_NO_PCH})
  else()
    set(access INTERFACE)
    add_library(${name} INTERFACE)
  endif()
  target_compile_features(${name} ${access} cxx_std_20)
  target_include_directories(${name} ${access}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${name} ${access} ${libraries})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()

  set_property(GLOBAL APPEND PROPERTY NORM_LIBRARIES ${name})
  install(TARGETS ${name} EXPORT NormTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT Development)
endfunction()

# add_norm_tool(NAME SOURCES a.cpp ... LINK_LIBS lib ...): an executable that
# is installed.
function(add_norm_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_norm_tool(${name}): "
                        "unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  norm_upstream_libraries(libraries ${ARG_LINK_LIBS})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${libraries})
  norm_use_sanitizer_defaults(${name})
  install(TARGETS ${name} EXPORT NormTargets
          RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT Runtime)
endfunction()

# add_norm_multicall_tool(NAME SOURCES a.cpp ... NAMES tool ... LINK_LIBS lib ...):
# one executable that is also installed under each of the tools' names.
function(add_norm_multicall_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;NAMES;LINK_LIBS" ${ARGN})
  add_norm_tool(${name} SOURCES ${ARG_SOURCES} LINK_LIBS ${ARG_LINK_LIBS})
  foreach(tool IN LISTS ARG_NAMES)
    set(link "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${tool}")
    add_custom_command(OUTPUT "${link}"
      COMMAND "${CMAKE_COMMAND}" -E create_symlink ${name} "${link}"
      DEPENDS ${name} VERBATIM)
    add_custom_target(${tool} ALL DEPENDS "${link}")
    install(FILES "${link}" DESTINATION "${CMAKE_INSTALL_BINDIR}"
            COMPONENT Runtime)
  endforeach()
endfunction()

# add_norm_unittest(NAME SOURCES a.cpp ... LINK_LIBS lib ... [NO_PCH]):
# a GoogleTest executable, each of whose tests ctest runs and counts by itself.
function(add_norm_unittest name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;LINK_LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_norm_unittest(${name}): "
                        "unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    return()
  endif()
  norm_upstream_libraries(libraries ${ARG_LINK_LIBS})
  add_executable(${name} ${ARG_SOURCES})
  norm_use_shared_header(${name} "${libraries}" ${ARG_NO_PCH})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/unit/bin")
  target_compile_definitions(${name} PRIVATE
    "NORM_TEST_INPUTS_DIR=\"${PROJECT_SOURCE_DIR}/test/Inputs\"")
  target_link_libraries(${name} PRIVATE ${libraries} GTest::gtest_main)
  norm_use_sanitizer_defaults(${name})
  gtest_discover_tests(${name} TEST_PREFIX "unit/${name}/"
                       DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300)
  add_dependencies(norm-test-depends ${name})
endfunction()
