//===- Operands.cpp - Arrays of Python as arguments of a launch -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of PyTorch and arrays of NumPy are read by their attributes, not by
// DLPack, which has no bf16 in NumPy, no fp8 in many versions of PyTorch, and
// waits for events that a graph capture doesn't allow.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace normpy;

namespace {

/// Element types of arrays: those of arguments, and bits.
enum Element : int {
  kBits8 = 100,       ///< uint8
  kBits16 = 101,      ///< uint16
  kPackedFours = 102, ///< two f4E2M1FN
  kUnknown = -1
};

struct ElementName {
  std::string_view name;
  int element;
  int bytes;
};
constexpr ElementName kElements[] = {
    {"float64", NORMC_F64, 8},
    {"float32", NORMC_F32, 4},
    {"float16", NORMC_F16, 2},
    {"bfloat16", NORMC_BF16, 2},
    {"float8_e4m3fn", NORMC_F8E4M3FN, 1},
    {"float8_e5m2", NORMC_F8E5M2, 1},
    {"float8_e8m0fnu", NORMC_F8E8M0FNU, 1},
    {"float4_e2m1fn_x2", kPackedFours, 1},
    {"bool", NORMC_I1, 1},
    {"int8", NORMC_I8, 1},
    {"int16", NORMC_I16, 2},
    {"int32", NORMC_I32, 4},
    {"int64", NORMC_I64, 8},
    {"uint8", kBits8, 1},
    {"uint16", kBits16, 2},
};

/// An array, as its owner tells it.
struct Array {
  std::string elementName;
  int element = kUnknown;
};

/// One argument of the launch, for messages.
struct Site {
  size_t index;
  const NormcArgumentInfo &info;

  [[noreturn]] void fail(const std::string &text) const {
    throw Error(NORMC_INVALID_LAUNCH, "argument " + std::to_string(index) +
                                          " '" + info.name + "': " + text);
  }
  [[noreturn]] void expects(const std::string &what,
                            const std::string &got) const {
    fail("expects " + what + " but got " + got);
  }
};

/// `str(object)`.
std::string textOf(nb::handle object) { return nb::str(object).c_str(); }

std::string typeName(nb::handle object) {
  return nb::cast<std::string>(nb::handle(object.type()).attr("__name__"));
}

/// Without a `torch.` before it.
int elementOf(std::string_view name, int *bytes = nullptr) {
  for (const ElementName &known : kElements)
    if (known.name == name) {
      if (bytes)
        *bytes = known.bytes;
      return known.element;
    }
  return kUnknown;
}

std::string placeName(Place place) {
  if (!place.isCuda)
    return "memory of the host";
  if (place.ordinal < 0)
    return "memory of a CUDA device";
  return "memory of cuda:" + std::to_string(place.ordinal);
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// Two elements to a byte: extents and strides count elements.
void unpack(const Site &site, Operand &operand) {
  int last = operand.argument.rank - 1;
  if (last < 0 || (operand.shape[last] > 1 && operand.strides[last] != 1))
    site.expects("bytes of two elements that are adjacent along the last axis",
                 last < 0
                     ? "rank 0"
                     : "a stride of " + std::to_string(operand.strides[last]));
  operand.shape[last] *= 2;
  operand.strides[last] = 1;
  for (int axis = 0; axis < last; ++axis)
    operand.strides[axis] *= 2;
}

/// Owners tell any strides of an array without elements.
void fillEmptyStrides(Operand &operand) {
  int rank = operand.argument.rank;
  bool isEmpty = false;
  for (int axis = 0; axis < rank; ++axis)
    isEmpty |= operand.shape[axis] == 0;
  int64_t stride = 1;
  for (int axis = rank - 1; isEmpty && axis >= 0; --axis) {
    operand.strides[axis] = stride;
    stride *= std::max<int64_t>(operand.shape[axis], 1);
  }
}

void setElement(const Site &site, const Array &array, Operand &operand) {
  fillEmptyStrides(operand);
  NormcDType expected = site.info.dtype;
  int element = array.element;
  operand.argument.dtype = expected;
  bool isEight = expected == NORMC_F8E4M3FN || expected == NORMC_F8E5M2 ||
                 expected == NORMC_F8E8M0FNU;
  if (element == expected ||
      (element == kBits16 &&
       (expected == NORMC_F16 || expected == NORMC_BF16)) ||
      (element == kBits8 && isEight))
    return;
  if (expected == NORMC_F4E2M1FN &&
      (element == kPackedFours || element == kBits8))
    return unpack(site, operand);
  site.expects(dtypeName(expected), array.elementName);
}

//===----------------------------------------------------------------------===//
// PyTorch
//===----------------------------------------------------------------------===//

/// `torch.Tensor` once somebody has imported it; else null. The type lives as
/// long as the interpreter, since sys.modules has it.
PyTypeObject *torchTensorType() {
  static PyTypeObject *type = nullptr;
  if (!type) {
    nb::dict modules = nb::module_::import_("sys").attr("modules");
    if (!modules.contains("torch"))
      return nullptr;
    nb::object found = nb::getattr(modules["torch"], "Tensor", nb::none());
    if (PyType_Check(found.ptr()))
      type = reinterpret_cast<PyTypeObject *>(found.release().ptr());
  }
  return type;
}

/// PyTorch has one object for each dtype.
int torchElement(nb::handle dtype, std::string *name) {
  static std::array<std::pair<PyObject *, int>, std::size(kElements)> known =
      {};
  for (auto [object, element] : known)
    if (object == dtype.ptr())
      return element;
  std::string text = textOf(dtype);
  std::string_view bare = text;
  if (bare.starts_with("torch."))
    bare.remove_prefix(6);
  int element = elementOf(bare);
  *name = bare;
  if (element != kUnknown)
    for (auto &[object, cached] : known)
      if (!object) {
        cached = element;
        object = dtype.inc_ref().ptr();
        break;
      }
  return element;
}

/// Reads a tuple of integers.
int readTuple(const Site &site, nb::handle object,
              std::array<int64_t, kMostRank> &values) {
  Py_ssize_t size =
      PyTuple_Check(object.ptr()) ? PyTuple_Size(object.ptr()) : -1;
  if (size < 0 || size > kMostRank)
    site.expects("at most " + std::to_string(kMostRank) + " axes",
                 size < 0 ? "no tuple" : std::to_string(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    values[size_t(i)] = PyLong_AsLongLong(PyTuple_GetItem(object.ptr(), i));
    if (values[size_t(i)] == -1 && PyErr_Occurred())
      throw nb::python_error();
  }
  return int(size);
}

void readTorch(nb::handle tensor, const Site &site, Place place,
               Operand &operand) {
  // What lib reads by name on each launch.
  static PyObject *const names[] = {PyUnicode_InternFromString("get_device"),
                                    PyUnicode_InternFromString("dtype"),
                                    PyUnicode_InternFromString("shape"),
                                    PyUnicode_InternFromString("stride"),
                                    PyUnicode_InternFromString("data_ptr")};
  auto get = [&](int name) {
    return nb::steal(PyObject_GetAttr(tensor.ptr(), names[name]));
  };
  auto call = [&](int name) {
    return nb::steal(
        PyObject_CallMethodObjArgs(tensor.ptr(), names[name], nullptr));
  };
  auto value = [&](int name) {
    nb::object result = call(name);
    if (!result.is_valid())
      throw nb::python_error();
    return result;
  };
  long ordinal = PyLong_AsLong(value(0).ptr());
  if (place.isCuda
          ? (ordinal < 0 || (place.ordinal >= 0 && ordinal != place.ordinal))
          : ordinal >= 0)
    site.expects(placeName(place),
                 "a tensor on " + textOf(nb::object(tensor.attr("device"))));
  Array array;
  nb::object dtype = get(1);
  if (!dtype.is_valid())
    throw nb::python_error();
  array.element = torchElement(dtype, &array.elementName);
  if (array.elementName.empty() && array.element != site.info.dtype)
    array.elementName = textOf(dtype);
  nb::object shape = get(2);
  if (!shape.is_valid())
    throw nb::python_error();
  operand.argument.rank = readTuple(site, shape, operand.shape);
  readTuple(site, value(3), operand.strides);
  nb::object address = value(4);
  operand.argument.data = PyLong_AsVoidPtr(address.ptr());
  if (PyErr_Occurred())
    throw nb::python_error();
  setElement(site, array, operand);
  bool isEmpty = std::any_of(operand.shape.begin(),
                             operand.shape.begin() + operand.argument.rank,
                             [](int64_t extent) { return extent == 0; });
  if (!operand.argument.data && !isEmpty)
    site.expects("a tensor with memory",
                 "one on " + textOf(nb::object(tensor.attr("device"))));
}

//===----------------------------------------------------------------------===//
// NumPy
//===----------------------------------------------------------------------===//

void readNumPy(nb::handle array, const Site &site, Place place,
               Operand &operand) {
  if (place.isCuda)
    site.expects(placeName(place), "a NumPy array");
  nb::dict interface = array.attr("__array_interface__");
  Array told;
  told.elementName = nb::cast<std::string>(array.attr("dtype").attr("name"));
  if (!nb::cast<bool>(array.attr("dtype").attr("isnative")))
    told.elementName += " of the other byte order";
  int bytes = 1;
  told.element = elementOf(told.elementName, &bytes);
  operand.argument.rank = readTuple(site, interface["shape"], operand.shape);
  nb::tuple data = interface["data"];
  operand.argument.data = PyLong_AsVoidPtr(nb::handle(data[0]).ptr());
  if (nb::cast<bool>(data[1]) && site.info.role == NORMC_OUTPUT)
    site.expects("an array that can be written", "a read-only one");
  readTuple(site, array.attr("strides"), operand.strides);
  for (int axis = 0; axis < operand.argument.rank; ++axis) {
    if (operand.strides[axis] % bytes != 0)
      site.expects("strides of whole elements",
                   std::to_string(operand.strides[axis]) + " bytes");
    operand.strides[axis] /= bytes;
  }
  setElement(site, told, operand);
}

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

// Values of dlpack.h, https://dmlc.github.io/dlpack/latest/c_api.html.
enum { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

/// DLPack's codes as names of dtypes.
std::string dlpackName(nb::dlpack::dtype dtype) {
  static constexpr const char *codes[] = {"int",
                                          "uint",
                                          "float",
                                          "opaque",
                                          "bfloat",
                                          "complex",
                                          "bool",
                                          "float8_e3m4",
                                          "float8_e4m3",
                                          "float8_e4m3b11fnuz",
                                          "float8_e4m3fn",
                                          "float8_e4m3fnuz",
                                          "float8_e5m2",
                                          "float8_e5m2fnuz",
                                          "float8_e8m0fnu",
                                          "float6_e2m3fn",
                                          "float6_e3m2fn",
                                          "float4_e2m1fn"};
  if (dtype.code >= std::size(codes))
    return "code " + std::to_string(dtype.code);
  std::string name = codes[dtype.code];
  if (dtype.lanes != 1)
    return name + "_x" + std::to_string(dtype.lanes);
  if (dtype.code <= 5)
    name += std::to_string(dtype.bits);
  return name;
}

void readDLPack(nb::handle object, const Site &site, Place place,
                uint64_t stream, Operand &operand) {
  auto device = nb::cast<nb::tuple>(object.attr("__dlpack_device__")());
  int kind = nb::cast<int>(device[0]), ordinal = nb::cast<int>(device[1]);
  bool isCuda = kind == kCuda || kind == kCudaManaged;
  bool fits = place.isCuda
                  ? isCuda && (place.ordinal < 0 || kind == kCudaManaged ||
                               ordinal == place.ordinal)
                  : kind == kCpu || kind == kCudaHost || kind == kCudaManaged;
  if (!fits)
    site.expects(placeName(place), "an array on DLPack device (" +
                                       std::to_string(kind) + ", " +
                                       std::to_string(ordinal) + ")");
  // 1 is how DLPack calls the default stream.
  nb::object capsule =
      place.isCuda ? object.attr("__dlpack__")(
                         nb::arg("stream") = stream ? stream : uint64_t(1))
                   : object.attr("__dlpack__")();
  auto *managed = static_cast<nb::dlpack::dltensor *>(
      PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed)
    throw nb::python_error();
  const nb::dlpack::dltensor &tensor = *managed;
  if (tensor.ndim > kMostRank)
    site.expects("at most " + std::to_string(kMostRank) + " axes",
                 std::to_string(tensor.ndim));
  operand.argument.rank = tensor.ndim;
  operand.argument.data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  int64_t stride = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    operand.shape[axis] = tensor.shape[axis];
    operand.strides[axis] = tensor.strides ? tensor.strides[axis] : stride;
    stride *= tensor.shape[axis];
  }
  Array array;
  array.elementName = dlpackName(tensor.dtype);
  array.element = elementOf(array.elementName);
  setElement(site, array, operand);
  operand.keep = std::move(capsule);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// To the nearest, ties to even; a NaN stays one.
uint16_t roundToBf16(double value) {
  // Rounding to odd on the way keeps the second rounding right.
  float single = float(value);
  uint32_t bits = std::bit_cast<uint32_t>(single);
  if (std::isnan(value))
    return uint16_t((bits >> 16) | 0x40);
  if (double(single) != value && !std::isinf(single)) {
    bool isAbove = std::fabs(double(single)) > std::fabs(value);
    if (isAbove)
      --bits;
    bits |= 1;
  }
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <typename T>
void store(Operand &operand, T value) {
  operand.scalar = 0;
  std::memcpy(&operand.scalar, &value, sizeof(value));
}

void storeInteger(const Site &site, int64_t value, int bits, Operand &operand) {
  int64_t least = bits == 1    ? 0
                  : bits == 64 ? INT64_MIN
                               : -(int64_t(1) << (bits - 1));
  int64_t most = bits == 1    ? 1
                 : bits == 64 ? INT64_MAX
                              : (int64_t(1) << (bits - 1)) - 1;
  if (value < least || value > most)
    site.expects(std::string("a number that fits ") +
                     dtypeName(site.info.dtype),
                 std::to_string(value));
  store(operand, value);
}

void readScalar(nb::handle object, const Site &site, Operand &operand) {
  NormcDType dtype = site.info.dtype;
  operand.argument.dtype = dtype;
  operand.argument.rank = 0;
  operand.argument.data = &operand.scalar;
  auto mismatch = [&] {
    PyErr_Clear();
    site.expects(std::string("a number for ") + dtypeName(dtype),
                 "a " + typeName(object));
  };
  if (dtype <= NORMC_BF16) {
    double value = PyFloat_AsDouble(object.ptr());
    if (value == -1 && PyErr_Occurred())
      mismatch();
    if (dtype == NORMC_F64)
      return store(operand, value);
    if (dtype == NORMC_F32)
      return store(operand, float(value));
    if (dtype == NORMC_F16)
      return store(operand, static_cast<_Float16>(value));
    return store(operand, roundToBf16(value));
  }
  nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
  if (!integer.is_valid())
    mismatch();
  int64_t value = PyLong_AsLongLong(integer.ptr());
  if (value == -1 && PyErr_Occurred())
    mismatch();
  switch (dtype) {
  case NORMC_I1:
    return storeInteger(site, value, 1, operand);
  case NORMC_I8:
    return storeInteger(site, value, 8, operand);
  case NORMC_I16:
    return storeInteger(site, value, 16, operand);
  case NORMC_I32:
    return storeInteger(site, value, 32, operand);
  case NORMC_I64:
    return storeInteger(site, value, 64, operand);
  default:
    site.fail(std::string("a scalar of ") + dtypeName(dtype) +
              " can't be given from Python");
  }
}

} // namespace

const char *normpy::dtypeName(NormcDType dtype) {
  static constexpr const char *names[] = {
      "f64",      "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU",
      "f4E2M1FN", "i1",  "i8",  "i16",  "i32",      "i64"};
  return dtype >= 0 && dtype <= NORMC_I64 ? names[dtype] : "unknown";
}

void normpy::readOperand(nb::handle object, size_t index,
                         const NormcArgumentInfo &info, Place place,
                         uint64_t stream, Operand &operand) {
  Site site{index, info};
  operand.argument.shape = operand.shape.data();
  operand.argument.strides = operand.strides.data();
  if (info.role == NORMC_SCALAR)
    return readScalar(object, site, operand);
  if (PyTypeObject *tensor = torchTensorType();
      tensor && PyObject_TypeCheck(object.ptr(), tensor))
    return readTorch(object, site, place, operand);
  if (nb::hasattr(object, "__array_interface__"))
    return readNumPy(object, site, place, operand);
  if (nb::hasattr(object, "__dlpack__"))
    return readDLPack(object, site, place, stream, operand);
  site.expects("an array", object.is_none() ? "None" : "a " + typeName(object));
}

/// Joins the axes from `begin` to `end`; false where they aren't evenly spaced.
static bool join(const Operand &operand, int begin, int end, int64_t &extent,
                 int64_t &stride) {
  extent = 1;
  stride = 1;
  for (int axis = end - 1; axis >= begin; --axis) {
    if (operand.shape[axis] == 1)
      continue;
    if (extent == 1)
      stride = operand.strides[axis];
    else if (operand.strides[axis] != stride * extent)
      return false;
    extent *= operand.shape[axis];
  }
  return true;
}

bool normpy::collapse(const NormcArgumentInfo &info, Operand &operand) {
  int rank = operand.argument.rank;
  if (info.role == NORMC_SCALAR || info.rank < 1 || info.rank > 2)
    return false;
  for (int axis = 0; axis < rank; ++axis)
    if (operand.shape[axis] == 0)
      return false;
  // The last axes that make up the columns.
  int first = rank;
  int64_t columns = 1;
  int64_t wanted = info.shape[info.rank - 1];
  if (info.rank == 1 || wanted == NORMC_ANY)
    first = info.rank == 1 ? 0 : rank - 1;
  else
    while (first > 0 && columns < wanted)
      columns *= operand.shape[--first];
  if (first < 0)
    return false;
  std::array<int64_t, 2> shape, strides;
  if (!join(operand, first, rank, shape[1], strides[1]) ||
      !join(operand, 0, first, shape[0], strides[0]) ||
      (shape[1] > 1 && strides[1] != 1))
    return false;
  if (shape[0] == 1)
    strides[0] = shape[1];
  for (int axis = 0; axis < info.rank; ++axis) {
    operand.shape[axis] = shape[2 - info.rank + axis];
    operand.strides[axis] = strides[2 - info.rank + axis];
  }
  operand.argument.rank = info.rank;
  return true;
}
