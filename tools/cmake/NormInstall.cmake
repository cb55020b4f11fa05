#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#

# What is installed, the package that find_package(Norm) finds in the build and
# the install tree, and the archive of the static build.

include(CMakePackageConfigHelpers)

set(NORM_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/norm")
set(NORM_BUILD_CMAKE_DIR "${PROJECT_BINARY_DIR}/lib/cmake/norm")
get_property(NORM_LIBRARIES GLOBAL PROPERTY NORM_LIBRARIES)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/norm"
                  "${PROJECT_BINARY_DIR}/include/norm"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT Development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN "*.td"
        PATTERN "CMakeFiles" EXCLUDE)
install(EXPORT NormTargets DESTINATION "${NORM_CMAKE_DIR}"
        COMPONENT Development)
export(EXPORT NormTargets FILE "${NORM_BUILD_CMAKE_DIR}/NormTargets.cmake")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/tools/cmake/NormConfig.cmake.in"
  "${NORM_BUILD_CMAKE_DIR}/NormConfig.cmake"
  INSTALL_DESTINATION "${NORM_CMAKE_DIR}")
write_basic_package_version_file(
  "${NORM_BUILD_CMAKE_DIR}/NormConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
configure_file("${PROJECT_SOURCE_DIR}/tools/cmake/NormUpstreamLibraries.cmake"
               "${NORM_BUILD_CMAKE_DIR}/NormUpstreamLibraries.cmake" COPYONLY)
install(FILES "${NORM_BUILD_CMAKE_DIR}/NormConfig.cmake"
              "${NORM_BUILD_CMAKE_DIR}/NormConfigVersion.cmake"
              "${NORM_BUILD_CMAKE_DIR}/NormUpstreamLibraries.cmake"
        DESTINATION "${NORM_CMAKE_DIR}" COMPONENT Development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/norm" COMPONENT Runtime)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME norm)
set(CPACK_PACKAGE_VENDOR "The norm project")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_FILE_NAME
    "norm-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL Runtime)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
include(CPack)
