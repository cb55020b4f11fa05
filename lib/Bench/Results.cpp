//===- Results.cpp - What was measured ------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Results.h"
#include "norm/Support/Version.h"
#include "norm/Tools/NormRunReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>
#include <tuple>

using namespace norm;
using namespace norm::bench;
namespace json = llvm::json;

namespace {

double rate(uint64_t bytes, double microseconds) {
  return microseconds > 0 ? double(bytes) / (microseconds * 1e3) : 0;
}

/// JSON has neither NaN nor infinities.
json::Value finiteNumber(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

json::Object toObject(const Summary &summary) {
  return json::Object{{"p10", finiteNumber(summary.p10)},
                      {"median", finiteNumber(summary.median)},
                      {"p90", finiteNumber(summary.p90)},
                      {"count", int64_t(summary.count)}};
}

json::Value toValue(const ClockReading &reading) {
  if (!reading.clocks)
    return json::Object{{"unavailable", reading.problem}};
  const DeviceClocks &clocks = *reading.clocks;
  return json::Object{{"core_mhz", int64_t(clocks.coreMegahertz)},
                      {"memory_mhz", int64_t(clocks.memoryMegahertz)},
                      {"core_most_mhz", int64_t(clocks.coreMostMegahertz)},
                      {"memory_most_mhz", int64_t(clocks.memoryMostMegahertz)},
                      {"celsius", int64_t(clocks.celsius)},
                      {"watts", finiteNumber(clocks.watts)}};
}

json::Object toObject(const Result &result) {
  const Cell &cell = result.cell;
  json::Object object{
      {"suite", cell.suite},       {"op", cell.op},
      {"dtype", name(cell.dtype)}, {"rows", cell.rows},
      {"columns", cell.columns},   {"status", toString(result.status)}};
  if (!cell.variant.empty())
    object["variant"] = cell.variant;
  if (!result.message.empty())
    object["message"] = result.message;
  if (!result.peers.empty()) {
    json::Array peers;
    for (const Peer &peer : result.peers) {
      json::Object entry{{"name", peer.name}};
      if (peer.problem.empty())
        entry["microseconds"] = toObject(peer.microseconds);
      else
        entry["problem"] = peer.problem;
      peers.push_back(std::move(entry));
    }
    object["peers"] = std::move(peers);
  }
  if (result.status != Result::Status::Ok)
    return object;
  object["microseconds"] = toObject(result.microseconds);
  if (result.traffic.total() > 0) {
    object["bytes_read"] = int64_t(result.traffic.read);
    object["bytes_written"] = int64_t(result.traffic.written);
    object["gigabytes_per_second"] = finiteNumber(result.gigabytesPerSecond());
  }
  if (result.ceiling) {
    json::Object ceiling{{"microseconds", toObject(*result.ceiling)},
                         {"bytes", int64_t(result.ceilingBytes)},
                         {"kernel", result.ceilingShape}};
    ceiling["gigabytes_per_second"] =
        finiteNumber(result.ceilingGigabytesPerSecond());
    object["ceiling"] = std::move(ceiling);
  }
  if (result.hasShare())
    object["share_of_copy"] = toObject(result.share);
  if (result.checkedRows > 0) {
    object["ulps"] = finiteNumber(result.ulps);
    object["checked_rows"] = result.checkedRows;
  }
  if (!result.schedule.empty()) {
    object["schedule"] = result.schedule;
    object["schedule_source"] = toString(result.scheduleSource);
  }
  if (result.kernels > 0)
    object["kernels"] = int64_t(result.kernels);
  if (result.operations > 0)
    object["operations"] = result.operations;
  if (!result.stages.empty()) {
    json::Object stages;
    for (const auto &[stage, milliseconds] : result.stages)
      stages[stage] = toObject(milliseconds);
    object["stages_ms"] = std::move(stages);
  }
  return object;
}

std::string percent(double share) {
  return llvm::formatv("{0:F1}%", 100 * share);
}

std::string quantiles(const Summary &microseconds) {
  auto print = [](double value) { return tools::printDuration(value / 1e3); };
  return print(microseconds.median) + " (" + print(microseconds.p10) + " to " +
         print(microseconds.p90) + ")";
}

} // namespace

double Result::gigabytesPerSecond() const {
  return rate(traffic.total(), microseconds.median);
}

double Result::ceilingGigabytesPerSecond() const {
  return ceiling ? rate(ceilingBytes, ceiling->median) : 0;
}

llvm::StringRef bench::toString(Result::Status status) {
  switch (status) {
  case Result::Status::Ok:
    return "ok";
  case Result::Status::Wrong:
    return "wrong";
  case Result::Status::Failed:
    return "failed";
  case Result::Status::Skipped:
    return "skipped";
  }
  return "failed";
}

ClockReading bench::readClocks(const Device &device) {
  ClockReading reading;
  llvm::Expected<DeviceClocks> clocks = device.clocks();
  if (clocks)
    reading.clocks = *clocks;
  else
    reading.problem = llvm::toString(clocks.takeError());
  return reading;
}

bool Report::passed() const {
  return llvm::all_of(results, [](const Result &result) {
    bool isGood = result.status == Result::Status::Ok ||
                  result.status == Result::Status::Skipped;
    return isGood && llvm::all_of(result.peers, [](const Peer &peer) {
             return peer.problem.empty();
           });
  });
}

std::vector<BandSummary> bench::summarizeBands(const Report &report) {
  std::map<std::tuple<std::string, std::string, std::string>,
           std::vector<const Result *>>
      groups;
  for (const Result &result : report.results)
    if (result.status == Result::Status::Ok && result.hasShare() &&
        result.cell.suite != "decode")
      groups[{result.cell.suite, result.cell.op,
              bandOf(result.cell.columns).str()}]
          .push_back(&result);
  std::vector<BandSummary> bands;
  for (const auto &[key, results] : groups) {
    BandSummary band;
    std::tie(band.suite, band.op, band.band) = key;
    band.cells = unsigned(results.size());
    std::vector<double> shares;
    band.least = HUGE_VAL;
    for (const Result *result : results) {
      shares.push_back(result->share.median);
      if (result->share.median < band.least) {
        band.least = result->share.median;
        band.leastColumns = result->cell.columns;
      }
    }
    band.geometricMean = geometricMean(shares);
    bands.push_back(std::move(band));
  }
  return bands;
}

std::map<std::string, unsigned> bench::summarizeSkipped(const Report &report) {
  std::map<std::string, unsigned> reasons;
  for (const Result &result : report.results) {
    if (result.status != Result::Status::Skipped)
      continue;
    // Where in the program it was said is of no interest.
    llvm::StringRef reason = result.message;
    if (reason.contains(" error: "))
      reason = reason.split(" error: ").second;
    ++reasons[reason.trim().str()];
  }
  return reasons;
}

json::Value bench::toJSON(const Report &report) {
  json::Array results, bands;
  for (const Result &result : report.results)
    results.push_back(toObject(result));
  for (const BandSummary &band : summarizeBands(report))
    bands.push_back(
        json::Object{{"suite", band.suite},
                     {"op", band.op},
                     {"band", band.band},
                     {"cells", int64_t(band.cells)},
                     {"geometric_mean", finiteNumber(band.geometricMean)},
                     {"least", finiteNumber(band.least)},
                     {"least_columns", band.leastColumns}});
  json::Object device{
      {"name", report.device},
      {"description", report.description},
      {"target", report.target},
      {"driver", int64_t(report.driver)},
      {"cache_bytes", int64_t(report.facts.cacheBytes)},
      {"multiprocessors", int64_t(report.facts.multiprocessors)},
      {"megahertz", report.facts.megahertz},
      {"clocks_before", toValue(report.before)},
      {"clocks_after", toValue(report.after)}};
  json::Object object{{"name", "norm"},
                      {"format", "norm-bench"},
                      {"format_version", 1},
                      {"norm", versionString()},
                      {"device", std::move(device)},
                      {"repeats", int64_t(report.repeats)},
                      {"passed", report.passed()},
                      {"bands", std::move(bands)},
                      {"results", std::move(results)}};
  if (!report.schedule.empty())
    object["schedule"] = report.schedule;
  return object;
}

std::string bench::describe(const Result &result) {
  if (result.status != Result::Status::Ok)
    return (toString(result.status) + ": " + result.message).str();
  std::string text = quantiles(result.microseconds);
  if (result.traffic.total() > 0 && result.microseconds.median > 0)
    text += llvm::formatv(", {0:F1} GB/s", result.gigabytesPerSecond());
  if (result.hasShare())
    text += llvm::formatv(", {0} of the copy's {1:F1} GB/s",
                          percent(result.share.median),
                          result.ceilingGigabytesPerSecond());
  if (result.scheduleSource != ScheduleSource::Model)
    text += (", by " + toString(result.scheduleSource)).str();
  for (const auto &[stage, milliseconds] : result.stages)
    text += ", " + stage + " " + tools::printDuration(milliseconds.median);
  for (const Peer &peer : result.peers)
    if (peer.problem.empty() && result.microseconds.median > 0)
      text += llvm::formatv(
          ", {0:F2} times as fast as {1}",
          peer.microseconds.median / result.microseconds.median, peer.name);
    else
      text += ", " + peer.name + ": " + peer.problem;
  return text;
}

static void printClocks(llvm::raw_ostream &os, const char *when,
                        const ClockReading &reading) {
  os << "clocks " << when << ": ";
  if (!reading.clocks) {
    os << reading.problem << "\n";
    return;
  }
  const DeviceClocks &clocks = *reading.clocks;
  os << llvm::formatv(
      "{0} of {1} MHz, memory {2} of {3} MHz, {4} degrees, {5:F0} W\n",
      clocks.coreMegahertz, clocks.coreMostMegahertz, clocks.memoryMegahertz,
      clocks.memoryMostMegahertz, clocks.celsius, clocks.watts);
}

void bench::printReport(llvm::raw_ostream &os, const Report &report) {
  os << "device " << report.device << ": " << report.description << "\n";
  printClocks(os, "before", report.before);
  printClocks(os, "after", report.after);
  size_t width = 0;
  for (const Result &result : report.results)
    width = std::max(width, result.cell.id().size());
  for (const Result &result : report.results) {
    if (result.status == Result::Status::Skipped)
      continue;
    std::string id = result.cell.id();
    os << id << std::string(width - id.size() + 2, ' ') << describe(result)
       << "\n";
  }
  for (const auto &[reason, count] : summarizeSkipped(report))
    os << llvm::formatv("skipped {0} cells: {1}\n", count, reason);
  for (const BandSummary &band : summarizeBands(report))
    os << llvm::formatv(
        "{0} {1}, {2} columns: geometric mean {3} of the copy over {4} "
        "cells, least {5} at {6} columns\n",
        band.suite, band.op, band.band, percent(band.geometricMean), band.cells,
        percent(band.least), band.leastColumns);
}
