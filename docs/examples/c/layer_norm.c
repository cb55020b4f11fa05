/*===- layer_norm.c - A LayerNorm through the C API ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the norm project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Compiles a LayerNorm for the host, runs it over strided rows and compares  *|
|* with the formula. On a GPU the same calls take device memory and a stream. *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "norm-c/Norm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 7, COLUMNS = 384, PITCH = 400 };

static const char program[] =
    "func.func @layer_norm(%x: tensor<?x384xf32>, %g: tensor<384xf32>,\n"
    "                      %b: tensor<384xf32>) -> tensor<?x384xf32> {\n"
    "  %y = norm.layer_norm %x scale(%g) bias(%b) axes = [1] eps = 1.0e-5\n"
    "      : tensor<?x384xf32>, tensor<384xf32>, tensor<384xf32>\n"
    "        -> tensor<?x384xf32>\n"
    "  return %y : tensor<?x384xf32>\n"
    "}\n";

static float x[ROWS * PITCH], y[ROWS * COLUMNS], g[COLUMNS], b[COLUMNS];

/* Ends the program with the message of a call that failed. */
static void check(NormcStatus status, char *message) {
  if (status == NORMC_SUCCESS)
    return;
  fprintf(stderr, "error %d: %s\n", (int)status, message ? message : "");
  normcFree(message);
  exit(1);
}

static void report(NormcSeverity severity, const char *text, void *count) {
  if (severity == NORMC_REMARK)
    ++*(int *)count;
  (void)text;
}

/* The largest distance of y from the formula, computed in double. */
static double worst(void) {
  double largest = 0;
  for (int row = 0; row < ROWS; ++row) {
    const float *in = x + row * PITCH;
    double mean = 0, variance = 0;
    for (int i = 0; i < COLUMNS; ++i)
      mean += in[i] / (double)COLUMNS;
    for (int i = 0; i < COLUMNS; ++i)
      variance += (in[i] - mean) * (in[i] - mean) / COLUMNS;
    for (int i = 0; i < COLUMNS; ++i) {
      double want = (in[i] - mean) / sqrt(variance + 1e-5) * g[i] + b[i];
      largest = fmax(largest, fabs(want - y[row * COLUMNS + i]));
    }
  }
  return largest;
}

int main(void) {
  char *message = NULL;
  if (normcGetAbiVersion() >> 16 != NORMC_ABI_MAJOR)
    return 1;

  /* A device, a compiler, and a session that keeps what was compiled. */
  NormcDeviceOptions deviceOptions = {sizeof(NormcDeviceOptions), "host"};
  NormcDevice *device;
  check(normcDeviceOpen(&deviceOptions, &device, &message), message);
  NormcCompiler *compiler;
  check(normcCompilerCreate(&compiler, &message), message);
  int remarks = 0;
  check(
      normcCompilerSetDiagnosticCallback(compiler, report, &remarks, &message),
      message);
  NormcSession *session;
  check(normcSessionCreate(compiler, device, &session, &message), message);
  NormcExecutable *executable;
  check(normcSessionGetExecutable(session, program, strlen(program),
                                  "layer_norm.mlir", NULL, &executable,
                                  &message),
        message);

  for (int i = 0; i < ROWS * PITCH; ++i)
    x[i] = (float)sin(i * 0.7) * 3 + 1;
  for (int i = 0; i < COLUMNS; ++i) {
    g[i] = 1 + i * 0.001f;
    b[i] = (float)cos(i);
  }

  /* Results are arguments after the others. The rows of x lie apart. */
  const int64_t matrix[] = {ROWS, COLUMNS}, vector[] = {COLUMNS};
  const int64_t strides[] = {PITCH, 1};
  NormcArgument arguments[] = {{x, matrix, strides, 2, NORMC_F32},
                               {g, vector, NULL, 1, NORMC_F32},
                               {b, vector, NULL, 1, NORMC_F32},
                               {y, matrix, NULL, 2, NORMC_F32}};
  NormcLaunch launch = {sizeof(NormcLaunch), sizeof(NormcArgument)};
  launch.arguments = arguments;
  launch.numArguments = 4;
  check(normcExecutableLaunch(executable, &launch, &message), message);
  double error = worst();
  printf("%s: largest error %.2g\n", normcDeviceGetTarget(device), error);

  /* A wrong argument is refused before anything runs. */
  arguments[1].dtype = NORMC_BF16;
  NormcStatus status = normcExecutableLaunch(executable, &launch, &message);
  printf("status %d: %s\n", (int)status, message);
  normcFree(message);

  printf("%d compilation\n", (int)normcSessionGetCompileCount(session));
  normcExecutableDestroy(executable);
  normcSessionDestroy(session);
  normcCompilerDestroy(compiler);
  normcDeviceDestroy(device);
  return error < 1e-5 && status == NORMC_INVALID_LAUNCH ? 0 : 1;
}
