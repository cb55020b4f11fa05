#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#

# An outside project that finds norm in the build tree and in an install tree.
function(norm_add_consumer_test name package_dir)
  set(launcher "")
  if(NORM_CCACHE AND NORM_CCACHE_PROGRAM)
    set(launcher "-DCMAKE_CXX_COMPILER_LAUNCHER=${NORM_CCACHE_PROGRAM}")
  endif()
  add_test(NAME consumer/${name}
    COMMAND "${CMAKE_CTEST_COMMAND}"
      --build-and-test "${CMAKE_CURRENT_LIST_DIR}"
                       "${CMAKE_CURRENT_BINARY_DIR}/consumer-${name}"
      --build-noclean --build-generator "${CMAKE_GENERATOR}"
      --build-options "-DNorm_DIR=${package_dir}" ${launcher}
                      "-DCMAKE_BUILD_TYPE=Release"
                      "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}"
                      "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
                      "-DCMAKE_EXE_LINKER_FLAGS=${NORM_SANITIZE_LINK_FLAG}"
      --test-command "${CMAKE_CTEST_COMMAND}" -V --no-tests=error)
  set_tests_properties(consumer/${name} PROPERTIES
    PASS_REGULAR_EXPRESSION "100% tests passed"
    FAIL_REGULAR_EXPRESSION "CMake Error;[Ee]rror:;warning:;[1-9] tests failed"
    TIMEOUT 600)
  if(NORM_SANITIZE)
    # Its executable has instrumented code of norm, but not the options.
    set_tests_properties(consumer/${name} PROPERTIES ENVIRONMENT
      "ASAN_OPTIONS=${NORM_SANITIZER_OPTIONS};UBSAN_OPTIONS=${NORM_SANITIZER_OPTIONS}")
  endif()
endfunction()

set(NORM_TEST_PREFIX "${CMAKE_CURRENT_BINARY_DIR}/install")
norm_add_consumer_test(build-tree "${PROJECT_BINARY_DIR}/lib/cmake/norm")
add_test(NAME consumer/install
  COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}"
          --prefix "${NORM_TEST_PREFIX}")
norm_add_consumer_test(install-tree
  "${NORM_TEST_PREFIX}/${CMAKE_INSTALL_LIBDIR}/cmake/norm")
set_tests_properties(consumer/install PROPERTIES
  FIXTURES_SETUP norm-install-tree)
set_tests_properties(consumer/install-tree PROPERTIES
  FIXTURES_REQUIRED norm-install-tree)
