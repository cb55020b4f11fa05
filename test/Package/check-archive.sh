#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# check-archive.sh BUILD_DIR INPUTS: makes the archive of the static build,
# unpacks it elsewhere and runs the tools from there with an empty environment.
#
#===----------------------------------------------------------------------===#

set -euo pipefail
build=$1
inputs=$2
limit=25000000

(cd "$build" && cpack -G TGZ >cpack.log) || {
  cat "$build/cpack.log" >&2
  exit 1
}
archives=("$build"/norm-*.tar.gz)
bytes=$(stat -c %s "${archives[0]}")
echo "${archives[0]##*/}: $bytes bytes"
if ((bytes >= limit)); then
  echo "error: expects less than $limit bytes but got $bytes" >&2
  exit 1
fi

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
tar -xzf "${archives[0]}" -C "$directory" --strip-components=1

norm() { env -i "$directory/bin/$@"; }
norm norm-opt "$inputs/add_layer_norm.mlir" >/dev/null
norm norm-compile "$inputs/add_layer_norm.mlir" --emit=ptx --target=sm_90 \
  -o "$directory/out.ptx"
grep -q '^\.target sm_90' "$directory/out.ptx"
norm norm-run "$inputs/add_layer_norm.mlir" --device=host \
  --arg 0="$inputs/layer0_attention_x.npy" \
  --arg 1="$inputs/layer0_attention_residual.npy" \
  --arg 2="$inputs/layer0_attention_scale.npy" \
  --arg 3="$inputs/layer0_attention_bias.npy" --check
