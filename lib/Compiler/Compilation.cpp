//===- Compilation.cpp - One text on its way to code ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"

#include "ExtentFacts.h"

#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"
#include "norm/Support/Version.h"
#include "norm/Target/Object.h"
#include "norm/Target/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>

using namespace mlir;
using namespace ::norm;

Compilation::Compilation(MLIRContext *context, StringRef text,
                         StringRef fileName, const CompileOptions &options)
    : context(context), text(text), fileName(fileName), options(options),
      diagnostics(context, fileName) {}

llvm::Error Compilation::checkOptions() {
  if (llvm::Error error = checkTargetName(options.target))
    return error;
  gpu = findGPUTarget(options.target);
  if (options.emulate && !gpu)
    return llvm::createStringError(
        "expects a GPU target for the emulated device but got " +
        options.target);
  pipelineOptions.target = options.target;
  pipelineOptions.schedule = options.schedule;
  pipelineOptions.explain = options.explain;
  pipelineOptions.math = options.math;
  ScheduleSources &sources = pipelineOptions.sources;
  sources.tuning = options.tuning;
  if (!options.usesShippedTuning)
    sources.shipped.clear();
  sources.device = options.device;
  sources.listener = [this](const ScheduleDecision &decision) {
    schedules.push_back(decision);
  };
  manifest.math = options.math;
  manifest.norm = versionString().str();
  manifest.target = options.target;
  if (!gpu)
    return llvm::Error::success();
  llvm::Expected<unsigned> version =
      choosePtxVersion(*gpu, options.ptxVersion, options.driverVersion);
  if (!version)
    return version.takeError();
  pipelineOptions.ptxVersion = *version;
  manifest.ptx = printPtxVersion(*version);
  manifest.minDriver = minDriverForPtx(*version);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

llvm::Error Compilation::parse() {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, fileName), llvm::SMLoc());
  module = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  if (!module)
    return diagnostics.takeError("expects an MLIR module");
  return llvm::Error::success();
}

auto ::norm::findEntry(ModuleOp module, StringRef wanted,
                       llvm::function_ref<bool(func::FuncOp)> isPossible)
    -> llvm::Expected<func::FuncOp> {
  SmallVector<func::FuncOp> candidates;
  SmallVector<std::string> names;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !isPossible(function))
      continue;
    if (!wanted.empty() ? function.getName() == wanted : function.isPublic())
      candidates.push_back(function);
    names.push_back(function.getName().str());
  }
  if (wanted.empty() && candidates.size() > 1)
    for (func::FuncOp function : candidates)
      if (function.getName() == "main")
        return function;
  if (candidates.size() == 1)
    return candidates.front();
  std::string all = names.empty() ? "none" : llvm::join(names, ", ");
  if (!wanted.empty())
    return llvm::createStringError("expects an entry named '" + wanted +
                                   "' but found " + all);
  return llvm::createStringError(
      "expects one public function, one named 'main', or a named entry but "
      "found " +
      all);
}

/// The name that `argument` has in the text: its location is where it's named.
StringRef Compilation::nameOf(BlockArgument argument) {
  auto place = argument.getLoc()->findInstanceOf<FileLineColLoc>();
  if (!place || place.getLine() == 0 || place.getColumn() == 0)
    return {};
  StringRef rest = text;
  for (unsigned line = 1; line < place.getLine(); ++line)
    rest = rest.split('\n').second;
  rest = rest.split('\n').first.drop_front(
      std::min<size_t>(place.getColumn() - 1, rest.size()));
  if (!rest.consume_front("%"))
    return {};
  return rest.take_while([](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-';
  });
}

std::vector<std::string>
Compilation::argumentNames(ArrayRef<BlockArgument> arguments) {
  std::vector<std::string> names;
  for (BlockArgument argument : arguments) {
    StringRef name = nameOf(argument);
    names.push_back(name.empty()
                        ? "arg" + std::to_string(argument.getArgNumber())
                        : name.str());
  }
  return names;
}

EntrySignature Compilation::makeSignature(func::FuncOp function) {
  EntrySignature made;
  made.numArguments = function.getNumArguments();
  made.names = argumentNames(llvm::to_vector(function.getArguments()));
  unsigned numResults = function.getNumResults();
  for (unsigned index = 0; index < numResults; ++index)
    made.names.push_back(numResults == 1 ? "result"
                                         : "result" + std::to_string(index));
  return made;
}

llvm::Error Compilation::selectKernel() {
  if (!gpu)
    return llvm::createStringError(
        "expects a GPU target for the kernels of the text but got host");
  if (!options.schedule.empty())
    return llvm::createStringError("expects no schedule for kernels, which "
                                   "have one already, but got '" +
                                   options.schedule + "'");
  llvm::Expected<gpu::GPUFuncOp> found = findKernel(*module, options.entry);
  if (!found)
    return found.takeError();
  kernel = *found;
  manifest.entry = kernel.getName().str();
  for (Operation &op : llvm::make_early_inc_range(*module->getBody()))
    if (&op != kernel->getParentOp())
      op.erase();
  auto device = cast<gpu::GPUModuleOp>(kernel->getParentOp());
  for (auto other : llvm::make_early_inc_range(device.getOps<gpu::GPUFuncOp>()))
    if (other != kernel)
      other.erase();
  return llvm::Error::success();
}

llvm::Error Compilation::selectEntry() {
  hasGivenKernels = hasKernels(*module);
  auto isPossible = [&](func::FuncOp function) {
    return !hasGivenKernels || hasLaunches(function);
  };
  auto isWanted = [&](func::FuncOp function) {
    return isPossible(function) &&
           (options.entry.empty() || function.getName() == options.entry);
  };
  if (hasGivenKernels &&
      llvm::none_of(module->getOps<func::FuncOp>(), isWanted))
    return selectKernel();
  const KernelLaunchOptions &launch = options.launch;
  if (launch.grid || launch.block || launch.dynamicShared != 0)
    return llvm::createStringError(
        "expects a grid, a block or shared memory only for a gpu.func that "
        "nothing launches");
  llvm::Expected<func::FuncOp> found =
      findEntry(*module, options.entry, isPossible);
  if (!found)
    return found.takeError();
  entry = *found;
  manifest.entry = entry.getName().str();
  signature = makeSignature(entry);

  for (auto function :
       llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    if (function == entry)
      continue;
    // What the entry calls is compiled as another entry.
    if (SymbolTable::symbolKnownUseEmpty(function, entry)) {
      function.erase();
      continue;
    }
    function.eraseBody();
    function.setPrivate();
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

llvm::Error
Compilation::runPasses(ModuleOp root,
                       llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(context);
#ifdef NDEBUG
  pm.enableVerifier(false);
#endif
  build(pm);
  if (failed(pm.run(root)))
    return diagnostics.takeError("compilation failed without a message");
  return llvm::Error::success();
}

llvm::Error Compilation::lowerToProgram() {
  if (llvm::Error error = runPasses(*module, [&](OpPassManager &pm) {
        mlir::norm::buildProgramPipeline(pm, pipelineOptions);
      }))
    return error;
  return options.outline ? outline() : llvm::Error::success();
}

llvm::Error Compilation::outline() {
  SmallVector<Operation *> left = mlir::norm::findForeignOps(entry);
  for (Operation *op : left)
    emitRemark(op->getLoc()) << "left '" << op->getName() << "' to the caller";
  if (llvm::Error error = runPasses(*module, mlir::norm::buildOutlinePipeline))
    return error;
  kernelModule = mlir::norm::findKernelModule(*module);
  if (!kernelModule)
    return llvm::Error::success();
  for (auto function : kernelModule.getOps<func::FuncOp>()) {
    Manifest described = manifest;
    described.entry = function.getName().str();
    outlined.push_back({function, makeSignature(function), described});
  }
  return outlined.empty() ? makeNoKernelError() : llvm::Error::success();
}

llvm::Error Compilation::lowerToScheduled() {
  if (llvm::Error error = runPasses(root(), [&](OpPassManager &pm) {
        mlir::norm::buildSchedulePipeline(pm, pipelineOptions);
      }))
    return error;
  auto learn = [&](func::FuncOp function, EntrySignature &signature) {
    mlir::FailureOr<ExtentFacts> facts = findExtentFacts(function);
    if (failed(facts))
      return failure();
    signature.extents = std::move(*facts);
    signature.inPlace = findInPlace(function);
    return success();
  };
  LogicalResult learned = success();
  if (!kernelModule)
    learned = learn(entry, signature);
  for (Function &function : outlined)
    if (succeeded(learned))
      learned = learn(function.op, function.signature);
  if (failed(learned))
    return diagnostics.takeError("the extents contradict each other");
  return llvm::Error::success();
}

llvm::Error Compilation::lowerToTiled() {
  return runPasses(root(), [&](OpPassManager &pm) {
    mlir::norm::buildBufferizePipeline(pm, pipelineOptions);
    mlir::norm::buildTilePipeline(pm);
  });
}

llvm::Error Compilation::describeGivenKernels() {
  if (kernel) {
    // Attributions are block arguments too.
    SmallVector<BlockArgument> arguments(kernel.getArguments().begin(),
                                         kernel.getArguments().end());
    if (llvm::Error error = describeKernel(kernel, argumentNames(arguments),
                                           options.launch, manifest))
      return error;
    return runPasses(*module, mlir::norm::buildHandWrittenPipeline);
  }
  if (failed(buildManifest(entry, signature, manifest)))
    return diagnostics.takeError("the launches can't be described");
  return checkVariants(*module, manifest);
}

llvm::Error Compilation::lowerToKernels() {
  if (hasGivenKernels)
    return describeGivenKernels();
  if (llvm::Error error =
          runPasses(root(), gpu ? mlir::norm::buildGPUPipeline
                                : mlir::norm::buildHostPipeline))
    return error;
  if (llvm::Error error = describeLaunches())
    return error;
  if (!gpu)
    separateHostKernels();
  return llvm::Error::success();
}

llvm::Error Compilation::describeLaunches() {
  if (!kernelModule) {
    if (failed(buildManifest(entry, signature, manifest)))
      return diagnostics.takeError("the launches can't be described");
    return manifest.kernels.empty() ? makeNoKernelError()
                                    : llvm::Error::success();
  }
  for (Function &function : outlined)
    if (failed(
            buildManifest(function.op, function.signature, function.manifest)))
      return diagnostics.takeError("the launches can't be described");
  return llvm::Error::success();
}

void Compilation::separateHostKernels() {
  hostKernels = ModuleOp::create(module->getLoc());
  for (Operation &op : llvm::make_early_inc_range(*root().getBody())) {
    if (&op == entry || llvm::any_of(outlined, [&](const Function &function) {
          return function.op == &op;
        }))
      continue;
    op.remove();
    hostKernels->push_back(&op);
  }
}

llvm::Error Compilation::lowerToLLVM() {
  if (options.emulate) {
    if (!gpuModule())
      return makeNoKernelError();
    if (llvm::Error error =
            runPasses(root(), mlir::norm::buildEmulatedPipeline))
      return error;
    separateHostKernels();
  }
  if (isForHost())
    return runPasses(*hostKernels, mlir::norm::buildHostLLVMPipeline);
  return runPasses(root(), [&](OpPassManager &pm) {
    mlir::norm::buildNVVMPipeline(pm, pipelineOptions);
  });
}

llvm::Error Compilation::lowerTo(Level level) {
  if (llvm::Error error = checkOptions())
    return error;
  if (!gpu && (level == Level::GPU || level == Level::NVVM))
    return llvm::createStringError(
        "expects a GPU target for this level but got host");

  // Kernels are beyond the levels of programs.
  auto isPassedBy = [&](Level stage) {
    return hasGivenKernels && stage > Level::Norm && stage < Level::GPU;
  };
  using Stage = llvm::Error (Compilation::*)();
  struct LevelStage {
    Level level;
    Stage stage;
  };
  static constexpr LevelStage stages[] = {
      {Level::Norm, &Compilation::parse},
      {Level::Norm, &Compilation::selectEntry},
      {Level::Program, &Compilation::lowerToProgram},
      {Level::Scheduled, &Compilation::lowerToScheduled},
      {Level::Tiled, &Compilation::lowerToTiled},
      {Level::GPU, &Compilation::lowerToKernels},
      {Level::NVVM, &Compilation::lowerToLLVM}};
  for (const LevelStage &stage : stages)
    if (stage.level <= level && !isPassedBy(stage.level))
      if (llvm::Error error = (this->*stage.stage)())
        return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// The module of the kernels; null where nothing is launched.
Operation *Compilation::gpuModule() {
  auto modules = root().getOps<gpu::GPUModuleOp>();
  return modules.empty() ? nullptr : (*modules.begin()).getOperation();
}

llvm::Error Compilation::makeNoKernelError() const {
  return llvm::createStringError(fileName +
                                 ": error: expects a computation "
                                 "in '" +
                                 manifest.entry + "' but got none");
}

llvm::Expected<std::string> Compilation::generateCode() {
  if (isForHost())
    return mlir::norm::translateToObject(*hostKernels);
  Operation *kernels = gpuModule();
  if (!kernels)
    return makeNoKernelError();
  return mlir::norm::translateToPTX(
      cast<gpu::GPUModuleOp>(kernels),
      {options.target, pipelineOptions.ptxVersion});
}

llvm::Expected<std::string> Compilation::printLLVM() {
  if (isForHost())
    return mlir::norm::translateToLLVM(*hostKernels);
  Operation *kernels = gpuModule();
  if (!kernels)
    return std::string();
  return mlir::norm::translateToLLVM(
      cast<gpu::GPUModuleOp>(kernels),
      {options.target, pipelineOptions.ptxVersion});
}

llvm::Expected<std::string>
Compilation::print(Level level, std::vector<std::string> *remarks) {
  if (llvm::Error error = lowerTo(level))
    return std::move(error);
  if (remarks)
    *remarks = diagnostics.takeRemarks();
  if (level == Level::LLVM)
    return printLLVM();
  std::string result;
  llvm::raw_string_ostream stream(result);
  module->print(stream);
  stream << "\n";
  return result;
}

llvm::Expected<Artifact> Compilation::compile() {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  Clock::time_point start = Clock::now();
  if (llvm::Error error = lowerTo(Level::LLVM))
    return std::move(error);
  Clock::time_point lowered = Clock::now();
  llvm::Expected<std::string> code = generateCode();
  if (!code)
    return code.takeError();
  CompileTimes times{Milliseconds(lowered - start).count(),
                     Milliseconds(Clock::now() - lowered).count()};
  Artifact artifact{std::move(manifest),
                    std::move(*code),
                    diagnostics.takeRemarks(),
                    std::move(schedules),
                    !hasGivenKernels,
                    {},
                    times};
  for (Function &function : outlined)
    artifact.outlined.push_back(std::move(function.manifest));
  return artifact;
}
