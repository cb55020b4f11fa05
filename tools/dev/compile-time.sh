#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# compile-time.sh NORM_COMPILE: wall time of the whole process from text to PTX,
# for add + RMSNorm in bf16 with 4096 columns.
#
#===----------------------------------------------------------------------===#

set -euo pipefail
compile=$1
input="$(dirname "${BASH_SOURCE[0]}")/../../test/Inputs/add_rms_norm.mlir"
runs=41

for ((i = 0; i < runs; ++i)); do
  begin=${EPOCHREALTIME/[.,]/}
  "$compile" "$input" --emit=ptx --target=sm_90 -o /dev/null
  echo $((${EPOCHREALTIME/[.,]/} - begin))
done | sort -n | awk '{t[NR] = $1 / 1000}
  END {printf "text to PTX: least %.1f ms, median %.1f ms of %d runs\n",
       t[1], t[int((NR + 1) / 2)], NR}'
