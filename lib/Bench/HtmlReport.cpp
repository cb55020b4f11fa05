//===- HtmlReport.cpp - A report as one page ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/HtmlReport.h"
#include "HtmlDrawings.h"
#include "norm/Support/Version.h"
#include "norm/Tools/NormRunReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace norm;
using namespace norm::bench;

namespace {

constexpr llvm::StringLiteral kStyle = R"(
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 72em;
       padding: 0 1em; color: #24292f; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; }
table { border-collapse: collapse; margin: 0.5em 0; }
th, td { padding: 2px 10px; text-align: right; border-bottom: 1px solid #d8dee4; }
th:first-child, td:first-child { text-align: left; }
.bad { color: #cf222e; } .scroll { overflow-x: auto; }
svg text { font-size: 11px; fill: #24292f; }
details { margin: 0.5em 0; }
)";

std::string microseconds(double value) {
  return tools::printDuration(value / 1e3);
}

/// Writes tables.
class Table {
public:
  explicit Table(llvm::ArrayRef<llvm::StringRef> titles) {
    out = "<div class=\"scroll\"><table>\n<thead><tr>";
    for (llvm::StringRef title : titles)
      out += "<th>" + escapeHtml(title) + "</th>";
    out += "</tr></thead>\n<tbody>\n";
  }

  void row(llvm::ArrayRef<std::string> cells, llvm::StringRef kind = "") {
    out += kind.empty() ? "<tr>" : "<tr class=\"" + kind.str() + "\">";
    for (const std::string &cell : cells)
      out += "<td>" + escapeHtml(cell) + "</td>";
    out += "</tr>\n";
    isEmpty = false;
  }

  /// The table; nothing if it has no rows.
  std::string take() { return isEmpty ? "" : out + "</tbody></table></div>\n"; }

private:
  std::string out;
  bool isEmpty = true;
};

std::string section(llvm::StringRef title, const std::string &content,
                    llvm::StringRef remark = "") {
  if (content.empty())
    return "";
  std::string out = "<h2>" + escapeHtml(title) + "</h2>\n";
  if (!remark.empty())
    out += "<p>" + escapeHtml(remark) + "</p>\n";
  return out + content;
}

std::string clockLine(const char *when, const ClockReading &reading) {
  if (!reading.clocks)
    return llvm::formatv("<p>Clocks {0}: {1}</p>\n", when,
                         escapeHtml(reading.problem));
  const DeviceClocks &clocks = *reading.clocks;
  return llvm::formatv("<p>Clocks {0}: {1} of {2} MHz, memory {3} of {4} MHz, "
                       "{5} degrees Celsius, {6:F0} W.</p>\n",
                       when, clocks.coreMegahertz, clocks.coreMostMegahertz,
                       clocks.memoryMegahertz, clocks.memoryMostMegahertz,
                       clocks.celsius, clocks.watts);
}

std::string header(const Report &report) {
  std::string out = "<h1>norm-bench</h1>\n";
  out +=
      llvm::formatv("<p>{0}: {1}. Target {2}, norm {3}, {4} rounds.</p>\n",
                    escapeHtml(report.device), escapeHtml(report.description),
                    escapeHtml(report.target), versionString(), report.repeats);
  out += clockLine("before", report.before);
  out += clockLine("after", report.after);
  if (!report.schedule.empty())
    out += "<p>Schedule: " + escapeHtml(report.schedule) + "</p>\n";
  size_t failed = size_t(llvm::count_if(report.results, [](const Result &r) {
    return r.status == Result::Status::Wrong ||
           r.status == Result::Status::Failed;
  }));
  if (failed > 0)
    out += llvm::formatv("<p class=\"bad\">{0} of {1} cells are wrong or "
                         "failed.</p>\n",
                         failed, report.results.size());
  return out;
}

std::string bands(const Report &report) {
  Table table({"suite", "op", "columns", "cells", "geometric mean", "least",
               "at columns"});
  for (const BandSummary &band : summarizeBands(report))
    table.row({band.suite, band.op, band.band, std::to_string(band.cells),
               printPercent(band.geometricMean), printPercent(band.least),
               std::to_string(band.leastColumns)});
  return table.take();
}

/// One heat map for each suite, dtype and variant whose results have a share.
std::string heatMaps(const Report &report) {
  std::map<std::tuple<std::string, DType, std::string>,
           std::vector<const Result *>>
      groups;
  for (const Result &result : report.results)
    if (result.cell.suite != "compile" && result.cell.suite != "launch" &&
        (result.hasShare() || result.status != Result::Status::Ok))
      groups[{result.cell.suite, result.cell.dtype, result.cell.variant}]
          .push_back(&result);
  std::string out;
  for (const auto &[key, results] : groups) {
    if (llvm::none_of(results, [](const Result *r) { return r->hasShare(); }))
      continue;
    const auto &[suite, dtype, variant] = key;
    std::string title = suite + ", " + name(dtype).str() +
                        (variant.empty() ? "" : ", ") + variant;
    out += "<h3>" + escapeHtml(title) + "</h3>\n<div class=\"scroll\">" +
           drawHeatMap(results) + "</div>\n";
  }
  return out;
}

/// A bar around 1, from a half to twice.
std::string ratioBar(double ratio) {
  double place = std::clamp(std::log2(std::max(ratio, 1e-3)), -1.0, 1.0);
  double from = 60 + std::min(place, 0.0) * 60;
  return llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 120 12\" "
      "width=\"120\" height=\"12\"><rect x=\"{0:F1}\" y=\"1\" "
      "width=\"{1:F1}\" height=\"10\" fill=\"{2}\"/><line x1=\"60\" y1=\"0\" "
      "x2=\"60\" y2=\"12\" stroke=\"#24292f\"/></svg>",
      from, std::max(std::abs(place) * 60, 0.5),
      ratio >= 1 ? "#1a7f37" : "#cf222e");
}

std::string comparison(const Report &report) {
  std::string rows;
  std::vector<double> best;
  for (const Result &result : report.results) {
    double least = HUGE_VAL;
    for (const Peer &peer : result.peers) {
      std::string id = escapeHtml(result.cell.id());
      if (!peer.problem.empty() || !(result.microseconds.median > 0)) {
        rows += "<tr class=\"bad\"><td>" + id + "</td><td>" +
                escapeHtml(peer.name) + "</td><td colspan=\"4\">" +
                escapeHtml(peer.problem) + "</td></tr>\n";
        continue;
      }
      double ratio = peer.microseconds.median / result.microseconds.median;
      least = std::min(least, ratio);
      rows += llvm::formatv(
          "<tr><td>{0}</td><td>{1}</td><td>{2}</td><td>{3}</td>"
          "<td>{4:F2}</td><td>{5}</td></tr>\n",
          id, escapeHtml(peer.name), microseconds(result.microseconds.median),
          microseconds(peer.microseconds.median), ratio, ratioBar(ratio));
    }
    if (least != HUGE_VAL)
      best.push_back(least);
  }
  if (rows.empty())
    return "";
  std::string out;
  if (!best.empty())
    out += llvm::formatv("<p>Against the best peer of each of {0} cells: "
                         "geometric mean {1:F2}, least {2:F2}.</p>\n",
                         best.size(), geometricMean(best),
                         *std::min_element(best.begin(), best.end()));
  return out +
         "<div class=\"scroll\"><table>\n<thead><tr><th>cell</th>"
         "<th>peer</th><th>norm</th><th>peer</th><th>ahead by</th>"
         "<th>half to twice</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string results(const Report &report) {
  Table table({"cell", "median", "p10", "p90", "GB/s", "copy GB/s",
               "share of copy", "error, ulp", "schedule"});
  for (const Result &result : report.results) {
    if (result.status == Result::Status::Skipped)
      continue;
    if (result.status != Result::Status::Ok) {
      table.row({result.cell.id(), describe(result)}, "bad");
      continue;
    }
    bool hasBytes = result.traffic.total() > 0;
    std::string stages = result.schedule;
    for (const auto &[stage, milliseconds] : result.stages)
      stages += (stages.empty() ? "" : ", ") + stage + " " +
                tools::printDuration(milliseconds.median);
    table.row(
        {result.cell.id(), microseconds(result.microseconds.median),
         microseconds(result.microseconds.p10),
         microseconds(result.microseconds.p90),
         hasBytes ? llvm::formatv("{0:F1}", result.gigabytesPerSecond()).str()
                  : "",
         result.ceiling
             ? llvm::formatv("{0:F1}", result.ceilingGigabytesPerSecond()).str()
             : "",
         result.hasShare() ? printPercent(result.share.median) : "",
         result.checkedRows > 0 ? llvm::formatv("{0:F2}", result.ulps).str()
                                : "",
         stages});
  }
  std::string out = table.take();
  for (const auto &[reason, count] : summarizeSkipped(report))
    out += llvm::formatv("<p>Skipped {0} cells: {1}</p>\n", count,
                         escapeHtml(reason));
  return out;
}

} // namespace

std::string bench::toHtml(const Report &report) {
  std::string out = "<!DOCTYPE html>\n<html "
                    "xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
                    "<head><meta charset=\"utf-8\"/><title>norm-bench</title>"
                    "<style>";
  out += kStyle;
  out += "</style></head>\n<body>\n";
  out += header(report);
  out += section("Share of the copy by band", bands(report),
                 "The copy moves the same bytes, read and written in the same "
                 "ratio, in turns with the kernel.");
  out += section("Share of the copy", heatMaps(report),
                 "In percent; of several numbers of rows, the least. Point at "
                 "a cell for its numbers.");
  out += section("Roofline", drawRoofline(report),
                 "Each point is a cell. The slope is the fastest copy, the "
                 "level one operation a clock of each lane.");
  out += section("Peers", comparison(report));
  out += section("Results", results(report));
  return out + "</body>\n</html>\n";
}
