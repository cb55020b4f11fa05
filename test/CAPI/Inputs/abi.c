/*===- abi.c - Layout of the C API's structs and values -----------*- C -*-===*\
|*                                                                            *|
|* Part of the norm project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "norm-c/Norm.h"
#include <stdio.h>

#define SIZE(TYPE) printf("%s %zu\n", #TYPE, sizeof(TYPE))
#define FIELD(TYPE, NAME)                                                      \
  printf("%s.%s %zu\n", #TYPE, #NAME, offsetof(TYPE, NAME))
#define VALUE(NAME) printf("%s %lld\n", #NAME, (long long)NAME)

int main(void) {
  printf("version %x\n", (unsigned)normcGetAbiVersion());
  SIZE(NormcDeviceOptions);
  FIELD(NormcDeviceOptions, name);
  FIELD(NormcDeviceOptions, cudaContext);
  FIELD(NormcDeviceOptions, cudaLibrary);
  FIELD(NormcDeviceOptions, hostThreads);
  FIELD(NormcDeviceOptions, reserved);
  SIZE(NormcArgument);
  FIELD(NormcArgument, data);
  FIELD(NormcArgument, shape);
  FIELD(NormcArgument, strides);
  FIELD(NormcArgument, rank);
  FIELD(NormcArgument, dtype);
  SIZE(NormcLaunch);
  FIELD(NormcLaunch, argumentSize);
  FIELD(NormcLaunch, arguments);
  FIELD(NormcLaunch, numArguments);
  FIELD(NormcLaunch, stream);
  FIELD(NormcLaunch, workspace);
  FIELD(NormcLaunch, workspaceSize);
  FIELD(NormcLaunch, maxCtas);
  FIELD(NormcLaunch, flags);
  FIELD(NormcLaunch, reserved);
  SIZE(NormcArgumentInfo);
  FIELD(NormcArgumentInfo, name);
  FIELD(NormcArgumentInfo, role);
  FIELD(NormcArgumentInfo, dtype);
  FIELD(NormcArgumentInfo, rank);
  FIELD(NormcArgumentInfo, inPlaceOf);
  FIELD(NormcArgumentInfo, shape);
  FIELD(NormcArgumentInfo, strides);
  FIELD(NormcArgumentInfo, alignment);
  SIZE(NormcStatus);
  VALUE(NORMC_SUCCESS);
  VALUE(NORMC_INVALID_ARGUMENT);
  VALUE(NORMC_INVALID_PROGRAM);
  VALUE(NORMC_NO_DEVICE);
  VALUE(NORMC_INVALID_LAUNCH);
  VALUE(NORMC_MISS);
  VALUE(NORMC_PENDING);
  VALUE(NORMC_DEVICE_ERROR);
  VALUE(NORMC_OUT_OF_MEMORY);
  VALUE(NORMC_INTERNAL_ERROR);
  SIZE(NormcDType);
  VALUE(NORMC_F64);
  VALUE(NORMC_F32);
  VALUE(NORMC_F16);
  VALUE(NORMC_BF16);
  VALUE(NORMC_F8E4M3FN);
  VALUE(NORMC_F8E5M2);
  VALUE(NORMC_F8E8M0FNU);
  VALUE(NORMC_F4E2M1FN);
  VALUE(NORMC_I1);
  VALUE(NORMC_I8);
  VALUE(NORMC_I16);
  VALUE(NORMC_I32);
  VALUE(NORMC_I64);
  VALUE(NORMC_INPUT);
  VALUE(NORMC_OUTPUT);
  VALUE(NORMC_SCALAR);
  VALUE(NORMC_ANY);
  VALUE(NORMC_REMARK);
  VALUE(NORMC_ERROR);
  VALUE(NORMC_MISS_COMPILE);
  VALUE(NORMC_MISS_FALLBACK);
  VALUE(NORMC_MISS_ERROR);
  VALUE(NORMC_WORKSPACE_CLEARED);
  return 0;
}
