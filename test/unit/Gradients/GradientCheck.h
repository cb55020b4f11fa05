//===- GradientCheck.h - Derived gradients and differences ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_GRADIENTS_GRADIENTCHECK_H
#define NORM_TEST_UNIT_GRADIENTS_GRADIENTCHECK_H

#include "norm/Reference/Reference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

namespace norm::test {

/// Compares what norm-differentiate derives from a function @f with central
/// differences of it. Both are evaluated by the reference, in float64.
class GradientCheck : public ::testing::Test {
protected:
  GradientCheck();

  /// What to compare, and how.
  struct Options {
    /// Of normal numbers of deviation 1 otherwise: the least of uniform numbers
    /// of a range of 1.
    std::map<unsigned, double> least;
    /// Of each scalar or tensor of integers.
    int64_t integer = 3;
    double step = 1e-5;
    /// Of the largest gradient of an argument.
    double tolerance = 1e-6;
    /// Directions in which each argument is moved; 0 is along each element.
    unsigned directions = 0;
    unsigned seed = 1;
    std::string wrt;
    /// Up to which bound the reference knows a gradient, as `tolerance`.
    double mostBound = 1e-3;
  };

  /// Expects each derived gradient to be near the difference, with and without
  /// saved statistics. Returns whether
  /// the function could be compared: all values are known.
  bool check(const std::string &text, const Options &options);
  bool check(const std::string &text) { return check(text, Options()); }

  /// The module with the backward of its function, null where that fails.
  mlir::OwningOpRef<mlir::ModuleOp> derive(const std::string &text,
                                           const std::string &wrt = "",
                                           const char *save = "none");

private:
  using Tensors = std::vector<reference::Tensor>;

  bool checkSaving(const std::string &text, const Options &options,
                   const char *save);
  Tensors getSaved(mlir::ModuleOp module, const Tensors &results);
  Tensors makeInputs(mlir::func::FuncOp function, const Options &options);
  Tensors evaluate(mlir::ModuleOp module, const char *entry,
                   const Tensors &inputs);
  /// The sum of products of results and cotangents.
  double objective(mlir::ModuleOp module, const Tensors &inputs,
                   const std::vector<unsigned> &results);
  void compare(mlir::ModuleOp module, unsigned argument,
               const reference::Tensor &gradient, const Options &options);

  mlir::MLIRContext context;
  std::mt19937 random;
  Tensors inputs, cotangents;
  bool isFinite = true;
};

} // namespace norm::test

#endif // NORM_TEST_UNIT_GRADIENTS_GRADIENTCHECK_H
