//===- Module.cpp - The extension module normc._normc ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C API as Python types, one to one; what is convenient is in the package.
//
//===----------------------------------------------------------------------===//

#include "Executable.h"
#include <memory>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace normpy;

namespace {

/// What compilations take, by the names of `normcOptionsSet`.
using Fields = std::vector<std::pair<std::string, std::string>>;

Handle<NormcOptions> makeOptions(const Fields &fields) {
  Handle<NormcOptions> options = create<NormcOptions>(normcOptionsCreate);
  for (const auto &[name, value] : fields) {
    char *message = nullptr;
    check(normcOptionsSet(options.get(), name.c_str(), value.c_str(), &message),
          message);
  }
  return options;
}

/// The diagnostics of one compilation.
struct Remarks {
  std::vector<std::string> texts;

  static void add(NormcSeverity severity, const char *text, void *remarks) {
    if (severity == NORMC_REMARK)
      static_cast<Remarks *>(remarks)->texts.emplace_back(text);
  }
};

class PyCompiler {
public:
  PyCompiler() : handle(create<NormcCompiler>(normcCompilerCreate)) {}

  /// Text or bytecode to code, and the remarks.
  std::pair<std::unique_ptr<PyArtifact>, std::vector<std::string>>
  compile(nb::bytes text, const std::string &name, const Fields &fields) const {
    Handle<NormcOptions> options = makeOptions(fields);
    const char *data = text.c_str();
    size_t size = text.size();
    nb::gil_scoped_release release;
    // A callback belongs to a compiler, and remarks to one compilation.
    bool explains = false;
    for (const auto &[option, value] : fields)
      explains |= option == "explain" && value == "yes";
    Handle<NormcCompiler> own;
    Remarks remarks;
    if (explains) {
      own = create<NormcCompiler>(normcCompilerCreate);
      char *message = nullptr;
      check(normcCompilerSetDiagnosticCallback(own.get(), &Remarks::add,
                                               &remarks, &message),
            message);
    }
    auto artifact =
        create<NormcArtifact>(normcCompile, own ? own.get() : handle.get(),
                              data, size, name.c_str(), options.get());
    return {std::make_unique<PyArtifact>(std::move(artifact)),
            std::move(remarks.texts)};
  }

  /// The text with the functions that were added, and what they are as JSON.
  std::pair<std::string, std::string>
  differentiate(nb::bytes text, const std::string &name,
                const std::string &options) const {
    const char *data = text.c_str();
    size_t size = text.size();
    nb::gil_scoped_release release;
    char *derived = nullptr, *description = nullptr, *message = nullptr;
    NormcStatus status =
        normcDifferentiate(handle.get(), data, size, name.c_str(),
                           options.c_str(), &derived, &description, &message);
    Handle<char> owned(derived), described(description);
    check(status, message);
    return {owned.get(), described.get()};
  }

  Handle<NormcCompiler> handle;
};

/// What a search found, as the text of a tuning file.
std::string tune(const PyDevice &device, nb::bytes text,
                 const std::string &name, const Fields &fields,
                 const std::string &calls, double seconds,
                 const std::string &file) {
  Handle<NormcOptions> options = makeOptions(fields);
  const char *data = text.c_str();
  size_t size = text.size();
  nb::gil_scoped_release release;
  char *found = nullptr, *message = nullptr;
  NormcStatus status = normcTune(
      device.handle.get(), data, size, name.c_str(), options.get(),
      calls.c_str(), seconds, file.empty() ? nullptr : file.c_str(), &found,
      &message);
  Handle<char> owned(found);
  check(status, message);
  return owned.get();
}

class PySession {
public:
  PySession(const PyCompiler &compiler, const PyDevice &device)
      : handle(create<NormcSession>(normcSessionCreate, compiler.handle.get(),
                                    device.handle.get())),
        place(device.place) {}
  ~PySession() {
    // Waits for compilations.
    nb::gil_scoped_release release;
    handle.reset();
  }

  void setMissPolicy(int policy) {
    char *message = nullptr;
    check(normcSessionSetMissPolicy(handle.get(), policy, &message), message);
  }

  /// An empty directory is the default one.
  void setDiskCache(const std::string &directory, uint64_t limit) {
    char *message = nullptr;
    check(normcSessionSetDiskCache(
              handle.get(), directory.empty() ? nullptr : directory.c_str(),
              limit, &message),
          message);
  }

  std::unique_ptr<PyExecutable> get(nb::bytes text, const std::string &name,
                                    const Fields &fields) const {
    Handle<NormcOptions> options = makeOptions(fields);
    const char *data = text.c_str();
    size_t size = text.size();
    nb::gil_scoped_release release;
    auto executable =
        create<NormcExecutable>(normcSessionGetExecutable, handle.get(), data,
                                size, name.c_str(), options.get());
    return std::make_unique<PyExecutable>(std::move(executable), place);
  }

  void prewarm(nb::bytes text, const std::string &name,
               const Fields &fields) const {
    Handle<NormcOptions> options = makeOptions(fields);
    const char *data = text.c_str();
    size_t size = text.size();
    nb::gil_scoped_release release;
    char *message = nullptr;
    check(normcSessionPrewarm(handle.get(), data, size, name.c_str(),
                              options.get(), &message),
          message);
  }

  uint64_t compileCount() const {
    return normcSessionGetCompileCount(handle.get());
  }

private:
  Handle<NormcSession> handle;
  Place place;
};

std::string buildProgram(const std::string &name, const std::string &fields) {
  return create<char>(normcBuildProgram, name.c_str(), fields.c_str()).get();
}

std::string listPrograms() { return create<char>(normcListPrograms).get(); }

/// `NormError`, an exception whose `status` is the word of a status.
void addErrors(nb::module_ &module) {
  nb::object type = nb::steal(
      PyErr_NewExceptionWithDoc("normc.NormError",
                                "What norm refuses or fails at; `status` tells "
                                "which: 'invalid program', 'invalid launch', "
                                "'miss', ...",
                                PyExc_RuntimeError, nullptr));
  type.attr("status") = "invalid argument";
  module.attr("NormError") = type;
  nb::register_exception_translator(
      [](const std::exception_ptr &pointer, void *type) {
        try {
          std::rethrow_exception(pointer);
        } catch (const Error &error) {
          nb::handle python(static_cast<PyObject *>(type));
          nb::object value = python(error.text);
          value.attr("status") = statusName(error.status);
          PyErr_SetObject(python.ptr(), value.ptr());
        }
      },
      type.inc_ref().ptr());
}

void checkAbi() {
  uint32_t version = normcGetAbiVersion();
  if (version >> 16 == NORMC_ABI_MAJOR && (version & 0xffff) >= NORMC_ABI_MINOR)
    return;
  std::string text =
      "expects libnormc of ABI " + std::to_string(NORMC_ABI_MAJOR) + "." +
      std::to_string(NORMC_ABI_MINOR) + " or newer but got " +
      std::to_string(version >> 16) + "." + std::to_string(version & 0xffff);
  throw nb::import_error(text.c_str());
}

} // namespace

NB_MODULE(_normc, module) {
  checkAbi();
  // What lives until the process ends isn't worth a message.
  nb::set_leak_warnings(false);
  addErrors(module);
  module.def("version", [] { return normcGetVersionString(); });
  module.def("build_program", &buildProgram, "name"_a, "fields"_a);
  module.def("list_programs", &listPrograms);
  module.def("tune", &tune, "device"_a, "text"_a, "name"_a, "options"_a,
             "calls"_a, "seconds"_a, "file"_a);

  nb::class_<PyDevice>(module, "Device")
      .def(nb::init<const std::string &, uint32_t, uintptr_t>(), "name"_a,
           "threads"_a = 0, "context"_a = 0)
      .def_ro("name", &PyDevice::name)
      .def_prop_ro("target", &PyDevice::target)
      .def_prop_ro("product", &PyDevice::product)
      .def_prop_ro("description", &PyDevice::description)
      .def_prop_ro("is_cuda",
                   [](const PyDevice &device) { return device.place.isCuda; })
      .def_prop_ro("ordinal",
                   [](const PyDevice &device) { return device.place.ordinal; });

  nb::class_<PyArtifact>(module, "Artifact")
      .def("__init__",
           [](PyArtifact *self, nb::bytes code, nb::bytes manifest) {
             new (self) PyArtifact(create<NormcArtifact>(
                 normcArtifactCreate, static_cast<const void *>(code.c_str()),
                 code.size(), manifest.c_str(), manifest.size()));
           })
      .def_prop_ro("code", &PyArtifact::code)
      .def_prop_ro("manifest", &PyArtifact::manifest)
      .def("load", [](const PyArtifact &artifact, const PyDevice &device) {
        nb::gil_scoped_release release;
        return std::make_unique<PyExecutable>(
            create<NormcExecutable>(normcExecutableCreate, device.handle.get(),
                                    artifact.handle.get()),
            device.place);
      });

  nb::class_<PyExecutable>(module, "Executable")
      .def(
          "launch",
          [](const PyExecutable &executable, nb::tuple arguments,
             uint64_t stream, uint64_t workspace, uint64_t workspaceSize,
             uint64_t maxCtas, bool cleared) {
            executable.launch(arguments, {stream, workspace, workspaceSize,
                                          maxCtas, cleared});
          },
          "arguments"_a, "stream"_a = 0, "workspace"_a = 0,
          "workspace_size"_a = 0, "max_ctas"_a = 0, "cleared"_a = false)
      .def("launch_rows", &PyExecutable::launchRows, "arguments"_a,
           "stream"_a = 0)
      .def("workspace_size", &PyExecutable::workspaceSize, "arguments"_a,
           "max_ctas"_a = 0)
      .def_prop_ro("manifest", &PyExecutable::manifest);

  nb::class_<PyCompiler>(module, "Compiler")
      .def(nb::init<>())
      .def("compile", &PyCompiler::compile, "text"_a, "name"_a, "options"_a)
      .def("differentiate", &PyCompiler::differentiate, "text"_a, "name"_a,
           "options"_a);

  nb::class_<PySession>(module, "Session")
      .def(nb::init<const PyCompiler &, const PyDevice &>())
      .def("set_miss_policy", &PySession::setMissPolicy)
      .def("set_disk_cache", &PySession::setDiskCache)
      .def("get", &PySession::get, "text"_a, "name"_a, "options"_a)
      .def("prewarm", &PySession::prewarm, "text"_a, "name"_a, "options"_a)
      .def_prop_ro("compile_count", &PySession::compileCount);
}
