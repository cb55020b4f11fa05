#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Builds norm-run and runs the main job: a residual add and LayerNorm of a
# sentence-embedding model, on that model's own data, checked against the
# reference. Arguments go to norm-run; a later --device wins.
#
#===----------------------------------------------------------------------===#

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools/dev/setup.sh
cmake --preset dev
cmake --build --preset dev --target norm-run

inputs=test/Inputs/minilm
build/bin/norm-run $inputs/add_layer_norm.mlir --device=host \
  --arg 0=$inputs/layer0_attention_x.npy \
  --arg 1=$inputs/layer0_attention_residual.npy \
  --arg 2=$inputs/layer0_attention_scale.npy \
  --arg 3=$inputs/layer0_attention_bias.npy \
  --out 0=build/minilm_output.npy --check --time --explain "$@"
