//===- HtmlReport.h - A report as one page ----------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_HTMLREPORT_H
#define NORM_BENCH_HTMLREPORT_H

#include "norm/Bench/Results.h"

namespace norm::bench {

/// The report as one HTML page (well-formed XML as well) that needs nothing
/// else: bands, a heat map of the share of the copy by op and columns, a
/// roofline, comparisons with peers, and all results. Drawings are SVG in it.
std::string toHtml(const Report &report);

} // namespace norm::bench

#endif // NORM_BENCH_HTMLREPORT_H
