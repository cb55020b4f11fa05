/*===- beside.c - Loads libraries in a given order ----------------*- C -*-===*\
|*                                                                            *|
|* Part of the norm project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Loads all libraries that it is given, for everybody to see, then compiles  *|
|* by the one that has the C API and prints the PTX.                          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "norm-c/Norm.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define CALL(NAME) ((__typeof__(&NAME))dlsym(library, #NAME))

int main(int argc, char **argv) {
  void *library = NULL;
  for (int i = 1; i < argc; ++i) {
    void *handle = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    if (!handle) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    if (strstr(argv[i], "libnormc"))
      library = handle;
  }
  if (!library)
    return 1;
  char *text = NULL, *message = NULL;
  NormcOptions *options = NULL;
  NormcCompiler *compiler = NULL;
  NormcArtifact *artifact = NULL;
  const void *code = NULL;
  size_t size = 0;
  if (CALL(normcBuildProgram)("rms_norm", "columns=64", &text, &message) ||
      CALL(normcOptionsCreate)(&options, &message) ||
      CALL(normcOptionsSet)(options, "target", "sm_90", &message) ||
      CALL(normcCompilerCreate)(&compiler, &message) ||
      CALL(normcCompile)(compiler, text, strlen(text), NULL, options, &artifact,
                         &message) ||
      CALL(normcArtifactGetCode)(artifact, &code, &size, &message)) {
    fprintf(stderr, "%s\n", message ? message : "");
    return 1;
  }
  puts((const char *)code);
  CALL(normcFree)(text);
  CALL(normcArtifactDestroy)(artifact);
  CALL(normcCompilerDestroy)(compiler);
  CALL(normcOptionsDestroy)(options);
  return 0;
}
