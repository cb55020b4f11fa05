//===- NormRunReport.cpp - The report of a run ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/NormRunReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace norm;
using namespace norm::tools;
namespace json = llvm::json;

namespace {

struct Column {
  std::string title;
  bool number;
  std::vector<std::string> cells;
};

void print(llvm::raw_ostream &os, llvm::ArrayRef<Column> columns) {
  std::vector<size_t> widths;
  for (const Column &column : columns) {
    size_t width = column.title.size();
    for (const std::string &cell : column.cells)
      width = std::max(width, cell.size());
    widths.push_back(width);
  }
  auto line = [&](llvm::function_ref<llvm::StringRef(const Column &)> text) {
    std::string out;
    for (auto [column, width] : llvm::zip(columns, widths)) {
      if (!out.empty())
        out += "  ";
      llvm::StringRef cell = text(column);
      std::string padding(width - cell.size(), ' ');
      out += column.number ? padding + cell.str() : cell.str() + padding;
    }
    os << llvm::StringRef(out).rtrim() << "\n";
  };
  line([](const Column &column) { return llvm::StringRef(column.title); });
  for (size_t row = 0; row < columns.front().cells.size(); ++row)
    line([&](const Column &column) {
      return llvm::StringRef(column.cells[row]);
    });
}

std::string timed(const KernelReport &kernel,
                  llvm::function_ref<std::string(const Timing &)> text) {
  return kernel.timing ? text(*kernel.timing) : "-";
}

double rate(const KernelReport &kernel, const Timing &timing) {
  double median = timing.median();
  return median > 0 ? double(kernel.bytes) / (median * 1e6) : 0.0;
}

} // namespace

std::string tools::printBytes(uint64_t bytes) {
  if (bytes < 1000)
    return llvm::formatv("{0} B", bytes);
  double value = double(bytes);
  const char *unit = "";
  for (const char *next : {"kB", "MB", "GB", "TB"}) {
    if (value < 1000)
      break;
    value /= 1000;
    unit = next;
  }
  return llvm::formatv("{0:F1} {1}", value, unit);
}

std::string tools::printDuration(double milliseconds) {
  if (milliseconds < 0.1)
    return llvm::formatv("{0:F2} us", milliseconds * 1000);
  return llvm::formatv("{0:F3} ms", milliseconds);
}

std::string tools::printUlps(double ulps) {
  if (ulps < 1e6)
    return llvm::formatv("{0:F3} ulp", ulps);
  return llvm::formatv("{0:E2} ulp", ulps);
}

void tools::printTable(llvm::raw_ostream &os,
                       llvm::ArrayRef<KernelReport> kernels,
                       const std::optional<CopyRate> &copy) {
  std::vector<Column> columns;
  auto add = [&](const char *title, bool number,
                 llvm::function_ref<std::string(const KernelReport &)> cell) {
    Column column{title, number, {}};
    for (const KernelReport &kernel : kernels)
      column.cells.push_back(cell(kernel));
    columns.push_back(std::move(column));
  };
  add("kernel", false, [](const KernelReport &k) { return k.program; });
  add("shape", false, [](const KernelReport &k) {
    if (k.grid != 0)
      return std::string("-");
    return std::string(
        llvm::formatv("{0}x{1} {2}", k.rows, k.columns, name(k.dtype)));
  });
  add("schedule", false, [](const KernelReport &k) {
    // The fields alone: the attribute's name says nothing here.
    llvm::StringRef fields = k.schedule;
    if (fields.consume_front("#norm.schedule<"))
      fields.consume_back(">");
    return fields.str();
  });
  add("bytes", true, [](const KernelReport &k) { return printBytes(k.bytes); });
  auto timedColumn = [&](const char *title,
                         std::string (*text)(const KernelReport &,
                                             const Timing &)) {
    add(title, true, [&](const KernelReport &k) {
      return timed(k, [&](const Timing &timing) { return text(k, timing); });
    });
  };
  if (llvm::any_of(kernels, [](const KernelReport &k) { return k.timing; })) {
    timedColumn("time", [](const KernelReport &, const Timing &timing) {
      return printDuration(timing.median());
    });
    timedColumn("p10", [](const KernelReport &, const Timing &timing) {
      return printDuration(timing.quantile(0.1));
    });
    timedColumn("p90", [](const KernelReport &, const Timing &timing) {
      return printDuration(timing.quantile(0.9));
    });
    timedColumn("GB/s", [](const KernelReport &k, const Timing &timing) {
      return std::string(llvm::formatv("{0:F1}", rate(k, timing)));
    });
    if (copy)
      add("of copy", true, [&](const KernelReport &k) {
        return timed(k, [&](const Timing &timing) {
          return std::string(llvm::formatv(
              "{0:F1}%", 100 * rate(k, timing) / copy->gigabytesPerSecond));
        });
      });
  }
  if (llvm::any_of(kernels, [](const KernelReport &k) { return k.ulps; }))
    add("error", true, [](const KernelReport &k) {
      return k.ulps ? printUlps(*k.ulps) : "-";
    });
  if (!kernels.empty())
    print(os, columns);
}

/// `traffic rms_norm, argument 0 'x': 8192 of 8192 bytes read, 16384 in all`.
static void printTraffic(llvm::raw_ostream &os, const KernelReport &kernel) {
  for (const auto &[buffer, traffic] : kernel.traffic) {
    os << "traffic " << kernel.program << ", " << buffer << ":";
    const char *separator = " ";
    auto part = [&](const char *verb, uint64_t AccessBytes::*direction) {
      if (traffic.accessed.*direction == 0 && traffic.minimal.*direction == 0)
        return;
      os << separator << traffic.distinct.*direction << " of "
         << traffic.minimal.*direction << " bytes " << verb << ", "
         << traffic.accessed.*direction << " in all";
      separator = "; ";
    };
    part("read", &AccessBytes::read);
    part("written", &AccessBytes::written);
    os << "\n";
  }
}

bool RunReport::passed() const {
  return llvm::all_of(
      checks, [](const CheckReport &report) { return report.check.passed; });
}

void tools::printReport(llvm::raw_ostream &os, const RunReport &report) {
  os << "device " << report.device << ": " << report.description;
  if (report.copy)
    os << llvm::formatv(", copies {0} at {1:F1} GB/s",
                        printBytes(report.copy->bytes),
                        report.copy->gigabytesPerSecond);
  os << "\n";
  printTable(os, report.kernels, report.copy);
  for (const KernelReport &kernel : report.kernels)
    printTraffic(os, kernel);
  for (const CheckReport &check : report.checks)
    os << (check.check.passed ? "ok    " : "WRONG ") << "result "
       << check.result << " " << check.kind << ": " << check.check.line << "\n";
}

/// JSON has neither NaN nor infinities.
static json::Value finiteNumber(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

static json::Object toObject(const KernelReport &kernel,
                             const std::optional<CopyRate> &copy) {
  json::Object object{
      {"program", kernel.program},   {"order", kernel.order},
      {"schedule", kernel.schedule}, {"symbol", kernel.symbol},
      {"dtype", name(kernel.dtype)}, {"rows", kernel.rows},
      {"columns", kernel.columns},   {"bytes", int64_t(kernel.bytes)}};
  if (kernel.grid != 0)
    object["grid"] = int64_t(kernel.grid);
  if (kernel.timing) {
    object["median"] = finiteNumber(kernel.timing->median());
    object["p10"] = finiteNumber(kernel.timing->quantile(0.1));
    object["p90"] = finiteNumber(kernel.timing->quantile(0.9));
    object["launches"] = int64_t(kernel.timing->milliseconds.size());
    object["rate"] = rate(kernel, *kernel.timing);
    if (copy)
      object["share_of_copy"] =
          finiteNumber(rate(kernel, *kernel.timing) / copy->gigabytesPerSecond);
  }
  if (!kernel.traffic.empty()) {
    AccessBytes distinct, accessed;
    for (const auto &[buffer, traffic] : kernel.traffic) {
      distinct.read += traffic.distinct.read;
      distinct.written += traffic.distinct.written;
      accessed.read += traffic.accessed.read;
      accessed.written += traffic.accessed.written;
    }
    object["traffic"] =
        json::Object{{"distinct_read", int64_t(distinct.read)},
                     {"distinct_written", int64_t(distinct.written)},
                     {"read", int64_t(accessed.read)},
                     {"written", int64_t(accessed.written)}};
  }
  if (kernel.ulps)
    object["ulps"] = finiteNumber(*kernel.ulps);
  return object;
}

json::Value tools::toJSON(const RunReport &report) {
  json::Array kernels, checks;
  for (const KernelReport &kernel : report.kernels)
    kernels.push_back(toObject(kernel, report.copy));
  for (const CheckReport &check : report.checks)
    checks.push_back(json::Object{{"kind", check.kind},
                                  {"result", int64_t(check.result)},
                                  {"passed", check.check.passed},
                                  {"ulps", finiteNumber(check.check.ulps)},
                                  {"text", check.check.line}});
  json::Object object{
      {"device", report.device},       {"description", report.description},
      {"target", report.target},       {"passed", report.passed()},
      {"kernels", std::move(kernels)}, {"checks", std::move(checks)}};
  if (report.copy)
    object["copy"] = json::Object{{"bytes", int64_t(report.copy->bytes)},
                                  {"rate", report.copy->gigabytesPerSecond}};
  return object;
}
