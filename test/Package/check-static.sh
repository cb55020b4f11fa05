#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# check-static.sh EXECUTABLE: fails unless the executable needs nothing but
# glibc, and no version of it newer than 2.34.
#
#===----------------------------------------------------------------------===#

set -euo pipefail
executable=$1

libraries=$(objdump -p "$executable" | awk '$1 == "NEEDED" {print $2}')
for library in $libraries; do
  case $library in
  libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1) ;;
  ld-linux*) ;;
  *)
    echo "error: expects glibc as the only library but got $library" >&2
    exit 1
    ;;
  esac
done

newest=$(objdump -T "$executable" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
echo "needs" $libraries "with at most $newest"
if [[ $(printf '%s\n' GLIBC_2.34 "$newest" | sort -V | tail -1) != GLIBC_2.34 ]]
then
  echo "error: expects at most GLIBC_2.34 but got:" >&2
  objdump -T "$executable" | grep "$newest" >&2
  exit 1
fi
