# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program of static shapes on PyTorch tensors, as its manifest says."""

import ctypes
import json
import subprocess
import tempfile
from pathlib import Path

import torch


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")

    def __call__(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} gave {status}")


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int),
                ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]


class Program:
    """A program of static shapes with one kernel, on contiguous tensors."""

    def __init__(self, driver, norm_compile, text, schedule=None, flags=()):
        self.driver = driver
        with tempfile.TemporaryDirectory() as folder:
            source, ptx, manifest = (
                Path(folder) / name for name in ("a.mlir", "a.ptx", "a.json"))
            source.write_text(text)
            command = [norm_compile, source, "--emit=ptx", "--target=sm_90",
                       "-o", ptx, "--manifest", manifest]
            command += flags
            if schedule:
                command.append(f"--schedule={schedule}")
            subprocess.run(command, check=True)
            self.manifest = json.loads(manifest.read_text())
            image = ptx.read_bytes() + b"\0"
        module = ctypes.c_void_p()
        driver("cuModuleLoadData", ctypes.byref(module), image)
        (self.kernel,) = self.manifest["kernels"]
        self.choose(module)

    def choose(self, module):
        kernel = self.kernel
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        for variant in kernel["variants"]:
            function = ctypes.c_void_p()
            self.driver("cuModuleGetFunction", ctypes.byref(function), module,
                        variant["symbol"].encode())
            shared = variant.get("dynamic_shared", 0)
            if shared > 0:
                self.driver("cuFuncSetAttribute", function, 8, shared)
            ctas = ctypes.c_int()
            self.driver("cuOccupancyMaxActiveBlocksPerMultiprocessor",
                        ctypes.byref(ctas), function, variant["block"],
                        ctypes.c_size_t(shared))
            resident = ctas.value * sms
            units = -(-kernel["rows"]["factor"] // variant["rows_per_cta"])
            split = variant.get("split", 1)
            if split == 0:
                split = 1
                while (split * 2 <= kernel.get("slices", 1)
                       and units * split * 2 <= resident):
                    split *= 2
            elif split > 1 and units * split > resident:
                continue
            self.variant, self.function = variant, function
            self.units, self.split = units, split
            break
        counters = -(-self.units * kernel.get("counter_bytes", 0) // 256) * 256
        size = counters + self.units * kernel.get("unit_bytes", 0)
        self.workspace = torch.zeros(max(size, 1), dtype=torch.uint8,
                                     device="cuda")

    def __call__(self, *tensors):
        slots = []
        for param in self.kernel["params"]:
            kind = param["kind"]
            if kind == "pointer":
                slots.append(tensors[param["buffer"]].data_ptr())
            elif kind == "stride":
                slots.append(tensors[param["buffer"]].stride(param["dim"]))
            elif kind == "extent":
                slots.append(param["factor"])
            elif kind == "split":
                slots.append(self.split)
            elif kind == "workspace":
                slots.append(self.workspace.data_ptr())
            else:
                raise RuntimeError(f"no {kind} expected")
        values = [ctypes.c_uint64(slot) for slot in slots]
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.addressof(value) for value in values))
        cooperative = Attribute(2, 0, 1, b"")
        config = Config(
            (self.units * self.split, 1, 1), (self.variant["block"], 1, 1),
            self.variant.get("dynamic_shared", 0),
            torch.cuda.current_stream().cuda_stream,
            ctypes.addressof(cooperative) if self.split > 1 else None,
            int(self.split > 1))
        self.driver("cuLaunchKernelEx", ctypes.byref(config), self.function,
                    pointers, None)
