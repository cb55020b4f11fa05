//===- CopyKernel.cpp - PTX of copies -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Ceiling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace norm;
using namespace norm::bench;

namespace {

/// Writes the kernel's text. Registers: %v are vectors of four words, %i the
/// index of a vector, %p whether it lies within a stream, %q whether a vector
/// of the target is written.
class Writer {
public:
  explicit Writer(const CopyShape &shape) : shape(shape) {}

  std::string write();

private:
  void line(const llvm::Twine &text) { out += ("  " + text + "\n").str(); }
  void header();
  void index(unsigned vector);
  void load(unsigned vector);
  void store(unsigned vector);
  std::string registers(unsigned vector) const;

  const CopyShape &shape;
  std::string out;
};

std::string Writer::registers(unsigned vector) const {
  return llvm::formatv("{{%v{0}, %v{1}, %v{2}, %v{3}}", 4 * vector,
                       4 * vector + 1, 4 * vector + 2, 4 * vector + 3);
}

void Writer::header() {
  out += ".version 7.4\n.target sm_80\n.address_size 64\n\n"
         ".visible .entry norm_bench_copy(.param .u64 source, "
         ".param .u64 target,\n"
         "    .param .u64 words, .param .u64 target_words)\n";
  out += ".maxntid " + std::to_string(shape.threads) + ", 1, 1\n{\n";
  line(".reg .pred %p<" + llvm::Twine(shape.vectors) + ">, %q<" +
       llvm::Twine(shape.vectors) + ">, %m;");
  line(".reg .b32 %v<" + llvm::Twine(4 * shape.vectors) + ">, %t<4>, %x<4>;");
  line(".reg .b64 %i<" + llvm::Twine(shape.vectors) +
       ">, %source, %target, %vectors, %written, %from, %to, %j, %stride;");
  line("ld.param.u64 %source, [source];");
  line("ld.param.u64 %target, [target];");
  line("ld.param.u64 %vectors, [words];");
  line("ld.param.u64 %written, [target_words];");
  line("cvta.to.global.u64 %source, %source;");
  line("cvta.to.global.u64 %target, %target;");
  if (shape.isStreaming) {
    // As the kernels have it: what is read stays while what is written leaves.
    line(".reg .b64 %policy;");
    line("createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;");
  }
  line("shr.u64 %vectors, %vectors, 2;");
  line("shr.u64 %written, %written, 2;");
  line("mov.u32 %x0, %ctaid.x;");
  line("mov.u32 %x1, %tid.x;");
  line("cvt.u64.u32 %i0, %x1;");
  line("mul.wide.u32 %j, %x0, " + llvm::Twine(shape.threads * shape.vectors) +
       ";");
  line("add.u64 %i0, %i0, %j;");
}

void Writer::index(unsigned vector) {
  if (vector > 0)
    line(llvm::formatv("add.u64 %i{0}, %i0, {1};", vector,
                       vector * shape.threads)
             .str());
  line(llvm::formatv("setp.lt.u64 %p{0}, %i{0}, %vectors;", vector).str());
}

void Writer::load(unsigned vector) {
  for (unsigned part = 0; part < 4; ++part)
    line(llvm::formatv("mov.b32 %v{0}, 0;", 4 * vector + part).str());
  line(llvm::formatv("shl.b64 %from, %i{0}, 4;", vector).str());
  line("add.u64 %from, %source, %from;");
  line("shl.b64 %stride, %vectors, 4;");
  for (unsigned stream = 0; stream < shape.mix.reads; ++stream) {
    if (stream > 0)
      line("add.u64 %from, %from, %stride;");
    std::string to = stream == 0 ? registers(vector) : "{%t0, %t1, %t2, %t3}";
    line(llvm::formatv("@%p{0} ld.global.nc{1}.v4.u32 {2}, [%from]{3};", vector,
                       shape.isStreaming ? ".L2::cache_hint" : "", to,
                       shape.isStreaming ? ", %policy" : "")
             .str());
    for (unsigned part = 0; stream > 0 && part < 4; ++part)
      line(
          llvm::formatv("xor.b32 %v{0}, %v{0}, %t{1};", 4 * vector + part, part)
              .str());
  }
}

void Writer::store(unsigned vector) {
  if (shape.isReduction) {
    // Whether anything is stored depends on what was read, so that it must be
    // read; the value that stands for "yes" practically never occurs.
    line(llvm::formatv("xor.b32 %x2, %v{0}, %v{1};", 4 * vector, 4 * vector + 1)
             .str());
    line(llvm::formatv("xor.b32 %x3, %v{0}, %v{1};", 4 * vector + 2,
                       4 * vector + 3)
             .str());
    line("xor.b32 %x2, %x2, %x3;");
    line("setp.eq.u32 %m, %x2, 305419896;");
    line(llvm::formatv("setp.lt.u64 %q{0}, %i{0}, %written;", vector).str());
    line(llvm::formatv("selp.u64 %j, %i{0}, 0, %q{0};", vector).str());
    line(llvm::formatv("or.pred %q{0}, %q{0}, %m;", vector).str());
    line(llvm::formatv("and.pred %q{0}, %q{0}, %p{0};", vector).str());
  } else {
    line(llvm::formatv("mov.b64 %j, %i{0};", vector).str());
    line(llvm::formatv("mov.pred %q{0}, %p{0};", vector).str());
  }
  line("shl.b64 %to, %j, 4;");
  line("add.u64 %to, %target, %to;");
  line("shl.b64 %stride, %written, 4;");
  for (unsigned stream = 0; stream < shape.mix.writes; ++stream) {
    if (stream > 0)
      line("add.u64 %to, %to, %stride;");
    line(llvm::formatv("@%q{0} st.global.v4.u32 [%to], {1};", vector,
                       registers(vector))
             .str());
  }
}

std::string Writer::write() {
  header();
  for (unsigned i = 0; i < shape.vectors; ++i)
    index(i);
  for (unsigned i = 0; i < shape.vectors; ++i)
    load(i);
  for (unsigned i = 0; i < shape.vectors; ++i)
    store(i);
  line("ret;");
  out += "}\n";
  return out;
}

} // namespace

std::string bench::copyKernelPtx(const CopyShape &shape) {
  return Writer(shape).write();
}
