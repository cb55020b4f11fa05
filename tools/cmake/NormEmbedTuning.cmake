#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#

# norm_embed_tuning(OUTPUT file...): writes the texts of tuning files as string
# literals, each followed by a comma.
function(norm_embed_tuning output)
  set(literals "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    string(APPEND literals "R\"TUNING(${text})TUNING\",\n")
  endforeach()
  # Whoever includes it is compiled again only where it's another one.
  set(before "")
  if(EXISTS "${output}")
    file(READ "${output}" before)
  endif()
  if(NOT before STREQUAL literals OR NOT EXISTS "${output}")
    file(WRITE "${output}" "${literals}")
  endif()
endfunction()
