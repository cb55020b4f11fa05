#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Builds everything and runs all tests: what the static build ships; the parser
# fuzz target and the runtime with sanitizers; unit tests, the lit suite and a
# project that uses norm from outside. With arguments, runs only the tests of the
# development build that these tell ctest to choose, for example -R lit/Tools.
#
#===----------------------------------------------------------------------===#

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools/dev/setup.sh
tools/dev/python.sh
cmake --preset dev
cmake --build --preset dev
if (($# == 0)); then
  cmake --preset static
  cmake --build --preset static
  ctest --preset static --tests-regex '^package/'
  cmake --preset asan
  cmake --build --preset asan-quick
  ctest --preset asan-quick --parallel "$(nproc)"
fi
ctest --preset dev --parallel "$(nproc)" "$@"
