#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Which upstream library a target really links. The project names MLIR and LLVM
# components (MLIRArithDialect, LLVMOrcJIT); a dynamic build takes all of them
# from libMLIR and libLLVM, a static build takes the archives.
#
# This file is also installed: a project which uses an installed static build
# has to see the same corrected archives.
#
#===----------------------------------------------------------------------===#

# The parts of MLIR which libMLIR doesn't have.
set(NORM_MLIR_ARCHIVES_ONLY MLIROptLib MLIRExecutionEngine
    MLIRExecutionEngineUtils)

# A libMLIR build exports every archive with both libMLIR and the archives it
# needs as dependencies. Linking the two together would give two copies of each
# global. A static build therefore takes only archives, to which those of LLVM
# that all of MLIR needs are added; a dynamic build takes only libMLIR.
function(norm_correct_mlir_archives)
  get_property(corrected GLOBAL PROPERTY NORM_MLIR_ARCHIVES_CORRECTED)
  if(corrected)
    return()
  endif()
  set_property(GLOBAL PROPERTY NORM_MLIR_ARCHIVES_CORRECTED TRUE)
  if(NOT NORM_STATIC)
    set_target_properties(${NORM_MLIR_ARCHIVES_ONLY} PROPERTIES
                          INTERFACE_LINK_LIBRARIES "MLIR;LLVM")
    return()
  endif()

  # The archives of LLVM want shared libraries of its own dependencies. The
  # executable carries what it uses of zlib and zstd, and uses nothing of Z3.
  find_library(NORM_ZLIB_ARCHIVE libz.a REQUIRED)
  find_library(NORM_ZSTD_ARCHIVE libzstd.a REQUIRED)
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
    "rt;dl;m;LLVMDemangle;${NORM_ZLIB_ARCHIVE};${NORM_ZSTD_ARCHIVE}")

  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported)
    if(NOT target MATCHES "^MLIR.")
      continue()
    endif()
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(NOT libraries)
      set(libraries "")
    endif()
    list(REMOVE_ITEM libraries LLVM MLIR)
    list(APPEND libraries LLVMSupport LLVMCore LLVMTarget LLVMTargetParser)
    list(REMOVE_DUPLICATES libraries)
    set_target_properties(${target} PROPERTIES
                          INTERFACE_LINK_LIBRARIES "${libraries}")
  endforeach()
endfunction()

norm_correct_mlir_archives()

# norm_upstream_libraries(OUT NAME...): the names with each MLIR or LLVM
# component replaced by what this build links for it.
function(norm_upstream_libraries out)
  set(result "")
  foreach(name IN LISTS ARGN)
    if(NORM_STATIC OR name MATCHES "^MLIRNorm" OR
       name IN_LIST NORM_MLIR_ARCHIVES_ONLY)
      list(APPEND result ${name})
    elseif(name MATCHES "^MLIR")
      list(APPEND result MLIR LLVM)
    elseif(name MATCHES "^LLVM")
      list(APPEND result LLVM)
    else()
      list(APPEND result ${name})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES result)
  set(${out} ${result} PARENT_SCOPE)
endfunction()
