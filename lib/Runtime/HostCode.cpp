//===- HostCode.cpp - Host objects linked into the process ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"
#include "SupportRoutines.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace norm;
namespace orc = llvm::orc;

/// The JIT session that owns the linked code. Only ORC's object layer is used:
/// no target needs to be registered and nothing is compiled here.
struct HostCode::Session {
  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> control)
      : session(std::move(control)), linker(session) {
    // By default the session prints errors that have no caller.
    session.setErrorReporter([this](llvm::Error error) {
      reported +=
          (reported.empty() ? "" : "; ") + llvm::toString(std::move(error));
    });
  }
  ~Session() { llvm::consumeError(session.endSession()); }

  /// `error` and what the session reported meanwhile, as one message.
  llvm::Error describe(llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    if (!reported.empty())
      text += ": " + reported;
    return llvm::createStringError("cannot link the host object: " +
                                   llvm::Twine(text));
  }

  std::string reported;
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer linker;
  orc::JITDylib *kernels = nullptr; ///< the object's symbols
};

HostCode::HostCode(std::unique_ptr<Session> session)
    : session(std::move(session)) {}

HostCode::~HostCode() = default;

static llvm::Error defineSupport(orc::ExecutionSession &session,
                                 orc::JITDylib &library,
                                 llvm::ArrayRef<SupportRoutine> routines) {
  orc::SymbolMap symbols;
  for (llvm::ArrayRef<SupportRoutine> list : {supportRoutines(), routines})
    for (const SupportRoutine &routine : list)
      symbols[session.intern(routine.name)] = {
          orc::ExecutorAddr::fromPtr(routine.address),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (llvm::Error error =
          library.define(orc::absoluteSymbols(std::move(symbols))))
    return error;
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<HostCode>>
HostCode::link(llvm::StringRef object, const Manifest &manifest,
               llvm::ArrayRef<SupportRoutine> routines) {
  auto control = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!control)
    return control.takeError();
  std::shared_ptr<HostCode> code(
      new HostCode(std::make_unique<Session>(std::move(*control))));
  Session &session = *code->session;
  // Support in a library of its own: the object may define the same names.
  orc::JITDylib &support = session.session.createBareJITDylib("support");
  orc::JITDylib &library = session.session.createBareJITDylib("kernels");
  session.kernels = &library;
  library.addToLinkOrder(support);
  if (llvm::Error error = defineSupport(session.session, support,
                                        routines))
    return session.describe(std::move(error));
  if (llvm::Error error = session.linker.add(
          library, llvm::MemoryBuffer::getMemBufferCopy(object, "kernels")))
    return session.describe(std::move(error));
  for (const Kernel &kernel : manifest.kernels) {
    std::vector<HostKernel *> &entries = code->entries.emplace_back();
    for (const Variant &variant : kernel.variants) {
      llvm::Expected<orc::ExecutorSymbolDef> symbol =
          session.session.lookup({&library}, variant.symbol);
      if (!symbol)
        return session.describe(symbol.takeError());
      entries.push_back(symbol->toPtr<HostKernel *>());
    }
  }
  return code;
}

llvm::Expected<void *> HostCode::find(llvm::StringRef symbol) const {
  llvm::Expected<orc::ExecutorSymbolDef> found =
      session->session.lookup({session->kernels}, symbol);
  if (!found)
    return session->describe(found.takeError());
  return found->toPtr<void *>();
}
