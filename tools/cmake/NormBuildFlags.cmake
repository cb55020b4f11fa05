#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Compiler, linker and ccache settings of the project's own targets.
#
#===----------------------------------------------------------------------===#

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# The directory property, because mlir-tblgen takes its include path from it.
include_directories("${PROJECT_SOURCE_DIR}/include")
include_directories(SYSTEM "${PROJECT_BINARY_DIR}/include"
                    ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(NORM_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${NORM_LLVM_DEFINITIONS})

# Exceptions are off as in LLVM; RTTI follows the LLVM that is linked, because
# classes derived from its classes need the matching type information.
add_compile_options(-Wall -Wextra -Wno-unused-parameter
                    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
                    -ffunction-sections -fdata-sections)
if(NOT LLVM_ENABLE_RTTI)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()

find_program(NORM_LLD ld.lld HINTS "${LLVM_TOOLS_BINARY_DIR}")
if(NORM_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld "--ld-path=${NORM_LLD}")
endif()
add_link_options(-Wl,--gc-sections)

# Objects go into executables and into the shared library of the C API.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NORM_STATIC)
  # Position-independent start-up costs milliseconds of relocations in every
  # compile, so the self-contained executable is linked at a fixed address.
  add_link_options(
    "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>"
    -static-libstdc++ -static-libgcc)
  if(NORM_LLD)
    add_link_options(-Wl,--icf=all)
  endif()
endif()

# ccache refuses precompiled headers unless told that the macros which they
# define and the time stamps within them may be ignored.
find_program(NORM_CCACHE_PROGRAM ccache)
if(NORM_CCACHE AND NORM_CCACHE_PROGRAM)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env
        "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
        "${NORM_CCACHE_PROGRAM}")
  endforeach()
endif()
if(NORM_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
