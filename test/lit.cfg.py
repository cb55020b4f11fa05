#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#

# Configuration of the lit suite. Substitutions: the tools by name, %ptxas and
# %inputs (test/Inputs). Features: `ptxas`, an assembler was found; `cuda`, the
# driver is here and sees a device; `compute-sanitizer`, it was found; `numpy` and
# `torch`, Python has these packages; `normc`, the shared library was built;
# `python-normc`, so was the Python package, for a Python with NumPy, which
# %normc_python runs with it; `python-normc-torch` and
# `python-normc-triton`, that has these;
# `mlir-opt-plugin`, so was the plugin, and there is a stock mlir-opt to load it;
# `valgrind`, it was found; `asan-ubsan`, the tools were built with these checks.

import ctypes
import glob
import importlib.util
import os
import shutil
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import FindTool, ToolSubst

config.name = "norm"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "consumer"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.norm_obj_root, "test")


def find_ptxas():
    return shutil.which("ptxas") or shutil.which(
        "ptxas", path="/usr/local/cuda/bin")


def has_cuda_device():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return (driver.cuInit(0) == 0
            and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
            and count.value > 0)


config.substitutions.append(
    ("%inputs", os.path.join(config.test_source_root, "Inputs")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%src_root", config.norm_src_root))
config.substitutions.append(
    ("%llvm_root", os.path.dirname(config.llvm_tools_dir)))
ptxas = find_ptxas()
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
sanitizer = shutil.which("compute-sanitizer") or shutil.which(
    "compute-sanitizer", path="/usr/local/cuda/bin")
if sanitizer:
    config.available_features.add("compute-sanitizer")
    config.substitutions.append(("%compute_sanitizer", sanitizer))
if has_cuda_device():
    config.available_features.add("cuda")

normc = os.path.join(config.norm_lib_dir, "libnormc.so")
if os.path.exists(normc):
    config.available_features.add("normc")
config.substitutions.append(("%normc_dir", config.norm_lib_dir))
config.substitutions.append((r"%normc\b", normc))
python_dir = os.path.join(config.norm_obj_root, "python")
if config.norm_python and glob.glob(
        os.path.join(python_dir, "normc", "_normc*.so")):
    packages = subprocess.run(
        [config.norm_python, "-c", "from importlib.util import find_spec as f\n"
         "print(*(n for n in ('numpy', 'ml_dtypes', 'torch', 'triton')"
         " if f(n)))"],
        capture_output=True, text=True).stdout.split()
    if {"numpy", "ml_dtypes"} <= set(packages):
        config.available_features.add("python-normc")
        if "torch" in packages:
            config.available_features.add("python-normc-torch")
        if "triton" in packages:
            config.available_features.add("python-normc-triton")
config.substitutions.append(
    ("%normc_python", f"env PYTHONPATH={python_dir} {config.norm_python}"))
config.substitutions.append((r"%cc\b", config.norm_cc))
if shutil.which("valgrind"):
    config.available_features.add("valgrind")
plugin = os.path.join(config.norm_lib_dir, "MLIRNormPlugin.so")
if os.path.exists(plugin) and os.path.exists(
        os.path.join(config.llvm_tools_dir, "mlir-opt")):
    config.available_features.add("mlir-opt-plugin")
config.substitutions.append(("%norm_plugin", plugin))

for package in ("numpy", "torch"):
    if importlib.util.find_spec(package):
        config.available_features.add(package)

if config.norm_sanitize == "address,undefined":
    config.available_features.add("asan-ubsan")
    config.substitutions.append(
        ("%sanitizer_probe", os.path.join(
            config.test_exec_root, "Sanitizers", "NormSanitizerProbe")))

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.add_tool_substitutions(
    [
        ToolSubst("norm-opt", unresolved="ignore"),
        ToolSubst("norm-cache", unresolved="ignore"),
        ToolSubst("norm-compile", unresolved="ignore"),
        ToolSubst("norm-run", unresolved="ignore"),
        ToolSubst("norm-bench", unresolved="ignore"),
        ToolSubst("norm-fuzz", unresolved="ignore"),
    ],
    [config.norm_tools_dir],
)
llvm_config.add_tool_substitutions(
    ["FileCheck", "not", "count", "split-file"], [config.llvm_tools_dir])
