#!/usr/bin/env bash
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the reference pages of dialects and passes from their definitions.
# With --check, compares instead, and fails if a page is out of date.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
llvm=${LLVM_DIR:-/usr/lib/llvm-22}
out=$root/docs
if [ "${1:-}" = --check ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out/Dialects"
tblgen() {
  "$llvm/bin/mlir-tblgen" -I "$root/include" -I "$llvm/include" "$@"
}
dialects=$root/include/norm/Dialect
tblgen -gen-dialect-doc -dialect=norm "$dialects/Norm/IR/NormOps.td" \
  > "$out/Dialects/Norm.md"
tblgen -gen-dialect-doc -dialect=norm_tile \
  "$dialects/NormTile/IR/NormTileOps.td" > "$out/Dialects/NormTile.md"
for passes in Dialect/Norm/Transforms Conversion Target; do
  tblgen -gen-pass-doc "$root/include/norm/$passes/Passes.td"
done > "$out/Passes.md"
if [ "${1:-}" = --check ]; then
  for page in Dialects/Norm.md Dialects/NormTile.md Passes.md; do
    diff -u "$root/docs/$page" "$out/$page" ||
      { echo "docs/$page is out of date; run tools/dev/docs.sh" >&2; exit 1; }
  done
fi
