//===- Manifest.cpp - Checks and JSON output of manifests -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/Manifest.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace norm;
namespace json = llvm::json;

unsigned Manifest::rank(unsigned buffer) const {
  return buffer < arguments.size()
             ? unsigned(arguments[buffer].shape.size())
             : unsigned(temporaries[buffer - arguments.size()].shape.size());
}

std::optional<std::pair<unsigned, unsigned>>
Manifest::lifetime(unsigned buffer) const {
  std::optional<std::pair<unsigned, unsigned>> used;
  for (unsigned i = 0; i < kernels.size(); ++i)
    if (llvm::is_contained(kernels[i].reads, buffer) ||
        llvm::is_contained(kernels[i].writes, buffer))
      used = {used ? used->first : i, i};
  return used;
}

DType Manifest::dtype(unsigned buffer) const {
  return buffer < arguments.size()
             ? arguments[buffer].dtype
             : temporaries[buffer - arguments.size()].dtype;
}

std::string Manifest::describe(unsigned buffer) const {
  if (buffer < arguments.size())
    return llvm::formatv("argument {0} '{1}'", buffer, arguments[buffer].name);
  return llvm::formatv("temporary {0}", buffer - arguments.size());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

llvm::Error fail(const llvm::Twine &path, const llvm::Twine &message) {
  return llvm::createStringError("manifest: " + path + ": " + message);
}

/// Checks one manifest; every method names the field by its path.
class Verifier {
public:
  explicit Verifier(const Manifest &manifest) : manifest(manifest) {}

  llvm::Error run();

private:
  llvm::Error argument(unsigned index);
  llvm::Error inPlace(const llvm::Twine &path, const Argument &arg);
  llvm::Error temporary(unsigned index);
  llvm::Error slot(unsigned index);
  llvm::Error kernel(unsigned index);
  llvm::Error param(const std::string &path, const Param &param,
                    const Kernel &kernel);
  llvm::Error variant(const std::string &path, const Variant &variant,
                      const Kernel &kernel);
  llvm::Error workspace();

  llvm::Error buffer(const llvm::Twine &path, unsigned buffer);
  llvm::Error tensor(const llvm::Twine &path, unsigned buffer);
  llvm::Error dims(const llvm::Twine &path, const BufferDims &dims);
  llvm::Error powerOfTwo(const llvm::Twine &path, uint64_t value);
  bool isScalar(unsigned buffer) const {
    return buffer < manifest.arguments.size() &&
           manifest.arguments[buffer].role == ArgumentRole::Scalar;
  }

  const Manifest &manifest;
};

llvm::Error Verifier::buffer(const llvm::Twine &path, unsigned buffer) {
  if (buffer < manifest.numBuffers())
    return llvm::Error::success();
  return fail(path, "expects a buffer index below " +
                        llvm::Twine(manifest.numBuffers()) + " but got " +
                        llvm::Twine(buffer));
}

llvm::Error Verifier::tensor(const llvm::Twine &path, unsigned index) {
  if (llvm::Error error = buffer(path, index))
    return error;
  if (isScalar(index))
    return fail(path,
                "expects a tensor but got scalar " + manifest.describe(index));
  return llvm::Error::success();
}

llvm::Error Verifier::dims(const llvm::Twine &path, const BufferDims &value) {
  if (llvm::Error error = tensor(path + ".buffer", value.buffer))
    return error;
  unsigned rank = manifest.rank(value.buffer);
  for (unsigned dim : value.dims)
    if (dim >= rank)
      return fail(path + ".dims", "expects dims below the rank " +
                                      llvm::Twine(rank) + " but got " +
                                      llvm::Twine(dim));
  if (value.divisor == 0)
    return fail(path + ".divisor", "expects 1 or more but got 0");
  return llvm::Error::success();
}

llvm::Error Verifier::powerOfTwo(const llvm::Twine &path, uint64_t value) {
  if (llvm::isPowerOf2_64(value))
    return llvm::Error::success();
  return fail(path, "expects a power of two but got " + llvm::Twine(value));
}

llvm::Error Verifier::argument(unsigned index) {
  const Argument &arg = manifest.arguments[index];
  std::string path = llvm::formatv("arguments[{0}]", index);
  if (arg.role == ArgumentRole::Scalar && !arg.shape.empty())
    return fail(path + ".shape", "expects no extents for a scalar but got " +
                                     llvm::Twine(arg.shape.size()));
  if (arg.strides.size() != arg.shape.size())
    return fail(path + ".strides", "expects one stride per extent (" +
                                       llvm::Twine(arg.shape.size()) +
                                       ") but got " +
                                       llvm::Twine(arg.strides.size()));
  for (int64_t extent : arg.shape)
    if (extent != kDynamic && extent < 0)
      return fail(path + ".shape", "expects extents of 0 or more but got " +
                                       llvm::Twine(extent));
  for (int64_t stride : arg.strides)
    if (stride != kDynamic && stride < 0)
      return fail(path + ".strides", "expects strides of 0 or more but got " +
                                         llvm::Twine(stride));
  if (llvm::Error error = powerOfTwo(path + ".alignment", arg.alignment))
    return error;
  for (unsigned other : arg.aliases)
    if (other >= manifest.arguments.size() || other == index ||
        isScalar(other) || isScalar(index))
      return fail(path + ".aliases",
                  "expects indices of other tensor arguments but got " +
                      llvm::Twine(other));
  if (arg.inPlace)
    if (llvm::Error error = inPlace(path + ".in_place", arg))
      return error;
  if (!arg.multiples.empty() && arg.multiples.size() != arg.shape.size())
    return fail(path + ".multiples", "expects one entry per extent (" +
                                         llvm::Twine(arg.shape.size()) +
                                         ") but got " +
                                         llvm::Twine(arg.multiples.size()));
  if (llvm::is_contained(arg.multiples, 0u))
    return fail(path + ".multiples", "expects 1 or more but got 0");
  if (arg.equals.empty())
    return llvm::Error::success();
  if (arg.equals.size() != arg.shape.size())
    return fail(path + ".equals", "expects one entry per extent (" +
                                      llvm::Twine(arg.shape.size()) +
                                      ") but got " +
                                      llvm::Twine(arg.equals.size()));
  for (const std::optional<BufferDim> &source : arg.equals) {
    if (!source)
      continue;
    if (source->buffer >= index)
      return fail(path + ".equals", "expects an earlier argument but got " +
                                        llvm::Twine(source->buffer));
    if (llvm::Error error =
            dims(path + ".equals", {source->buffer, {source->dim}}))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Verifier::inPlace(const llvm::Twine &path, const Argument &arg) {
  unsigned other = *arg.inPlace;
  if (arg.role != ArgumentRole::Output || other >= manifest.arguments.size() ||
      manifest.arguments[other].role != ArgumentRole::Input)
    return fail(path, "expects an input, in place of which the output is "
                      "written, but got " +
                          llvm::Twine(other));
  if (!llvm::is_contained(arg.aliases, other))
    return fail(path,
                "expects one of the aliases but got " + llvm::Twine(other));
  return llvm::Error::success();
}

/// Temporaries of one slot are used one after the other.
llvm::Error Verifier::slot(unsigned index) {
  unsigned numArguments = manifest.arguments.size();
  std::string path = llvm::formatv("temporaries[{0}].slot", index);
  const std::optional<unsigned> &slot = manifest.temporaries[index].slot;
  if (slot && *slot >= manifest.temporaries.size())
    return fail(path, "expects fewer slots than temporaries (" +
                          llvm::Twine(manifest.temporaries.size()) +
                          ") but got slot " + llvm::Twine(*slot));
  auto own = manifest.lifetime(numArguments + index);
  for (unsigned other = 0; own && slot && other < index; ++other) {
    auto used = manifest.lifetime(numArguments + other);
    if (manifest.temporaries[other].slot == slot && used &&
        own->first <= used->second && used->first <= own->second)
      return fail(path, "expects memory that is free from kernel " +
                            llvm::Twine(own->first) + " to " +
                            llvm::Twine(own->second) + " but temporary " +
                            llvm::Twine(other) + " is there");
  }
  return llvm::Error::success();
}

llvm::Error Verifier::temporary(unsigned index) {
  std::string path = llvm::formatv("temporaries[{0}].shape", index);
  for (const TemporaryExtent &extent : manifest.temporaries[index].shape) {
    if (!extent.source) {
      if (extent.value < 0)
        return fail(path, "expects extents of 0 or more but got " +
                              llvm::Twine(extent.value));
      continue;
    }
    if (extent.source->buffer >= manifest.arguments.size())
      return fail(path, "expects the extent of an argument but got buffer " +
                            llvm::Twine(extent.source->buffer));
    if (llvm::Error error = dims(
            path,
            {extent.source->buffer, {extent.source->dim}, 1, extent.divisor}))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Verifier::param(const std::string &path, const Param &param,
                            const Kernel &kernel) {
  switch (param.kind) {
  case Param::Kind::Pointer:
    return tensor(path + ".buffer", param.buffer);
  case Param::Kind::Stride:
    if (param.dims.empty())
      return fail(path + ".dims", "expects a dim for a stride but got none");
    [[fallthrough]];
  case Param::Kind::Extent:
    return dims(path, {param.buffer, param.dims, param.factor, param.divisor});
  case Param::Kind::Scalar:
    if (llvm::Error error = buffer(path + ".argument", param.buffer))
      return error;
    if (!isScalar(param.buffer))
      return fail(path + ".argument", "expects a scalar but got " +
                                          manifest.describe(param.buffer));
    return llvm::Error::success();
  case Param::Kind::Workspace:
    // Of 0 bytes, it is an address that the kernel doesn't use.
    return llvm::Error::success();
  case Param::Kind::Split:
    return llvm::Error::success();
  }
  return llvm::Error::success();
}

llvm::Error Verifier::variant(const std::string &path, const Variant &variant,
                              const Kernel &kernel) {
  if (variant.symbol.empty())
    return fail(path + ".symbol", "expects a name but got an empty text");
  for (const AlignmentRequirement &need : variant.requirements) {
    if (llvm::Error error = tensor(path + ".requires.buffer", need.buffer))
      return error;
    if (llvm::Error error =
            powerOfTwo(path + ".requires.alignment", need.alignment))
      return error;
  }
  if (variant.block == 0 || variant.block > 1024)
    return fail(path + ".block", "expects 1 to 1024 threads but got " +
                                     llvm::Twine(variant.block));
  if (variant.cluster == 0 || variant.cluster > 16)
    return fail(path + ".cluster",
                "expects 1 to 16 CTAs but got " + llvm::Twine(variant.cluster));
  if (variant.rowsPerCta == 0)
    return fail(path + ".rows_per_cta", "expects 1 or more but got 0");
  if (variant.persistent && (variant.split != 1 || kernel.grid))
    return fail(path + ".persistent",
                "expects rows that no CTAs share by a counter, and no grid");
  if (variant.split == 1)
    return llvm::Error::success();
  if (variant.split != 0)
    if (llvm::Error error = powerOfTwo(path + ".split", variant.split))
      return error;
  if (variant.split > kernel.slices)
    return fail(path + ".split", "expects at most as many CTAs as slices (" +
                                     llvm::Twine(kernel.slices) + ") but got " +
                                     llvm::Twine(variant.split));
  if (variant.cluster != 1)
    return fail(path + ".cluster", "expects 1 CTA where rows are split but "
                                   "got " +
                                       llvm::Twine(variant.cluster));
  if (kernel.grid)
    return fail(path + ".split",
                "expects 1 where the kernel has a grid but got " +
                    llvm::Twine(variant.split));
  return llvm::Error::success();
}

llvm::Error Verifier::kernel(unsigned index) {
  const Kernel &kernel = manifest.kernels[index];
  std::string path = llvm::formatv("kernels[{0}]", index);
  for (unsigned read : kernel.reads)
    if (llvm::Error error = tensor(path + ".reads", read))
      return error;
  for (unsigned write : kernel.writes) {
    if (llvm::Error error = tensor(path + ".writes", write))
      return error;
    if (write < manifest.arguments.size() &&
        manifest.arguments[write].role != ArgumentRole::Output)
      return fail(path + ".writes", "expects outputs and temporaries but got " +
                                        manifest.describe(write));
  }
  if (llvm::Error error = dims(path + ".rows", kernel.rows))
    return error;
  if (llvm::Error error = dims(path + ".columns", kernel.columns))
    return error;
  for (size_t i = 0; i < kernel.params.size(); ++i)
    if (llvm::Error error = param(llvm::formatv("{0}.params[{1}]", path, i),
                                  kernel.params[i], kernel))
      return error;
  if (llvm::Error error = powerOfTwo(path + ".slices", kernel.slices))
    return error;
  if (kernel.grid && *kernel.grid == 0)
    return fail(path + ".grid", "expects 1 or more CTAs but got 0");
  if (kernel.variants.empty())
    return fail(path + ".variants", "expects at least one variant but got 0");
  for (size_t i = 0; i < kernel.variants.size(); ++i)
    if (llvm::Error error = variant(llvm::formatv("{0}.variants[{1}]", path, i),
                                    kernel.variants[i], kernel))
      return error;
  return llvm::Error::success();
}

llvm::Error Verifier::workspace() {
  const Workspace &space = manifest.workspace;
  for (const ByteRange &range : space.zeroed)
    if (range.offset > space.bytes || range.bytes > space.bytes - range.offset)
      return fail("workspace.zeroed",
                  "expects ranges within " + llvm::Twine(space.bytes) +
                      " bytes but got " + llvm::Twine(range.bytes) +
                      " bytes at " + llvm::Twine(range.offset));
  return llvm::Error::success();
}

llvm::Error Verifier::run() {
  llvm::StringRef target = manifest.target;
  if (target != "host" && target != "emulated" && !target.starts_with("sm_"))
    return fail("target",
                "expects host, emulated or sm_NN but got '" + target + "'");
  for (unsigned i = 0; i < manifest.arguments.size(); ++i)
    if (llvm::Error error = argument(i))
      return error;
  for (unsigned i = 0; i < manifest.temporaries.size(); ++i)
    if (llvm::Error error = temporary(i))
      return error;
  for (unsigned i = 0; i < manifest.kernels.size(); ++i)
    if (llvm::Error error = kernel(i))
      return error;
  for (unsigned i = 0; i < manifest.temporaries.size(); ++i)
    if (llvm::Error error = slot(i))
      return error;
  return workspace();
}

//===----------------------------------------------------------------------===//
// JSON output
//===----------------------------------------------------------------------===//

json::Array toArray(llvm::ArrayRef<unsigned> values) {
  json::Array array;
  for (unsigned value : values)
    array.push_back(int64_t(value));
  return array;
}

/// Extents or strides, `null` for dynamic ones.
json::Array toDynamicArray(llvm::ArrayRef<int64_t> values) {
  json::Array array;
  for (int64_t value : values)
    array.push_back(value == kDynamic ? json::Value(nullptr)
                                      : json::Value(value));
  return array;
}

json::Object toObject(const BufferDim &value) {
  return json::Object{{"buffer", int64_t(value.buffer)},
                      {"dim", int64_t(value.dim)}};
}

json::Object toObject(const BufferDims &value) {
  json::Object object{{"buffer", int64_t(value.buffer)},
                      {"dims", toArray(value.dims)}};
  if (value.factor != 1)
    object["factor"] = int64_t(value.factor);
  if (value.divisor != 1)
    object["divisor"] = int64_t(value.divisor);
  return object;
}

llvm::StringRef roleName(ArgumentRole role) {
  switch (role) {
  case ArgumentRole::Input:
    return "input";
  case ArgumentRole::Output:
    return "output";
  case ArgumentRole::Scalar:
    return "scalar";
  }
  return "";
}

json::Object toObject(const Argument &arg) {
  json::Object object{{"name", arg.name},
                      {"role", roleName(arg.role)},
                      {"dtype", name(arg.dtype)},
                      {"shape", toDynamicArray(arg.shape)},
                      {"strides", toDynamicArray(arg.strides)},
                      {"alignment", int64_t(arg.alignment)},
                      {"aliases", toArray(arg.aliases)}};
  if (!arg.equals.empty()) {
    json::Array equals;
    for (const std::optional<BufferDim> &source : arg.equals)
      equals.push_back(source ? json::Value(toObject(*source))
                              : json::Value(nullptr));
    object["equals"] = std::move(equals);
  }
  if (arg.contiguous)
    object["contiguous"] = true;
  if (arg.inPlace)
    object["in_place"] = int64_t(*arg.inPlace);
  if (!arg.multiples.empty())
    object["multiples"] = json::Array(arg.multiples);
  return object;
}

json::Object toObject(const Temporary &temporary) {
  json::Array shape;
  for (const TemporaryExtent &extent : temporary.shape) {
    if (!extent.source) {
      shape.push_back(extent.value);
      continue;
    }
    json::Object source = toObject(*extent.source);
    if (extent.divisor != 1)
      source["divisor"] = int64_t(extent.divisor);
    shape.push_back(std::move(source));
  }
  json::Object object{{"dtype", name(temporary.dtype)},
                      {"shape", std::move(shape)}};
  if (temporary.slot)
    object["slot"] = int64_t(*temporary.slot);
  return object;
}

json::Object toObject(const Param &param) {
  int64_t buffer = param.buffer;
  switch (param.kind) {
  case Param::Kind::Pointer:
    return json::Object{{"kind", "pointer"}, {"buffer", buffer}};
  case Param::Kind::Stride: {
    json::Object object{
        {"kind", "stride"},
        {"buffer", buffer},
        {"dim", int64_t(param.dims.empty() ? 0 : param.dims.front())}};
    if (param.factor != 1)
      object["factor"] = int64_t(param.factor);
    if (param.dims.size() > 1)
      object["extents"] =
          toArray(std::vector(param.dims.begin() + 1, param.dims.end()));
    if (param.divisor != 1)
      object["divisor"] = int64_t(param.divisor);
    return object;
  }
  case Param::Kind::Extent: {
    json::Object object = toObject(
        BufferDims{param.buffer, param.dims, param.factor, param.divisor});
    object["kind"] = "extent";
    return object;
  }
  case Param::Kind::Scalar:
    return json::Object{{"kind", "scalar"}, {"argument", buffer}};
  case Param::Kind::Workspace:
    return json::Object{{"kind", "workspace"}};
  case Param::Kind::Split:
    return json::Object{{"kind", "split"}};
  }
  return {};
}

json::Object toObject(const Variant &variant) {
  json::Array requirements;
  for (const AlignmentRequirement &need : variant.requirements)
    requirements.push_back(
        json::Object{{"buffer", int64_t(need.buffer)},
                     {"alignment", int64_t(need.alignment)}});
  json::Object object{{"symbol", variant.symbol},
                      {"requires", std::move(requirements)},
                      {"block", int64_t(variant.block)},
                      {"rows_per_cta", int64_t(variant.rowsPerCta)},
                      {"cluster", int64_t(variant.cluster)},
                      {"dynamic_shared", int64_t(variant.dynamicShared)},
                      {"static_shared", int64_t(variant.staticShared)}};
  if (variant.registers)
    object["registers"] = int64_t(*variant.registers);
  if (variant.spillBytes)
    object["spill_bytes"] = int64_t(*variant.spillBytes);
  if (variant.split != 1)
    object["split"] = int64_t(variant.split);
  if (variant.waits)
    object["waits"] = int64_t(variant.waits);
  if (variant.persistent)
    object["persistent"] = true;
  return object;
}

json::Object toObject(const ByteRange &range) {
  return json::Object{{"offset", int64_t(range.offset)},
                      {"bytes", int64_t(range.bytes)}};
}

json::Object toObject(const Kernel &kernel);

template <typename T>
json::Array toObjects(llvm::ArrayRef<T> values) {
  json::Array array;
  for (const T &value : values)
    array.push_back(toObject(value));
  return array;
}

json::Object toObject(const Kernel &kernel) {
  json::Object object{{"program", kernel.program},
                      {"order", kernel.order},
                      {"schedule", kernel.schedule},
                      {"reads", toArray(kernel.reads)},
                      {"writes", toArray(kernel.writes)},
                      {"rows", toObject(kernel.rows)},
                      {"columns", toObject(kernel.columns)},
                      {"params", toObjects<Param>(kernel.params)},
                      {"variants", toObjects<Variant>(kernel.variants)}};
  if (kernel.grid)
    object["grid"] = int64_t(*kernel.grid);
  if (kernel.slices != 1)
    object["slices"] = int64_t(kernel.slices);
  if (kernel.counterBytes != 0)
    object["counter_bytes"] = int64_t(kernel.counterBytes);
  if (kernel.unitBytes != 0)
    object["unit_bytes"] = int64_t(kernel.unitBytes);
  return object;
}

} // namespace

llvm::Error norm::verifyManifest(const Manifest &manifest) {
  return Verifier(manifest).run();
}

json::Value norm::toJSON(const Manifest &manifest) {
  json::Object object{
      {"norm", manifest.norm},
      {"version", int64_t(kManifestVersion)},
      {"entry", manifest.entry},
      {"target", manifest.target},
      {"ptx", manifest.ptx},
      {"min_driver", int64_t(manifest.minDriver)},
      {"arguments", toObjects<Argument>(manifest.arguments)},
      {"temporaries", toObjects<Temporary>(manifest.temporaries)},
      {"kernels", toObjects<Kernel>(manifest.kernels)},
      {"workspace", json::Object{{"bytes", int64_t(manifest.workspace.bytes)},
                                 {"zeroed", toObjects<ByteRange>(
                                                manifest.workspace.zeroed)}}}};
  if (manifest.math != MathMode::Exact)
    object["math"] = toString(manifest.math);
  return object;
}

std::string norm::printManifest(const Manifest &manifest) {
  return llvm::formatv("{0:2}\n", toJSON(manifest));
}

std::string norm::printManifests(llvm::ArrayRef<Manifest> manifests) {
  json::Array functions;
  for (const Manifest &manifest : manifests)
    functions.push_back(toJSON(manifest));
  json::Value document =
      json::Object{{"norm", manifests.empty() ? "" : manifests.front().norm},
                   {"version", int64_t(kManifestVersion)},
                   {"functions", std::move(functions)}};
  return llvm::formatv("{0:2}\n", document);
}
