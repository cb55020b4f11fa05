//===- ManifestReader.cpp - JSON input of manifests -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/Manifest.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace norm;
namespace json = llvm::json;

namespace {

llvm::StringRef kindName(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::Null:
    return "null";
  case json::Value::Boolean:
    return "a boolean";
  case json::Value::Number:
    return "a number";
  case json::Value::String:
    return "a string";
  case json::Value::Array:
    return "an array";
  case json::Value::Object:
    return "an object";
  }
  return "";
}

/// A JSON value and the path that leads to it, for messages.
class Node {
public:
  Node(const json::Value &value, std::string path)
      : value(&value), path(std::move(path)) {}

  llvm::Error fail(const llvm::Twine &message) const {
    return llvm::createStringError(
        "manifest: " + llvm::Twine(path.empty() ? "document" : path.c_str()) +
        ": " + message);
  }
  llvm::Error expects(const llvm::Twine &what) const {
    return fail("expects " + what + " but got " + kindName(*value));
  }

  bool isNull() const { return value->kind() == json::Value::Null; }
  bool isObject() const { return value->kind() == json::Value::Object; }

  /// The field `key`, if there.
  std::optional<Node> find(llvm::StringRef key) const {
    const json::Object *object = value->getAsObject();
    const json::Value *field = object ? object->get(key) : nullptr;
    if (!field)
      return std::nullopt;
    return Node(*field, path.empty() ? key.str() : path + "." + key.str());
  }

  llvm::Expected<Node> field(llvm::StringRef key) const {
    if (!isObject())
      return expects("an object");
    if (std::optional<Node> node = find(key))
      return *node;
    return fail("expects a field '" + key + "' but got none");
  }

  llvm::Expected<std::vector<Node>> elements() const {
    const json::Array *array = value->getAsArray();
    if (!array)
      return expects("an array");
    std::vector<Node> nodes;
    for (size_t i = 0; i < array->size(); ++i)
      nodes.emplace_back((*array)[i], llvm::formatv("{0}[{1}]", path, i));
    return nodes;
  }

  llvm::Expected<std::string> text() const {
    if (std::optional<llvm::StringRef> string = value->getAsString())
      return string->str();
    return expects("a string");
  }

  llvm::Expected<bool> boolean() const {
    if (std::optional<bool> flag = value->getAsBoolean())
      return *flag;
    return expects("a boolean");
  }

  /// An integer from 0 to `largest`.
  llvm::Expected<uint64_t> number(uint64_t largest) const {
    std::optional<int64_t> integer = value->getAsInteger();
    if (!integer)
      return expects("an integer");
    if (*integer < 0 || uint64_t(*integer) > largest)
      return fail("expects an integer from 0 to " + llvm::Twine(largest) +
                  " but got " + llvm::Twine(*integer));
    return uint64_t(*integer);
  }

private:
  const json::Value *value;
  std::string path;
};

constexpr uint64_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMax64 = std::numeric_limits<int64_t>::max();

// One `read` per type, each filling `out` from `node`.

llvm::Error read(const Node &node, std::string &out) {
  return node.text().moveInto(out);
}

llvm::Error read(const Node &node, bool &out) {
  return node.boolean().moveInto(out);
}

llvm::Error read(const Node &node, uint64_t &out) {
  return node.number(kMax64).moveInto(out);
}

llvm::Error read(const Node &node, unsigned &out) {
  llvm::Expected<uint64_t> number = node.number(kMax32);
  if (!number)
    return number.takeError();
  out = unsigned(*number);
  return llvm::Error::success();
}

/// An extent or a stride.
llvm::Error read(const Node &node, int64_t &out) {
  if (node.isNull()) {
    out = kDynamic;
    return llvm::Error::success();
  }
  llvm::Expected<uint64_t> number = node.number(kMax64);
  if (!number)
    return number.takeError();
  out = int64_t(*number);
  return llvm::Error::success();
}

llvm::Error read(const Node &node, DType &out) {
  llvm::Expected<std::string> text = node.text();
  if (!text)
    return text.takeError();
  std::optional<DType> type = parseDType(*text);
  if (!type)
    return node.fail("expects the name of an element type but got '" + *text +
                     "'");
  out = *type;
  return llvm::Error::success();
}

llvm::Error read(const Node &node, MathMode &out) {
  llvm::Expected<std::string> text = node.text();
  if (!text)
    return text.takeError();
  llvm::Expected<MathMode> mode = parseMathMode(*text);
  if (!mode)
    return node.fail(llvm::toString(mode.takeError()));
  out = *mode;
  return llvm::Error::success();
}

llvm::Error read(const Node &node, ArgumentRole &out) {
  llvm::Expected<std::string> text = node.text();
  if (!text)
    return text.takeError();
  if (*text == "input")
    out = ArgumentRole::Input;
  else if (*text == "output")
    out = ArgumentRole::Output;
  else if (*text == "scalar")
    out = ArgumentRole::Scalar;
  else
    return node.fail("expects input, output or scalar but got '" + *text + "'");
  return llvm::Error::success();
}

template <typename T>
llvm::Error read(const Node &node, std::vector<T> &out);

/// Reads the field `key` of `node`, which must be there.
template <typename T>
llvm::Error readField(const Node &node, llvm::StringRef key, T &out) {
  llvm::Expected<Node> field = node.field(key);
  if (!field)
    return field.takeError();
  return read(*field, out);
}

/// Reads the field `key` of `node` if it is there.
template <typename T>
llvm::Error readOptional(const Node &node, llvm::StringRef key, T &out) {
  std::optional<Node> field = node.find(key);
  return field ? read(*field, out) : llvm::Error::success();
}

/// One step of a sequence of reads: any callable that gives an Error.
using Step = llvm::function_ref<llvm::Error()>;

/// Runs the steps up to the first that fails.
llvm::Error inOrder(std::initializer_list<Step> steps) {
  for (Step step : steps)
    if (llvm::Error error = step())
      return error;
  return llvm::Error::success();
}

llvm::Error read(const Node &node, BufferDim &out) {
  return inOrder({[&] { return readField(node, "buffer", out.buffer); },
                  [&] { return readField(node, "dim", out.dim); }});
}

llvm::Error read(const Node &node, BufferDims &out) {
  return inOrder({[&] { return readField(node, "buffer", out.buffer); },
                  [&] { return readField(node, "dims", out.dims); },
                  [&] { return readOptional(node, "factor", out.factor); },
                  [&] { return readOptional(node, "divisor", out.divisor); }});
}

llvm::Error read(const Node &node, std::optional<BufferDim> &out) {
  if (node.isNull()) {
    out.reset();
    return llvm::Error::success();
  }
  return read(node, out.emplace());
}

llvm::Error read(const Node &node, std::optional<uint64_t> &out) {
  return read(node, out.emplace());
}

llvm::Error read(const Node &node, std::optional<unsigned> &out) {
  return read(node, out.emplace());
}

llvm::Error read(const Node &node, Argument &out) {
  return inOrder(
      {[&] { return readField(node, "name", out.name); },
       [&] { return readField(node, "role", out.role); },
       [&] { return readField(node, "dtype", out.dtype); },
       [&] { return readField(node, "shape", out.shape); },
       [&] { return readField(node, "strides", out.strides); },
       [&] { return readField(node, "alignment", out.alignment); },
       [&] { return readField(node, "aliases", out.aliases); },
       [&] { return readOptional(node, "equals", out.equals); },
       [&] { return readOptional(node, "contiguous", out.contiguous); },
       [&] { return readOptional(node, "in_place", out.inPlace); },
       [&] { return readOptional(node, "multiples", out.multiples); }});
}

llvm::Error read(const Node &node, TemporaryExtent &out) {
  if (node.isObject())
    return inOrder(
        {[&] { return read(node, out.source.emplace()); },
         [&] { return readOptional(node, "divisor", out.divisor); }});
  llvm::Expected<uint64_t> number = node.number(kMax64);
  if (!number)
    return number.takeError();
  out.value = int64_t(*number);
  return llvm::Error::success();
}

llvm::Error read(const Node &node, Temporary &out) {
  return inOrder({[&] { return readField(node, "dtype", out.dtype); },
                  [&] { return readField(node, "shape", out.shape); },
                  [&] { return readOptional(node, "slot", out.slot); }});
}

llvm::Error read(const Node &node, Param &out) {
  std::string kind;
  if (llvm::Error error = readField(node, "kind", kind))
    return error;
  if (kind == "pointer") {
    out.kind = Param::Kind::Pointer;
    return readField(node, "buffer", out.buffer);
  }
  if (kind == "stride") {
    out.kind = Param::Kind::Stride;
    std::vector<unsigned> extents;
    return inOrder(
        {[&] { return readField(node, "buffer", out.buffer); },
         [&] { return readField(node, "dim", out.dims.emplace_back()); },
         [&] { return readOptional(node, "factor", out.factor); },
         [&] { return readOptional(node, "extents", extents); },
         [&] {
           llvm::append_range(out.dims, extents);
           return readOptional(node, "divisor", out.divisor);
         }});
  }
  if (kind == "extent") {
    out.kind = Param::Kind::Extent;
    return inOrder(
        {[&] { return readField(node, "buffer", out.buffer); },
         [&] { return readField(node, "dims", out.dims); },
         [&] { return readOptional(node, "factor", out.factor); },
         [&] { return readOptional(node, "divisor", out.divisor); }});
  }
  if (kind == "scalar") {
    out.kind = Param::Kind::Scalar;
    return readField(node, "argument", out.buffer);
  }
  if (kind == "workspace") {
    out.kind = Param::Kind::Workspace;
    return llvm::Error::success();
  }
  if (kind == "split") {
    out.kind = Param::Kind::Split;
    return llvm::Error::success();
  }
  return node.fail("expects kind pointer, stride, extent, scalar, workspace or "
                   "split but got '" +
                   kind + "'");
}

llvm::Error read(const Node &node, AlignmentRequirement &out) {
  return inOrder({[&] { return readField(node, "buffer", out.buffer); },
                  [&] { return readField(node, "alignment", out.alignment); }});
}

llvm::Error read(const Node &node, Variant &out) {
  return inOrder(
      {[&] { return readField(node, "symbol", out.symbol); },
       [&] { return readField(node, "requires", out.requirements); },
       [&] { return readField(node, "block", out.block); },
       [&] { return readField(node, "rows_per_cta", out.rowsPerCta); },
       [&] { return readField(node, "cluster", out.cluster); },
       [&] { return readField(node, "dynamic_shared", out.dynamicShared); },
       [&] { return readField(node, "static_shared", out.staticShared); },
       [&] { return readOptional(node, "registers", out.registers); },
       [&] { return readOptional(node, "spill_bytes", out.spillBytes); },
       [&] { return readOptional(node, "split", out.split); },
       [&] { return readOptional(node, "waits", out.waits); },
       [&] { return readOptional(node, "persistent", out.persistent); }});
}

llvm::Error read(const Node &node, Kernel &out) {
  return inOrder(
      {[&] { return readField(node, "program", out.program); },
       [&] { return readField(node, "order", out.order); },
       [&] { return readField(node, "schedule", out.schedule); },
       [&] { return readField(node, "reads", out.reads); },
       [&] { return readField(node, "writes", out.writes); },
       [&] { return readField(node, "rows", out.rows); },
       [&] { return readField(node, "columns", out.columns); },
       [&] { return readField(node, "params", out.params); },
       [&] { return readField(node, "variants", out.variants); },
       [&] { return readOptional(node, "grid", out.grid); },
       [&] { return readOptional(node, "slices", out.slices); },
       [&] { return readOptional(node, "counter_bytes", out.counterBytes); },
       [&] { return readOptional(node, "unit_bytes", out.unitBytes); }});
}

llvm::Error read(const Node &node, ByteRange &out) {
  return inOrder({[&] { return readField(node, "offset", out.offset); },
                  [&] { return readField(node, "bytes", out.bytes); }});
}

llvm::Error read(const Node &node, Workspace &out) {
  return inOrder({[&] { return readField(node, "bytes", out.bytes); },
                  [&] { return readField(node, "zeroed", out.zeroed); }});
}

template <typename T>
llvm::Error read(const Node &node, std::vector<T> &out) {
  llvm::Expected<std::vector<Node>> nodes = node.elements();
  if (!nodes)
    return nodes.takeError();
  for (const Node &element : *nodes)
    if (llvm::Error error = read(element, out.emplace_back()))
      return error;
  return llvm::Error::success();
}

llvm::Error readVersion(const Node &node) {
  unsigned version = 0;
  if (llvm::Error error = readField(node, "version", version))
    return error;
  if (version != kManifestVersion)
    return node.fail("expects version " + llvm::Twine(kManifestVersion) +
                     " but got " + llvm::Twine(version));
  return llvm::Error::success();
}

llvm::Error read(const Node &node, Manifest &out) {
  llvm::Error error =
      inOrder({[&] { return readVersion(node); },
               [&] { return readField(node, "norm", out.norm); },
               [&] { return readField(node, "entry", out.entry); },
               [&] { return readField(node, "target", out.target); },
               [&] { return readField(node, "ptx", out.ptx); },
               [&] { return readField(node, "min_driver", out.minDriver); },
               [&] { return readOptional(node, "math", out.math); },
               [&] { return readField(node, "arguments", out.arguments); },
               [&] { return readField(node, "temporaries", out.temporaries); },
               [&] { return readField(node, "kernels", out.kernels); },
               [&] { return readField(node, "workspace", out.workspace); }});
  return error ? std::move(error) : verifyManifest(out);
}

llvm::Expected<json::Value> parseDocument(llvm::StringRef text) {
  llvm::Expected<json::Value> document = json::parse(text);
  if (!document)
    return llvm::createStringError("manifest: " +
                                   llvm::toString(document.takeError()));
  return document;
}

} // namespace

llvm::Expected<Manifest> norm::parseManifest(llvm::StringRef text) {
  llvm::Expected<json::Value> document = parseDocument(text);
  if (!document)
    return document.takeError();
  Manifest result;
  if (llvm::Error error = read(Node(*document, ""), result))
    return std::move(error);
  return result;
}

llvm::Expected<std::vector<Manifest>>
norm::parseManifests(llvm::StringRef text) {
  llvm::Expected<json::Value> document = parseDocument(text);
  if (!document)
    return document.takeError();
  Node root(*document, "");
  std::vector<Manifest> result;
  llvm::Error error =
      !root.find("functions")
          ? read(root, result.emplace_back())
          : inOrder({[&] { return readVersion(root); },
                     [&] { return readField(root, "functions", result); }});
  if (error)
    return std::move(error);
  return result;
}
