#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Builds with NORM_SANITIZE: flags, and the options that each executable is
# linked with. Of all code only the project's own is instrumented; LLVM and MLIR
# are the installed libraries.
#
#===----------------------------------------------------------------------===#

# Gives an executable the options.
function(norm_use_sanitizer_defaults target)
  if(NORM_SANITIZE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:NormSanitizerDefaults>)
  endif()
endfunction()

set(NORM_SANITIZE_LINK_FLAG "")
set(NORM_SANITIZER_OPTIONS "")
if(NOT NORM_SANITIZE)
  return()
endif()

set(NORM_SANITIZE_LINK_FLAG "-fsanitize=${NORM_SANITIZE}")
add_compile_options("-fsanitize=${NORM_SANITIZE}" -fno-omit-frame-pointer
                    -fno-sanitize-recover=all)
# LLVM's classes come without the type information that these checks read.
if(NORM_SANITIZE MATCHES "undefined")
  add_compile_options(-fno-sanitize=vptr,function)
endif()
add_link_options("${NORM_SANITIZE_LINK_FLAG}")

list(APPEND NORM_SANITIZER_OPTIONS
  # LLVM's allocators, inline in its headers, poison what they haven't given
  # out. Memory that is poisoned by such code of ours and given out by code
  # within libLLVM, which doesn't unpoison it, would be reported when used.
  allow_user_poisoning=0
  # A report ends the process by a signal. With an exit status, a test that
  # expects a tool to fail would pass.
  abort_on_error=1
  # A signal of a report must also get past the handler that makes LLVM's
  # crashes errors: the sanitizer resets only handlers of signals that it
  # handles itself.
  handle_abort=1
  print_stacktrace=1)

find_program(NORM_SYMBOLIZER llvm-symbolizer HINTS "${LLVM_TOOLS_BINARY_DIR}")
if(NORM_SYMBOLIZER)
  list(APPEND NORM_SANITIZER_OPTIONS
       "external_symbolizer_path=${NORM_SYMBOLIZER}")
endif()
list(JOIN NORM_SANITIZER_OPTIONS ":" NORM_SANITIZER_OPTIONS)

add_library(NormSanitizerDefaults OBJECT
            "${CMAKE_CURRENT_LIST_DIR}/SanitizerDefaults.cpp")
target_compile_definitions(NormSanitizerDefaults PRIVATE
  "NORM_SANITIZER_OPTIONS=\"${NORM_SANITIZER_OPTIONS}\"")
# They are called before the run-time library is ready for instrumented code.
target_compile_options(NormSanitizerDefaults PRIVATE -fno-sanitize=all)
