#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# demo.sh [DEVICE]: builds norm-run and runs the main job on the device (host by
# default; cuda:0 is the first GPU): a residual add and LayerNorm of a
# sentence-embedding model on that model's own data, compared with the reference
# and with what the model's framework computed.
#
#===----------------------------------------------------------------------===#

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools/dev/setup.sh
cmake --preset dev
cmake --build --preset dev --target norm-run

inputs=test/Inputs/minilm
build/bin/norm-run $inputs/add_layer_norm.mlir --device="${1:-host}" \
  --arg 0=$inputs/layer0_attention_x.npy \
  --arg 1=$inputs/layer0_attention_residual.npy \
  --arg 2=$inputs/layer0_attention_scale.npy \
  --arg 3=$inputs/layer0_attention_bias.npy \
  --out 0=build/minilm_output.npy --explain --time --check \
  --expect 0=$inputs/layer0_attention_output.npy:atol=1e-5
