//===- SanitizerDefaults.cpp - Options of builds with NORM_SANITIZE -------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into every executable of a build with NORM_SANITIZE: however one is
// started, it needs nothing in its environment. What is there is added to the
// options below, and wins. NORM_SANITIZER_OPTIONS comes from
// NormSanitizers.cmake, which says why each option is there.
//
//===----------------------------------------------------------------------===//

// The sanitizers' run-time library calls these before anything else runs.
extern "C" {
const char *__asan_default_options() { return NORM_SANITIZER_OPTIONS; }
const char *__ubsan_default_options() { return NORM_SANITIZER_OPTIONS; }
}
