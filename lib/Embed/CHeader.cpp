//===- CHeader.cpp - Compiled programs as a C header ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Embed/CHeader.h"
#include "EmbeddedRuntimeText.h"
#include "norm/Support/Targets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;

namespace {

// The limits of the tables in EmbeddedRuntime.h.
constexpr unsigned kMaxRank = 8, kMaxBuffers = 64, kMaxParams = 96,
                   kMaxFunctions = 32, kMaxZeroed = 4;

/// Prints the header.
class Printer {
public:
  Printer(llvm::ArrayRef<EmbeddedImage> images, llvm::raw_ostream &os)
      : images(images), first(images.front().manifest), os(os) {
    for (char c : first.entry)
      prefix += llvm::isAlnum(c) ? c : '_';
    if (llvm::isDigit(prefix.front()))
      prefix = "_" + prefix;
  }

  void print();

private:
  void printSummary();
  void printArguments();
  void printImage(unsigned index);
  void printKernel(unsigned image, unsigned index, const Kernel &kernel);
  void printTemporaries(unsigned image, const Manifest &manifest);
  void printFunctions();
  void printExtents(llvm::ArrayRef<int64_t> extents);
  void printProduct(unsigned buffer, llvm::ArrayRef<unsigned> dims,
                    uint64_t factor, uint64_t divisor);
  void printSources(llvm::ArrayRef<std::optional<BufferDim>> sources);
  /// The name of a table, as a pointer to it where `count` is given.
  std::string table(unsigned image, llvm::StringRef what,
                    size_t count = 1) const {
    if (count == 0)
      return "NULL";
    return prefix + "_" + std::to_string(image) + "_" + what.str();
  }

  llvm::ArrayRef<EmbeddedImage> images;
  const Manifest &first;
  llvm::raw_ostream &os;
  std::string prefix;
};

/// A table, unless it's empty, which C doesn't allow.
template <typename Range, typename Print>
void printTable(llvm::raw_ostream &os, llvm::StringRef type,
                const std::string &name, const Range &range, Print print) {
  if (range.empty())
    return;
  os << "static const " << type << " " << name << "[" << range.size()
     << "] = {";
  for (const auto &element : range) {
    os << "\n    {";
    print(element);
    os << "},";
  }
  os << "};\n";
}

/// As C spells it; the smallest number is a literal of its own.
std::string extent(int64_t value) {
  return value == kDynamic ? "NORM_ANY" : std::to_string(value);
}

void Printer::printExtents(llvm::ArrayRef<int64_t> extents) {
  os << "{";
  llvm::interleaveComma(extents, os,
                        [&](int64_t value) { os << extent(value); });
  os << (extents.empty() ? "0}" : "}");
}

void Printer::printSources(llvm::ArrayRef<std::optional<BufferDim>> sources) {
  os << "{";
  for (unsigned i = 0; i < kMaxRank; ++i) {
    os << (i ? ", " : "");
    if (i < sources.size() && sources[i])
      os << "{" << sources[i]->buffer << ", " << sources[i]->dim << "}";
    else
      os << "{-1, -1}";
  }
  os << "}";
}

void Printer::printProduct(unsigned buffer, llvm::ArrayRef<unsigned> dims,
                           uint64_t factor, uint64_t divisor) {
  os << "{" << buffer << ", " << dims.size() << ", {";
  llvm::interleaveComma(dims, os);
  os << (dims.empty() ? "0}, " : "}, ") << factor << ", " << divisor << "}";
}

void Printer::printSummary() {
  os << "/* " << first.entry << ", by norm " << first.norm << ", for ";
  llvm::interleaveComma(images, os, [&](const EmbeddedImage &image) {
    os << image.manifest.target << (image.isCubin ? " (cubin)" : "");
  });
  os << ".\n *\n * Arguments of a launch, results last:\n";
  for (auto [index, argument] : llvm::enumerate(first.arguments)) {
    os << " *   " << index << " " << argument.name << ": "
       << (argument.role == ArgumentRole::Input    ? "input "
           : argument.role == ArgumentRole::Output ? "output "
                                                   : "scalar ")
       << name(argument.dtype);
    os << (argument.shape.empty() ? "" : " ");
    llvm::interleave(
        argument.shape, os,
        [&](int64_t value) {
          os << (value == kDynamic ? "?" : std::to_string(value));
        },
        " x ");
    if (argument.inPlace)
      os << ", in the memory of " << *argument.inPlace;
    os << "\n";
  }
  os << " */\n";
}

void Printer::printArguments() {
  printTable(os, "norm_argument", prefix + "_arguments", first.arguments,
             [&](const Argument &argument) {
               uint64_t aliases = 0;
               for (unsigned other : argument.aliases)
                 aliases |= uint64_t(1) << other;
               os << '"';
               os.write_escaped(argument.name, /*UseHexEscapes=*/false);
               os << "\", " << int(argument.role) << ", "
                  << bitSize(argument.dtype) << ", " << argument.shape.size()
                  << ", ";
               printExtents(argument.shape);
               os << ", ";
               printExtents(argument.strides);
               os << ", " << argument.alignment << ", ";
               printSources(argument.equals);
               os << ", ";
               printExtents(std::vector<int64_t>(argument.multiples.begin(),
                                                 argument.multiples.end()));
               os << ", " << int(argument.contiguous) << ", "
                  << (argument.inPlace ? int(*argument.inPlace) : -1) << ", "
                  << aliases << "u";
             });
}

void Printer::printKernel(unsigned image, unsigned index,
                          const Kernel &kernel) {
  std::string at = std::to_string(index) + "_";
  printTable(os, "norm_param", table(image, at + "params"), kernel.params,
             [&](const Param &param) {
               os << int(param.kind) << ", ";
               printProduct(param.buffer, param.dims, param.factor,
                            param.divisor);
             });
  for (auto [number, variant] : llvm::enumerate(kernel.variants))
    printTable(os, "norm_requirement",
               table(image, at + std::to_string(number) + "_requirements"),
               variant.requirements, [&](const AlignmentRequirement &required) {
                 os << required.buffer << ", " << required.alignment;
               });
  unsigned number = 0;
  printTable(os, "norm_variant", table(image, at + "variants"), kernel.variants,
             [&](const Variant &variant) {
               os << "\"" << variant.symbol << "\", " << variant.block << ", "
                  << variant.dynamicShared << ", " << variant.staticShared
                  << ", " << variant.rowsPerCta << ", " << variant.split << ", "
                  << variant.waits << ", " << variant.requirements.size()
                  << ", "
                  << table(image,
                           at + std::to_string(number++) + "_requirements",
                           variant.requirements.size());
             });
}

void Printer::printTemporaries(unsigned image, const Manifest &manifest) {
  printTable(os, "norm_temporary", table(image, "temporaries"),
             manifest.temporaries, [&](const Temporary &temporary) {
               std::vector<int64_t> shape;
               std::vector<int64_t> divisors;
               std::vector<std::optional<BufferDim>> sources;
               for (const TemporaryExtent &given : temporary.shape) {
                 shape.push_back(given.source ? 0 : given.value);
                 sources.push_back(given.source);
                 divisors.push_back(int64_t(given.divisor));
               }
               os << bitSize(temporary.dtype) << ", " << shape.size() << ", "
                  << (temporary.slot ? int(*temporary.slot) : -1) << ", ";
               printExtents(shape);
               os << ", ";
               printSources(sources);
               os << ", ";
               printExtents(divisors);
             });
}

void Printer::printImage(unsigned index) {
  const EmbeddedImage &image = images[index];
  const Manifest &manifest = image.manifest;
  os << "\n/* " << manifest.target << " */\nstatic const unsigned char "
     << table(index, "code") << "[] = {";
  for (auto [offset, byte] : llvm::enumerate(image.code))
    os << (offset % 20 ? "" : "\n    ") << unsigned(uint8_t(byte)) << ",";
  // PTX ends in a zero.
  os << "0};\n";
  for (auto [number, kernel] : llvm::enumerate(manifest.kernels))
    printKernel(index, number, kernel);
  unsigned functions = 0, number = 0;
  printTable(os, "norm_kernel", table(index, "kernels"), manifest.kernels,
             [&](const Kernel &kernel) {
               std::string at = std::to_string(number++) + "_";
               printProduct(kernel.rows.buffer, kernel.rows.dims,
                            kernel.rows.factor, kernel.rows.divisor);
               os << ", " << kernel.grid.value_or(0) << ", " << kernel.slices
                  << ", " << kernel.counterBytes << ", " << kernel.unitBytes
                  << ", " << kernel.params.size() << ", "
                  << kernel.variants.size() << ", " << functions << ", "
                  << table(index, at + "params", kernel.params.size()) << ", "
                  << table(index, at + "variants");
               functions += kernel.variants.size();
             });
  printTemporaries(index, manifest);
}

void Printer::printFunctions() {
  os << "\nstatic const norm_image " << prefix << "_images[" << images.size()
     << "] = {";
  for (auto [index, image] : llvm::enumerate(images)) {
    const Manifest &manifest = image.manifest;
    os << "\n    {" << findGPUTarget(manifest.target)->capability() << ", "
       << manifest.minDriver << ", " << int(image.isCubin) << ", "
       << table(index, "code") << ", " << manifest.kernels.size() << ", "
       << manifest.temporaries.size() << ", "
       << manifest.workspace.zeroed.size() << ", "
       << table(index, "kernels", manifest.kernels.size()) << ", "
       << table(index, "temporaries", manifest.temporaries.size()) << ", "
       << manifest.workspace.bytes << ", {";
    llvm::interleaveComma(
        manifest.workspace.zeroed, os, [&](const ByteRange &range) {
          os << "{" << range.offset << ", " << range.bytes << "}";
        });
    os << (manifest.workspace.zeroed.empty() ? "{0, 0}}}," : "}},");
  }
  os << "};\n\nenum { " << prefix
     << "_num_arguments = " << first.arguments.size() << " };\n\n";

  os << "/* Loads the image for the device of the current context;\n"
        "   CUDA_ERROR_NO_BINARY_FOR_GPU if there is none for it. */\n"
        "NORM_UNUSED static CUresult "
     << prefix << "_load(norm_program *program) {\n  return norm_load(program, "
     << prefix << "_images, " << images.size() << ", " << prefix
     << "_arguments, " << first.arguments.size() << ");\n}\n\n";
  os << "NORM_UNUSED static CUresult " << prefix
     << "_unload(norm_program *program) {\n  return "
        "cuModuleUnload(program->module);\n}\n\n";
  os << "/* Bytes of workspace that a launch with these arguments needs. "
        "`why`, "
        "if\n   not null, receives what is wrong with them, or null. */\n"
        "NORM_UNUSED static CUresult "
     << prefix << "_workspace_size(const norm_program *program,\n"
     << "    const norm_tensor *arguments, size_t *bytes, const char **why) {\n"
     << "  return norm_workspace_size(program, arguments, bytes, why);\n}\n\n";
  os << "/* Enqueues the kernels on the stream. The workspace is at a multiple "
        "of\n"
        "   256, and this stream's alone; 0 if none is needed. */\n"
        "NORM_UNUSED static CUresult "
     << prefix << "_launch(const norm_program *program,\n"
     << "    const norm_tensor *arguments, CUdeviceptr workspace,\n"
     << "    size_t workspace_size, CUstream stream, const char **why) {\n"
     << "  return norm_launch(program, arguments, workspace, workspace_size, "
        "stream,\n                     why);\n}\n";
}

void Printer::print() {
  printSummary();
  os << "\n" << kEmbeddedRuntime << "\n";
  std::string guard = "NORM_PROGRAM_" + llvm::StringRef(prefix).upper();
  os << "#ifndef " << guard << "\n#define " << guard << "\n\n";
  printArguments();
  for (unsigned index = 0; index < images.size(); ++index)
    printImage(index);
  printFunctions();
  os << "\n#endif /* " << guard << " */\n";
}

llvm::Error limit(llvm::StringRef what, size_t got, size_t most) {
  if (got <= most)
    return llvm::Error::success();
  return llvm::createStringError("c-header expects at most " +
                                 llvm::Twine(most) + " " + what + " but got " +
                                 llvm::Twine(got));
}

llvm::Error checkKernels(const Manifest &manifest) {
  size_t functions = 0;
  for (const Kernel &kernel : manifest.kernels) {
    functions += kernel.variants.size();
    if (llvm::Error error =
            limit("parameters of a kernel", kernel.params.size(), kMaxParams))
      return error;
    for (const Variant &variant : kernel.variants)
      if (variant.cluster != 1)
        return llvm::createStringError(
            "c-header expects kernels without clusters but '" + variant.symbol +
            "' has clusters of " + llvm::Twine(variant.cluster));
  }
  return limit("kernels and variants", functions, kMaxFunctions);
}

llvm::Error checkImage(const EmbeddedImage &image, const Manifest &first) {
  const Manifest &manifest = image.manifest;
  if (!findGPUTarget(manifest.target))
    return llvm::createStringError("c-header expects GPU targets but got " +
                                   manifest.target);
  if (manifest.entry != first.entry || manifest.arguments != first.arguments)
    return llvm::createStringError(
        "c-header expects one function with the same arguments for all targets "
        "but " +
        manifest.target + " differs from " + first.target);
  size_t rank = 0;
  for (unsigned buffer = 0; buffer < manifest.numBuffers(); ++buffer)
    rank = std::max<size_t>(rank, manifest.rank(buffer));
  if (llvm::Error error = limit("axes", rank, kMaxRank))
    return error;
  if (llvm::Error error = limit("arguments and temporaries",
                                manifest.numBuffers(), kMaxBuffers))
    return error;
  if (llvm::Error error = limit("ranges of counters",
                                manifest.workspace.zeroed.size(), kMaxZeroed))
    return error;
  return checkKernels(manifest);
}

/// Leaves out the variants that need clusters, which the header's launches
/// don't have, where others do the same.
void dropClusters(Manifest &manifest) {
  for (Kernel &kernel : manifest.kernels) {
    auto isCluster = [](const Variant &variant) {
      return variant.cluster != 1;
    };
    if (llvm::all_of(kernel.variants, isCluster) ||
        llvm::none_of(kernel.variants, isCluster))
      continue;
    llvm::erase_if(kernel.variants, isCluster);
    // From which clusters draw rows.
    kernel.counterBytes = 0;
  }
}

} // namespace

llvm::Expected<std::string>
norm::printCHeader(llvm::ArrayRef<EmbeddedImage> given) {
  if (given.empty())
    return llvm::createStringError("c-header expects a target but got none");
  std::vector<EmbeddedImage> images = given.vec();
  for (EmbeddedImage &image : images)
    dropClusters(image.manifest);
  for (const EmbeddedImage &image : images)
    if (llvm::Error error = checkImage(image, images.front().manifest))
      return std::move(error);
  std::string text;
  llvm::raw_string_ostream stream(text);
  Printer(images, stream).print();
  return text;
}
