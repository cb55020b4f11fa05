# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, compilation and launches."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import sys
import threading
from typing import Any, Iterable, Optional, Sequence, Union

from . import _normc
from ._normc import Device, NormError

#: MLIR as text or bytecode, or anything with a `text` (see `normc.Builder`).
Source = Union[str, bytes, Any]

_POLICIES = {"compile": 0, "fallback": 1, "error": 2}
#: By the name in a manifest: NumPy's and PyTorch's name, and that of the bits
#: where NumPy has no such type.
_DTYPES = {
    "f64": ("float64", None), "f32": ("float32", None),
    "f16": ("float16", None), "bf16": ("bfloat16", "uint16"),
    "f8E4M3FN": ("float8_e4m3fn", "uint8"), "f8E5M2": ("float8_e5m2", "uint8"),
    "f8E8M0FNU": ("float8_e8m0fnu", "uint8"),
    "f4E2M1FN": ("float4_e2m1fn_x2", "uint8"), "i1": ("bool", None),
    "i8": ("int8", None), "i16": ("int16", None), "i32": ("int32", None),
    "i64": ("int64", None),
}
_lock = threading.Lock()


def fail(text: str, status: str = "invalid argument") -> NormError:
    error = NormError(text)
    error.status = status
    return error


@functools.lru_cache(maxsize=None)
def compiler() -> _normc.Compiler:
    """The compiler of the process, which any number of threads may use."""
    return _normc.Compiler()


@functools.lru_cache(maxsize=None)
def _open(name: str) -> Device:
    return Device(name)


def device(which: Union[str, Device] = "auto") -> Device:
    """The device of a name: `host`, `cuda:0`, `emulated`, `emulated:SEED`, or
    `auto`, the first GPU or else the host. Each is opened once."""
    if isinstance(which, Device):
        return which
    if not isinstance(which, str):
        raise fail("device expects a name or a normc.Device but got "
                   f"{which!r}")
    with _lock:
        return _open(which)


def devices() -> list[str]:
    """The names of the devices that are here. Opens none."""
    names = ["host", "emulated"]
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int(0)
        if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(
                ctypes.byref(count)) == 0:
            names += [f"cuda:{i}" for i in range(count.value)]
    except OSError:
        pass  # there is no driver
    return names


def op(name: str, **fields: Any) -> str:
    """The text of a common fusion: `op("add_rms_norm", columns=4096,
    dtype="bf16", in_place=True)`. `print(normc.list_ops())` tells all. `None`
    stands for `?` where an extent may be any."""
    def word(value: Any) -> str:
        if value is None:
            return "?"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return repr(value) if isinstance(value, float) else str(value)

    text = ",".join(f"{key.replace('_', '-')}={word(value)}"
                    for key, value in fields.items())
    return _normc.build_program(name, text)


def list_ops() -> str:
    """The common fusions and their fields, for people."""
    return _normc.list_programs()


def _bytes(source: Source) -> bytes:
    source = getattr(source, "text", source)
    if isinstance(source, str):
        return source.encode()
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    raise fail("expects a program as str, bytes or an object with a text but "
               f"got a {type(source).__name__}")


def _options(**given: Any) -> list[tuple[str, str]]:
    options = []
    for name, value in given.items():
        if isinstance(value, bool):
            value = "yes" if value else None
        if value is not None:
            text = os.fspath(value) if name == "tuning" else str(value)
            options.append((name.replace("_", "-"), text))
    return options


def stream_handle(stream: Any) -> int:
    """The `CUstream` of a number, of a stream of PyTorch or CuPy, and of what
    has `__cuda_stream__`."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        return stream
    for attribute in ("cuda_stream", "ptr"):
        handle = getattr(stream, attribute, None)
        if isinstance(handle, int):
            return handle
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    raise fail("stream expects a number or an object with cuda_stream, ptr or "
               f"__cuda_stream__ but got a {type(stream).__name__}")


def _torch_of(arrays: Iterable[Any]) -> Any:
    """PyTorch, where one of the arrays is its tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(array, torch.Tensor)
                                 for array in arrays):
        return torch
    return None


class Executable:
    """A compiled function. Calling it runs it on its device; one that was
    compiled for a target without a device has code and manifest only."""

    def __init__(self, loaded: Optional[_normc.Executable],
                 artifact: Any, on: Optional[Device],
                 remarks: Sequence[str] = ()):
        self._loaded = loaded
        self._artifact = artifact
        self._device = on
        #: Remarks of a compilation with `explain=True`.
        self.remarks = list(remarks)

    @functools.cached_property
    def manifest(self) -> dict[str, Any]:
        """All that a launcher needs to know; docs/Manifest.md describes it."""
        return json.loads((self._loaded or self._made).manifest)

    @property
    def _made(self) -> _normc.Artifact:
        if callable(self._artifact):
            self._artifact = self._artifact()
        return self._artifact

    @property
    def code(self) -> bytes:
        """PTX text, a cubin, or an ELF object for the host. Compiled anew where
        a session has the code only as loaded on the device."""
        return self._made.code

    @property
    def ptx(self) -> str:
        """The code, where it is PTX."""
        code = self.code
        if code.startswith((b"\x7fELF", b"\xcf\xfa")):
            raise fail("ptx expects code of a GPU target in the form ptx but "
                       f"the target is {self.manifest['target']} in a binary "
                       "form")
        return code.decode()

    @property
    def device(self) -> Optional[Device]:
        return self._device

    def load(self, on: Union[str, Device]) -> Executable:
        """The same code on another device."""
        on = device(on)
        return Executable(self._made.load(on), self._artifact, on)

    @functools.cached_property
    def _arguments(self) -> tuple[list[dict], list[dict]]:
        arguments = self.manifest["arguments"]
        count = sum(a["role"] != "output" for a in arguments)
        return arguments[:count], arguments[count:]

    def __repr__(self) -> str:
        inputs, outputs = self._arguments
        def show(argument: dict) -> str:
            shape = "x".join("?" if n is None else str(n)
                             for n in argument["shape"])
            return f"{argument['name']}: {shape}{'x' * bool(shape)}" \
                   f"{argument['dtype']}"
        return (f"<normc.Executable {self.manifest['entry']}"
                f"({', '.join(map(show, inputs))}) -> "
                f"({', '.join(map(show, outputs))}) for "
                f"{self.manifest['target']}>")

    def __call__(self, *inputs: Any, out: Any = None, stream: Any = None,
                 workspace: Any = None, max_ctas: int = 0) -> Any:
        """Runs the function and returns its result, or a tuple of several.

        Inputs are tensors of PyTorch, arrays of NumPy, anything with
        `__dlpack__`, and numbers for scalars, in memory of the device. NumPy's
        uint16 and uint8 are taken as the bits of 16-bit and fp8 floats. `out`
        is one array for each result, or None for one that is to be allocated.
        A result in place is the input itself. On a GPU the work is enqueued on
        `stream`, by default PyTorch's current one if an input is its tensor,
        else the default stream. `workspace` is an array of bytes for this
        stream alone; without, the executable has its own."""
        loaded = self._require()
        takes, gives = self._arguments
        if len(inputs) != len(takes):
            names = ", ".join(a["name"] for a in takes)
            raise fail(f"{self.manifest['entry']} expects {len(takes)} "
                       f"arguments ({names}) but got {len(inputs)}",
                       "invalid launch")
        torch = _torch_of(inputs)
        if torch and stream is None and self._device.is_cuda:
            stream = torch.cuda.current_stream(self._tensor_device(inputs))
        outputs = self._outputs(inputs, out, stream, torch)
        address, size = _memory(workspace)
        loaded.launch((*inputs, *outputs), stream_handle(stream), address,
                      size, max_ctas)
        if len(outputs) == 1:
            return outputs[0]
        return tuple(outputs)

    def workspace_size(self, *inputs: Any, out: Any = None,
                       max_ctas: int = 0) -> int:
        """Bytes of workspace that a call with these arrays needs."""
        outputs = self._outputs(inputs, out, None, _torch_of(inputs))
        return self._require().workspace_size((*inputs, *outputs), max_ctas)

    def _require(self) -> _normc.Executable:
        if self._loaded is None:
            raise fail(f"{self.manifest['entry']} was compiled for "
                       f"{self.manifest['target']} without a device; "
                       "load(device) gives what can be called")
        return self._loaded

    @staticmethod
    def _tensor_device(inputs: Sequence[Any]) -> Any:
        torch = sys.modules["torch"]
        return next((t.device for t in inputs
                     if isinstance(t, torch.Tensor) and t.is_cuda), None)

    def _outputs(self, inputs: Sequence[Any], out: Any, stream: Any,
                 torch: Any) -> list[Any]:
        gives = self._arguments[1]
        if out is None:
            out = [None] * len(gives)
        elif not isinstance(out, (tuple, list)):
            out = [out]
        if len(out) != len(gives):
            raise fail(f"out expects {len(gives)} arrays but got {len(out)}",
                       "invalid launch")
        outputs = list(out)
        missing = []
        for i, (given, result) in enumerate(zip(out, gives)):
            if given is None and "in_place" in result:
                outputs[i] = inputs[result["in_place"]]
            elif given is None:
                missing.append(i)
        if not missing:
            return outputs
        shapes = [self._shape(i, inputs) for i in missing]
        if torch:
            with _on_stream(torch, stream, self._device):
                for i, shape in zip(missing, shapes):
                    outputs[i] = self._empty_torch(torch, i, shape, inputs)
        elif self._device.is_cuda:
            raise fail("expects results by out=, since no input is a tensor of "
                       "PyTorch that tells how to allocate on "
                       f"{self._device.name}", "invalid launch")
        else:
            for i, shape in zip(missing, shapes):
                outputs[i] = _empty_numpy(gives[i]["dtype"], shape)
        return outputs

    def _shape(self, index: int, inputs: Sequence[Any]) -> list[int]:
        """The extents of an array for a result."""
        takes, gives = self._arguments
        result = gives[index]
        equals = result.get("equals") or [None] * len(result["shape"])
        shape = []
        for axis, (extent, same) in enumerate(zip(result["shape"], equals)):
            if extent is None and same and same["buffer"] < len(inputs):
                source = inputs[same["buffer"]]
                if len(source.shape) <= same["dim"]:
                    raise fail(f"argument {same['buffer']} "
                               f"'{takes[same['buffer']]['name']}': expects "
                               f"rank {len(takes[same['buffer']]['shape'])} "
                               f"but got {len(source.shape)}",
                               "invalid launch")
                extent = source.shape[same["dim"]]
                if (takes[same["buffer"]]["dtype"] == "f4E2M1FN"
                        and same["dim"] == len(source.shape) - 1):
                    extent *= 2
            if extent is None:
                raise fail(f"result {index}: expects an array by out=, since "
                           f"extent {axis} isn't one of an argument",
                           "invalid launch")
            shape.append(int(extent))
        if result["dtype"] == "f4E2M1FN" and shape:
            shape[-1] //= 2
        return shape

    def _empty_torch(self, torch: Any, index: int, shape: Sequence[int],
                     inputs: Sequence[Any]) -> Any:
        name, bits = _DTYPES[self._arguments[1][index]["dtype"]]
        dtype = getattr(torch, name, None) or getattr(torch, bits or name)
        where = self._tensor_device(inputs) if self._device.is_cuda else "cpu"
        return torch.empty(shape, dtype=dtype, device=where)


def _on_stream(torch: Any, stream: Any, on: Device) -> Any:
    """Where PyTorch allocates for work on the stream."""
    if not on.is_cuda or stream is None:
        return torch.cuda.stream(None)
    if not isinstance(stream, torch.cuda.Stream):
        handle = stream_handle(stream)
        if not handle:
            return torch.cuda.stream(None)
        stream = torch.cuda.ExternalStream(handle)
    return torch.cuda.stream(stream)


def _empty_numpy(dtype: str, shape: Sequence[int]) -> Any:
    import numpy
    name, bits = _DTYPES[dtype]
    if bits:
        try:
            import ml_dtypes
            # Its four-bit type has a byte for each element.
            name = bits if dtype == "f4E2M1FN" else getattr(ml_dtypes, name)
        except (ImportError, AttributeError):
            name = bits
    return numpy.empty(shape, dtype=name)


def _memory(workspace: Any) -> tuple[int, int]:
    """Address and bytes of a workspace."""
    if workspace is None:
        return 0, 0
    if hasattr(workspace, "data_ptr"):
        return (workspace.data_ptr(),
                workspace.numel() * workspace.element_size())
    if hasattr(workspace, "__array_interface__"):
        return workspace.__array_interface__["data"][0], workspace.nbytes
    interface = getattr(workspace, "__cuda_array_interface__", None)
    if interface is not None:
        return interface["data"][0], workspace.nbytes
    raise fail("workspace expects an array but got a "
               f"{type(workspace).__name__}")


def compile(text: Source, *, target: Optional[str] = None,
            device: Union[str, Device, None] = None,
            entry: Optional[str] = None, schedule: Optional[str] = None,
            math: Optional[str] = None, form: Optional[str] = None,
            tuning: Union[str, "os.PathLike[str]", None] = None,
            name: str = "program", explain: bool = False,
            ptx_version: Optional[int] = None,
            driver_version: Optional[int] = None) -> Executable:
    """Compiles a program, and loads it on the device.

    With a `target` (`host`, `sm_90`, ...) and no `device` it is only compiled;
    without both it's for the device `auto`. `entry` is the function, if there
    are several; `schedule` overrides fields of the model's choice,
    `threads=256`; `math` is `exact` or `hardware`; `form` is `ptx` or `cubin`;
    `tuning` is a file of schedules that were found by measuring, or `none`;
    `name` stands for the text in diagnostics. Raises a `NormError` with the
    diagnostics. The GIL is released meanwhile. Each call compiles; a `Session`
    keeps what it compiled."""
    where = None
    if device is not None or target is None:
        where = globals()["device"]("auto" if device is None else device)
        target = target or where.target
    emulate = where is not None and where.name.startswith("emulated")
    product = where.product if where is not None else None
    artifact, remarks = compiler().compile(
        _bytes(text), name,
        _options(target=target, entry=entry, schedule=schedule, math=math,
                 form=form, explain=explain, emulate=emulate, tuning=tuning,
                 device=product,
                 ptx_version=ptx_version, driver_version=driver_version))
    loaded = artifact.load(where) if where is not None else None
    return Executable(loaded, artifact, where, remarks)


class Session:
    """The compiled programs of one device, each compiled once, also where
    several threads ask at the same time.

    `on_miss` says what `get` does with a program that isn't compiled yet:
    `compile` it; `fallback`, return None and compile in the background; or
    `error`, raise a `NormError` with the status `miss`. With `cache` (a
    directory, or True for the default one) programs are kept on disk too, up to
    `cache_limit` bytes (0 is 2^30)."""

    def __init__(self, device: Union[str, Device] = "auto", *,
                 on_miss: str = "compile",
                 cache: Union[bool, str, "os.PathLike[str]"] = False,
                 cache_limit: int = 0):
        self.device = globals()["device"](device)
        self._session = _normc.Session(compiler(), self.device)
        self.on_miss = on_miss
        if cache:
            self._session.set_disk_cache(
                "" if cache is True else os.fspath(cache), cache_limit)

    @property
    def on_miss(self) -> str:
        return self._on_miss

    @on_miss.setter
    def on_miss(self, policy: str) -> None:
        if policy not in _POLICIES:
            raise fail("on_miss expects compile, fallback or error but got "
                       f"{policy!r}")
        self._session.set_miss_policy(_POLICIES[policy])
        self._on_miss = policy

    def get(self, text: Source, *, name: str = "program",
            entry: Optional[str] = None, schedule: Optional[str] = None,
            math: Optional[str] = None,
            tuning: Union[str, "os.PathLike[str]", None] = None
            ) -> Optional[Executable]:
        """The program, ready to be called; None while it is being compiled in
        the background. Parameters as of `normc.compile`."""
        data = _bytes(text)
        try:
            loaded = self._session.get(data, name, _options(
                entry=entry, schedule=schedule, math=math, tuning=tuning))
        except NormError as error:
            if error.status == "pending":
                return None
            raise
        again = functools.partial(self._compile, data, name, entry=entry,
                                  schedule=schedule, math=math, tuning=tuning)
        return Executable(loaded, again, self.device)

    def _compile(self, data: bytes, name: str, **options: Any) -> Any:
        emulate = self.device.name.startswith("emulated")
        return compiler().compile(data, name, _options(
            target=self.device.target, device=self.device.product,
            emulate=emulate, **options))[0]

    def prewarm(self, text: Source, *, name: str = "program",
                entry: Optional[str] = None, schedule: Optional[str] = None,
                math: Optional[str] = None,
                tuning: Union[str, "os.PathLike[str]", None] = None) -> None:
        """Compiles the program now, whatever `on_miss` says."""
        self._session.prewarm(_bytes(text), name, _options(
            entry=entry, schedule=schedule, math=math, tuning=tuning))

    @property
    def compile_count(self) -> int:
        """Compilations begun so far."""
        return self._session.compile_count
