//===- Compiler.cpp - Compilers, artifacts and sessions in C --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "norm/Compiler/Assemble.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <utility>

using namespace norm;
using namespace norm::capi;

/// Compiles; the listener hears of remarks, and of each line of an error.
static llvm::Expected<Artifact> compile(NormcCompiler &compiler,
                                        llvm::StringRef text,
                                        llvm::StringRef fileName,
                                        const NormcOptions *options) {
  CompileOptions compile = optionsOf(options, /*isSession=*/false);
  llvm::Expected<Artifact> artifact =
      compiler.pool->compile(text, fileName, compile);
  if (!artifact)
    return artifact.takeError();
  for (const std::string &remark : artifact->remarks)
    compiler.listener.tell(NORMC_REMARK, remark);
  if (options && options->isCubin) {
    if (compile.target == "host" || compile.emulate)
      return makeError(NORMC_INVALID_ARGUMENT,
                       "form cubin expects a GPU target but got host");
    if (llvm::Error error = assemble(*artifact, compile.target))
      return std::move(error);
  }
  return artifact;
}

/// The error as one of an invalid program, told to the listener.
static llvm::Error tell(const Listener &listener, llvm::Error error) {
  error = withStatus(NORMC_INVALID_PROGRAM, std::move(error));
  return llvm::handleErrors(
      std::move(error), [&](std::unique_ptr<StatusError> known) -> llvm::Error {
        if (known->status == NORMC_INVALID_PROGRAM)
          for (llvm::StringRef line : llvm::split(known->text, '\n'))
            listener.tell(NORMC_ERROR, line.str());
        return llvm::Error(std::move(known));
      });
}

static llvm::StringRef nameOf(const char *fileName) {
  return fileName ? fileName : "program";
}

NormcStatus normcCompilerCreate(NormcCompiler **compiler, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(compiler, "compiler"))
      return error;
    *compiler = new NormcCompiler{std::make_shared<jit::CompilerPool>(), {}};
    return llvm::Error::success();
  });
}

NormcStatus normcCompilerSetDiagnosticCallback(NormcCompiler *compiler,
                                               NormcDiagnosticCallback callback,
                                               void *userData, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(compiler, "compiler"))
      return error;
    compiler->listener = {callback, userData};
    return llvm::Error::success();
  });
}

void normcCompilerDestroy(NormcCompiler *compiler) { delete compiler; }

NormcStatus normcCompile(NormcCompiler *compiler, const char *text,
                         size_t length, const char *fileName,
                         const NormcOptions *options, NormcArtifact **artifact,
                         char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(compiler, "compiler"),
          {text, "text"},
          {artifact, "artifact"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    *artifact = nullptr;
    llvm::Expected<Artifact> made = compile(
        *compiler, llvm::StringRef(text, length), nameOf(fileName), options);
    if (!made)
      return tell(compiler->listener, made.takeError());
    *artifact =
        new NormcArtifact{std::move(made->code), printManifest(made->manifest),
                          std::move(made->manifest)};
    return llvm::Error::success();
  });
}

static llvm::json::Object describe(const DerivedFunction &function) {
  auto list = [](llvm::ArrayRef<DerivedValue> values) {
    llvm::json::Array array;
    for (const DerivedValue &value : values)
      array.push_back(
          llvm::json::Object{{"name", value.name}, {"type", value.type}});
    return array;
  };
  return llvm::json::Object{{"entry", function.name},
                            {"arguments", list(function.arguments)},
                            {"results", list(function.results)}};
}

static std::string describe(const Derivative &derivative) {
  llvm::json::Object all{{"backward", describe(derivative.backward)}};
  if (derivative.forward)
    all["forward"] = describe(*derivative.forward);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(all));
  return text;
}

NormcStatus normcDifferentiate(NormcCompiler *compiler, const char *text,
                               size_t length, const char *fileName,
                               const char *options, char **derived,
                               char **description, char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(compiler, "compiler"),
          {text, "text"},
          {derived, "derived"},
          {description, "description"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    *derived = *description = nullptr;
    llvm::Expected<DerivativeOptions> wanted =
        parseDerivativeOptions(options ? options : "");
    if (!wanted)
      return withStatus(NORMC_INVALID_ARGUMENT, wanted.takeError());
    llvm::Expected<Derivative> derivative = compiler->pool->differentiate(
        llvm::StringRef(text, length), nameOf(fileName), *wanted);
    if (!derivative)
      return tell(compiler->listener, derivative.takeError());
    std::string described = describe(*derivative);
    *derived = copyText(derivative->text);
    try {
      *description = copyText(described);
    } catch (...) {
      normcFree(std::exchange(*derived, nullptr));
      throw;
    }
    return llvm::Error::success();
  });
}

NormcStatus normcArtifactCreate(const void *code, size_t codeSize,
                                const char *manifest, size_t manifestSize,
                                NormcArtifact **artifact, char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(code, "code"),
          {manifest, "manifest"},
          {artifact, "artifact"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    *artifact = nullptr;
    llvm::StringRef text(manifest, manifestSize);
    llvm::Expected<Manifest> parsed = parseManifest(text);
    if (!parsed)
      return withStatus(NORMC_INVALID_ARGUMENT, parsed.takeError());
    *artifact = new NormcArtifact{
        std::string(static_cast<const char *>(code), codeSize), text.str(),
        std::move(*parsed)};
    return llvm::Error::success();
  });
}

NormcStatus normcArtifactGetCode(const NormcArtifact *artifact,
                                 const void **code, size_t *size,
                                 char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(artifact, "artifact"),
          {code, "code"},
          {size, "size"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    *code = artifact->code.c_str();
    *size = artifact->code.size();
    return llvm::Error::success();
  });
}

NormcStatus normcArtifactGetManifest(const NormcArtifact *artifact,
                                     const char **text, size_t *size,
                                     char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(artifact, "artifact"),
          {text, "text"},
          {size, "size"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    *text = artifact->manifestText.c_str();
    *size = artifact->manifestText.size();
    return llvm::Error::success();
  });
}

void normcArtifactDestroy(NormcArtifact *artifact) { delete artifact; }

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

NormcStatus normcSessionCreate(NormcCompiler *compiler, NormcDevice *device,
                               NormcSession **session, char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(compiler, "compiler"),
          {device, "device"},
          {session, "session"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    Listener listener = compiler->listener;
    auto remarks = [listener](llvm::ArrayRef<std::string> lines) {
      for (const std::string &line : lines)
        listener.tell(NORMC_REMARK, line);
    };
    *session = new NormcSession{
        listener, std::make_unique<jit::Session>(compiler->pool, device->device,
                                                 remarks)};
    return llvm::Error::success();
  });
}

NormcStatus normcSessionSetMissPolicy(NormcSession *session,
                                      NormcMissPolicy policy, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(session, "session"))
      return error;
    switch (policy) {
    case NORMC_MISS_COMPILE:
      session->session->setMissPolicy(jit::MissPolicy::Compile);
      return llvm::Error::success();
    case NORMC_MISS_FALLBACK:
      session->session->setMissPolicy(jit::MissPolicy::Fallback);
      return llvm::Error::success();
    case NORMC_MISS_ERROR:
      session->session->setMissPolicy(jit::MissPolicy::Error);
      return llvm::Error::success();
    }
    return makeError(NORMC_INVALID_ARGUMENT,
                     "expects a miss policy of 0, 1 or 2 but got " +
                         llvm::Twine(policy));
  });
}

NormcStatus normcSessionSetDiskCache(NormcSession *session,
                                     const char *directory, uint64_t limit,
                                     char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(session, "session"))
      return error;
    std::string path = directory ? directory : DiskCache::defaultDirectory();
    if (path.empty() || path.front() != '/')
      return makeError(NORMC_INVALID_ARGUMENT,
                       "expects an absolute cache directory but got '" + path +
                           "'");
    session->session->setDiskCache(std::make_unique<DiskCache>(
        path, limit ? limit : DiskCache::kDefaultLimit));
    return llvm::Error::success();
  });
}

/// Checks what both kinds of requests share.
static llvm::Error checkRequest(const NormcSession *session, const char *text,
                                const NormcOptions *options) {
  if (llvm::Error error = checkPointer(session, "session"))
    return error;
  if (llvm::Error error = checkPointer(text, "text"))
    return error;
  if (options && options->isCubin)
    return makeError(NORMC_INVALID_ARGUMENT,
                     "a session expects form ptx but got cubin");
  return llvm::Error::success();
}

NormcStatus normcSessionGetExecutable(NormcSession *session, const char *text,
                                      size_t length, const char *fileName,
                                      const NormcOptions *options,
                                      NormcExecutable **executable,
                                      char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkRequest(session, text, options))
      return error;
    if (llvm::Error error = checkPointer(executable, "executable"))
      return error;
    *executable = nullptr;
    llvm::Expected<jit::Session::Program> program =
        session->session->get(llvm::StringRef(text, length), nameOf(fileName),
                              optionsOf(options, /*isSession=*/true));
    if (!program)
      return tell(session->listener, program.takeError());
    *executable = new NormcExecutable{*program};
    return llvm::Error::success();
  });
}

NormcStatus normcSessionPrewarm(NormcSession *session, const char *text,
                                size_t length, const char *fileName,
                                const NormcOptions *options, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkRequest(session, text, options))
      return error;
    llvm::Expected<jit::Session::Program> program = session->session->prewarm(
        llvm::StringRef(text, length), nameOf(fileName),
        optionsOf(options, /*isSession=*/true));
    if (!program)
      return tell(session->listener, program.takeError());
    return llvm::Error::success();
  });
}

uint64_t normcSessionGetCompileCount(const NormcSession *session) {
  return session ? session->session->compileCount() : 0;
}

void normcSessionDestroy(NormcSession *session) { delete session; }
