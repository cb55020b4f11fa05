//===- HtmlDrawings.cpp - Drawings of the report --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HtmlDrawings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace norm;
using namespace norm::bench;

namespace {

/// 32-bit lanes of a multiprocessor, each an operation a clock: CUDA C++
/// Programming Guide, "Arithmetic Instructions", compute capability 8.6 and
/// later (64 for 8.0, which has half this roof).
constexpr double kLanes = 128;

constexpr const char *kColours[] = {"#1f6feb", "#d29922", "#8250df", "#1a7f37",
                                    "#cf222e", "#0a7ea4", "#bf3989", "#57606a"};

std::string text(double x, double y, llvm::StringRef anchor,
                 const llvm::Twine &content, llvm::StringRef more = "") {
  return llvm::formatv("<text x=\"{0:F1}\" y=\"{1:F1}\" text-anchor=\"{2}\"{3}>"
                       "{4}</text>\n",
                       x, y, anchor, more, escapeHtml(content.str()));
}

/// `0.1`, `1000`
std::string printNumber(double value) {
  return value < 1 ? llvm::formatv("{0:F2}", value).str()
                   : llvm::formatv("{0:F0}", value).str();
}

std::string line(double x1, double y1, double x2, double y2,
                 llvm::StringRef colour, llvm::StringRef more = "") {
  return llvm::formatv("<line x1=\"{0:F1}\" y1=\"{1:F1}\" x2=\"{2:F1}\" "
                       "y2=\"{3:F1}\" stroke=\"{4}\"{5}/>\n",
                       x1, y1, x2, y2, colour, more);
}

std::string beginDrawing(double width, double height) {
  return llvm::formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" "
                       "viewBox=\"0 0 {0:F0} {1:F0}\" width=\"{0:F0}\" "
                       "height=\"{1:F0}\" role=\"img\">\n",
                       width, height);
}

/// A logarithmic axis.
struct Axis {
  double least = 1, most = 10; ///< powers of ten
  double from = 0, to = 1;     ///< pixels

  double at(double value) const {
    double share = (std::log10(value) - std::log10(least)) /
                   (std::log10(most) - std::log10(least));
    return from + share * (to - from);
  }
  void include(llvm::ArrayRef<double> values) {
    double low = HUGE_VAL, high = 0;
    for (double value : values)
      if (value > 0 && std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    if (high == 0)
      return;
    least = std::pow(10, std::floor(std::log10(low)));
    most = std::pow(10, std::ceil(std::log10(high) + 1e-9));
    if (most <= least)
      most = least * 10;
  }
};

/// The points and roofs of a roofline.
class Roofline {
public:
  explicit Roofline(const Report &report);
  bool isEmpty() const { return points.empty(); }
  std::string draw();

private:
  struct Point {
    double intensity, rate; ///< operations a byte, 10^9 operations a second
    std::string op, label;
  };
  std::string drawAxes() const;
  std::string drawRoofs() const;
  std::string drawPoints() const;

  std::vector<Point> points;
  std::vector<std::string> ops;
  double memoryRoof = 0;  ///< 10^9 bytes a second
  double computeRoof = 0; ///< 10^9 operations a second; 0 if not known
  Axis x, y;
};

constexpr double kWidth = 860, kHeight = 420, kLeft = 90, kRight = 200,
                 kTop = 20, kBottom = 50;

Roofline::Roofline(const Report &report) {
  std::vector<double> intensities, rates;
  for (const Result &result : report.results) {
    if (result.status != Result::Status::Ok || !(result.operations > 0) ||
        result.traffic.total() == 0 || !(result.microseconds.median > 0))
      continue;
    Point point{result.operations / double(result.traffic.total()),
                result.operations / (result.microseconds.median * 1e3),
                result.cell.op, result.cell.id() + ": " + describe(result)};
    intensities.push_back(point.intensity);
    rates.push_back(point.rate);
    if (!llvm::is_contained(ops, point.op))
      ops.push_back(point.op);
    points.push_back(std::move(point));
    memoryRoof = std::max(memoryRoof, result.ceilingGigabytesPerSecond());
  }
  if (report.target != "host")
    computeRoof =
        report.facts.multiprocessors * kLanes * report.facts.megahertz * 1e-3;
  intensities.push_back(10);
  rates.push_back(computeRoof);
  x.include(intensities);
  y.include(rates);
  x.from = kLeft;
  x.to = kWidth - kRight;
  y.from = kHeight - kBottom;
  y.to = kTop;
}

std::string Roofline::drawAxes() const {
  std::string out;
  for (double value = x.least; value <= x.most * 1.01; value *= 10) {
    out += line(x.at(value), y.from, x.at(value), y.to, "#d8dee4");
    out += text(x.at(value), y.from + 16, "middle", printNumber(value));
  }
  for (double value = y.least; value <= y.most * 1.01; value *= 10) {
    out += line(x.from, y.at(value), x.to, y.at(value), "#d8dee4");
    out += text(x.from - 6, y.at(value) + 4, "end", printNumber(value));
  }
  out += text((x.from + x.to) / 2, kHeight - 10, "middle", "operations a byte");
  out += text(
      14, (y.from + y.to) / 2, "middle", "10^9 operations a second",
      llvm::formatv(" transform=\"rotate(-90 14 {0:F0})\"", (y.from + y.to) / 2)
          .str());
  return out;
}

std::string Roofline::drawRoofs() const {
  if (!(memoryRoof > 0))
    return "";
  // From the left edge up to the arithmetic's roof, or out of the picture.
  double top = computeRoof > 0 ? std::min(computeRoof, y.most) : y.most;
  double knee = std::min(top / memoryRoof, x.most);
  double begin = std::max(x.least, y.least / memoryRoof);
  std::string out;
  if (begin < knee)
    out += line(x.at(begin), y.at(begin * memoryRoof), x.at(knee),
                y.at(knee * memoryRoof), "#24292f", " stroke-width=\"1.5\"");
  if (computeRoof > 0 && knee < x.most)
    out += line(x.at(knee), y.at(top), x.at(x.most), y.at(top), "#24292f",
                " stroke-width=\"1.5\"");
  return out;
}

std::string Roofline::drawPoints() const {
  std::string out;
  for (const Point &point : points) {
    size_t index = size_t(llvm::find(ops, point.op) - ops.begin());
    out += llvm::formatv("<circle cx=\"{0:F1}\" cy=\"{1:F1}\" r=\"3\" "
                         "fill=\"{2}\" fill-opacity=\"0.7\"><title>{3}"
                         "</title></circle>\n",
                         x.at(point.intensity), y.at(point.rate),
                         kColours[index % std::size(kColours)],
                         escapeHtml(point.label));
  }
  double at = kTop + 10;
  for (const auto &[index, op] : llvm::enumerate(ops)) {
    out += llvm::formatv("<circle cx=\"{0:F0}\" cy=\"{1:F0}\" r=\"4\" "
                         "fill=\"{2}\"/>\n",
                         kWidth - kRight + 16, at - 4,
                         kColours[index % std::size(kColours)]);
    out += text(kWidth - kRight + 26, at, "start", op);
    at += 18;
  }
  return out;
}

std::string Roofline::draw() {
  return beginDrawing(kWidth, kHeight) + drawAxes() + drawRoofs() +
         drawPoints() + "</svg>\n";
}

} // namespace

std::string bench::escapeHtml(llvm::StringRef text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if ((unsigned char)c >= 32 || c == '\n')
      out += c;
  }
  return out;
}

std::string bench::printPercent(double share) {
  return llvm::formatv("{0:F1}%", 100 * share);
}

std::string bench::colourOfShare(double share) {
  double place = std::clamp((share - 0.5) / 0.5, 0.0, 1.0);
  return llvm::formatv("hsl({0:F0}, 65%, {1:F0}%)", 130 * place * place,
                       72 - 12 * place);
}

std::string bench::drawHeatMap(llvm::ArrayRef<const Result *> results) {
  std::vector<std::string> ops;
  std::set<int64_t> columns;
  std::map<std::pair<std::string, int64_t>, const Result *> cells;
  for (const Result *result : results) {
    if (!llvm::is_contained(ops, result->cell.op))
      ops.push_back(result->cell.op);
    columns.insert(result->cell.columns);
    // Of several numbers of rows, the worst is shown.
    const Result *&shown = cells[{result->cell.op, result->cell.columns}];
    bool isWorse = !shown || result->status != Result::Status::Ok ||
                   (shown->status == Result::Status::Ok &&
                    result->share.median < shown->share.median);
    if (isWorse)
      shown = result;
  }
  constexpr double kCell = 30, kLine = 24, kNames = 170, kLabels = 70;
  double width = kNames + kCell * double(columns.size()) + 10;
  double height = kLine * double(ops.size()) + kLabels;
  std::string out = beginDrawing(width, height);
  for (const auto &[row, op] : llvm::enumerate(ops)) {
    double top = kLine * double(row);
    out += text(kNames - 6, top + 16, "end", op);
    for (const auto &[column, extent] : llvm::enumerate(columns)) {
      auto found = cells.find({op, extent});
      if (found == cells.end())
        continue;
      const Result &result = *found->second;
      double left = kNames + kCell * double(column);
      bool isKnown = result.status == Result::Status::Ok && result.hasShare();
      std::string label =
          isKnown ? llvm::formatv("{0:F0}", 100 * result.share.median).str()
                  : toString(result.status).take_front(1).str();
      out += llvm::formatv(
          "<g><rect x=\"{0:F0}\" y=\"{1:F0}\" width=\"{2:F0}\" "
          "height=\"{3:F0}\" fill=\"{4}\"/>",
          left, top, kCell - 1, kLine - 1,
          isKnown ? colourOfShare(result.share.median) : "#afb8c1");
      out += text(left + kCell / 2, top + 16, "middle", label,
                  " font-size=\"10\"");
      out += "<title>" +
             escapeHtml(result.cell.id() + ": " + describe(result)) +
             "</title></g>\n";
    }
  }
  double top = kLine * double(ops.size()) + 8;
  for (const auto &[column, extent] : llvm::enumerate(columns)) {
    double left = kNames + kCell * double(column) + kCell / 2 + 4;
    out += text(
        left, top, "end", llvm::Twine(extent),
        llvm::formatv(" transform=\"rotate(-60 {0:F0} {1:F0})\"", left, top)
            .str());
  }
  return out + "</svg>\n";
}

std::string bench::drawRoofline(const Report &report) {
  Roofline roofline(report);
  return roofline.isEmpty() ? "" : roofline.draw();
}
