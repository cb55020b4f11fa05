//===- Passes.td - Passes of the norm dialect --------------*- tablegen -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_TRANSFORMS_PASSES_TD
#define NORM_DIALECT_NORM_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NormGeneralizePass : Pass<"norm-generalize"> {
  let summary = "write named ops and elementwise ops as norm.generic";
  let description = [{
    Each `norm.layer_norm`, `norm.rms_norm` and `norm.softmax`, each elementwise
    op on ranked tensors (of `arith`, `math` or any dialect), and each `linalg`
    op with parallel loops, an elementwise body and maps that are dims or 0,
    becomes a `norm.generic` over all dims of its result. What doesn't fit is
    left alone.

    A named op is written in textbook form, which fixes its bits: arithmetic in
    f32 (f64 where an operand or a result is f64), one rounding to the type of
    each result, and one `math.fma` where both scale and bias are there. An
    elementwise op is put into the body as it is, without its fast-math flags.
    A splat (a constant, `tensor.splat`, `linalg.fill`) becomes a scalar operand
    or a constant of the body, and a program of its own only where something
    else uses it. Of a constant of at most 16 values the body chooses by
    position; one of at most 256 is written by a program of its own. Transposes
    and broadcasts are maps. Destinations are `tensor.empty`, of sizes read from
    arguments rather than from intermediates. A `norm.generic` of the input that
    reads the previous content of an output reads it as an input instead.

    Example:

    ```mlir
    %s = arith.addf %x, %r : tensor<?x8xbf16>
    // becomes
    %c0 = arith.constant 0 : index
    %rows = tensor.dim %x, %c0 : tensor<?x8xbf16>
    %e = tensor.empty(%rows) : tensor<?x8xbf16>
    %s = norm.generic (row, col)
        ins(%a = %x[row, col] : tensor<?x8xbf16>, %b = %r[row, col] : tensor<?x8xbf16>)
        outs(%o = %e[row, col] : tensor<?x8xbf16>) attributes {name = "add"} {
      %sum = arith.addf %a, %b : bf16
      norm.yield %sum : bf16
    }
    ```
  }];
  let dependentDialects = ["::mlir::norm::NormDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def NormFusePass : Pass<"norm-fuse"> {
  let summary = "inline programs that agree on their dims into one";
  let description = [{
    A `norm.generic` on tensors is inlined into one that reads its result, so
    that each element is loaded and stored once. No bit changes: bodies are
    inlined as they are, and the consumer reads the value that was yielded, in
    its type. A result that others use as well is another output of the fused
    program. Equal loads and equal values become one; unused ones go.

    Dims are matched by the axes through which the result passes, and what is
    left by equal extents. One space has to hold the other: work on a statistic
    joins the program that made it; work on a per-column operand joins its
    reader if it is cheap and has no other use. Reductions of one program go
    over the same dims in the same order. Transposes are maps, and cost nothing.
    Both ops are in one block. The fused program stands where the consumer did,
    or where the result is needed first if the consumer, and what it needs, can
    be moved up there.

    *Siblings* are two programs neither of which needs the other and that read
    one tensor of all their dims. They become one program with the outputs of
    both, which reads that tensor once; what both compute, as the statistics of
    two norms, is computed once. Dims are matched by the axes of what they
    share, and all of them have to be. Work that both read, and that wasn't
    fused as it had two readers, follows.

    Programs are fused where their bodies can be inlined, unless

    - no kernel could run both as one although one could run each, or
    - both as one would have to read inputs again, as a CTA can't hold them
      from one phase to the next, where neither had to alone, and that moves
      more bytes than fusing saves. What a CTA can hold is taken from the
      model of `norm-schedule` with 227 KB of shared memory, for every target.

    `explain` remarks on each decision, in order, in one line each: what was
    fused, with what is no longer written and read (`saves ?x4096 bf16 twice`,
    and the bytes where all extents are known), and in the end, for each program
    that is left, why its producers and siblings were not fused with it.

    Between the two may be `tensor.expand_shape` and `tensor.collapse_shape`:
    where that leads to a fusion, the consumer's dims are split as the axes of
    what it reads are merged, or the producer's as the axes of what it writes
    are split. Other operands are then reshaped alike, and results back, which
    ends in views of arguments and results. Dims of a split program are named
    `row, row1, ..` and, where it reduces over them, `col, col1, ..`. Dims are
    also split where axes of an argument or a result are merged that lie apart by
    its `norm.layout`.

    Example:

    ```mlir
    %s = norm.generic (row, col)
        ins(%a = %x[row, col] : tensor<4x8xf16>)
        outs(%o = %e[row, col] : tensor<4x8xf32>) attributes {name = "ext"} {
      %f = arith.extf %a : f16 to f32
      norm.yield %f : f32
    }
    %m = norm.generic (row, col)
        ins(%a = %s[row, col] : tensor<4x8xf32>)
        outs(%o = %d[row] : tensor<4xf32>) attributes {name = "max"} {
      %r = norm.reduce max %a over [col] : f32
      norm.yield %r : f32
    }
    // becomes, where %s has no other use,
    %m = norm.generic (row, col)
        ins(%a = %x[row, col] : tensor<4x8xf16>)
        outs(%o = %d[row] : tensor<4xf32>) attributes {name = "ext_max"} {
      %f = arith.extf %a : f16 to f32
      %r = norm.reduce max %f over [col] : f32
      norm.yield %r : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::norm::NormDialect",
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"explain", "explain", "bool", /*default=*/"false",
           "remark on what was fused and what it saves, and what wasn't and why">
  ];
}

def NormDifferentiatePass : Pass<"norm-differentiate", "::mlir::ModuleOp"> {
  let summary = "add the backward of a function";
  let description = [{
    Reverse mode on programs. Adds, behind a function on tensors that
    `norm-generalize` writes as programs, a function that computes the gradients
    of its arguments:

        (inputs of the function that are needed, in order;
         what was saved, in order;
         a cotangent of each result of floats that depends on `wrt`, in order;
         what is in the destination of each gradient of `accumulate`, in order)
        -> (a gradient of each argument of `wrt`, in order)

    A cotangent has the type of its result, a gradient that of its argument, but
    f32 where that is a float of less than 16 bits, or what `gradient-type`
    says; integers have none. A gradient of `accumulate` is the sum of what its
    destination holds and the gradient, written in place. All between is
    computed in f32 (f64 where a tensor of the program is f64), and rounded
    once. The attribute `norm.backward` of the new function says what
    its arguments and results are. With `save=none` nothing is saved by the
    forward function: statistics are computed again from the inputs. With
    `save=statistics` there is also a function named after it and `_forward`,
    with the same results and then those statistics of rows (the mean, the
    reciprocal of the deviation, ...) that the backward reads.

    Cotangents are simplified over the reals: equal terms are added, those that
    cancel go, sums of centred values are 0, what doesn't vary along a reduction
    is taken out of it, and a sum that is known is used again. Each reduction
    over other dims than the forward's, as of the gradient of a scale, is in a
    program of its own, which reads the statistics of rows from the first.

    Where a function has no derivative: the maximum of a row shares its
    cotangent evenly between equal elements; of `arith.maximumf` and its like,
    the first operand gets it where both are equal, or the constant if it is 0;
    `math.round` and `math.roundeven`, and conversions to integers and back, are
    passed through (the straight-through rule); `math.floor`, `math.ceil`,
    `math.trunc`, comparisons and conditions have none; nothing goes where a
    condition says that a value is infinite. An op without a rule is an error.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = norm.softmax %x axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    // gets
    func.func @f_backward(%x: tensor<?x64xf32>, %dy: tensor<?x64xf32>)
        -> tensor<?x64xf32> attributes {norm.backward = {
          arguments = ["input 0", "cotangent 0"], of = @f,
          results = ["gradient 0"]}} { ... }
    ```
  }];
  let dependentDialects = ["::mlir::norm::NormDialect",
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"\"",
           "the function; may be left out where the module has one">,
    ListOption<"wrt", "wrt", "unsigned",
               "arguments of which gradients are wanted; all tensors of floats "
               "of 16 bits or more by default">,
    Option<"name", "name", "std::string", /*default=*/"\"\"",
           "name of the new function; that of the function and _backward by "
           "default">,
    Option<"save", "save", "std::string", /*default=*/"\"none\"",
           "none or statistics: what the forward function keeps for it">,
    ListOption<"gradientType", "gradient-type", "std::string",
               "element type of all gradients, or N:TYPE of that of argument N; "
               "that of the argument by default">,
    ListOption<"accumulate", "accumulate", "unsigned",
               "arguments whose gradients are added to what is in their "
               "destinations">
  ];
}

def NormOutlinePass : Pass<"norm-outline", "::mlir::ModuleOp"> {
  let summary = "cut programs out of functions that do other work as well";
  let description = [{
    Does something only where a function of the module has an op that no kernel
    can take in: one on tensors that is neither a program nor a reshape (a
    matrix product, an op of an unknown dialect), a call, or control flow. Then
    each program of each function becomes a function of its own, in a nested
    module with the attribute `norm.kernels`, and a call in its place. The
    module gets a private declaration of the function, by the same name, that
    says on tensors what is called. All other ops stay as they were.

    A new function is named after the one it was cut out of and its program. Its
    arguments are what the program reads, in order, with their `norm.layout`
    where they are arguments of the outer function; then the tensors whose
    previous content counts, and extents that no argument tells. Its results are
    the program's. Constants are copied. What is declared to be written in place
    of an argument that nothing else reads, is so in the new function.

    The nested module is one for the passes that follow: the pipelines go on with
    it, and leave what is around it alone.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %i: tensor<?x64xf32>)
        -> tensor<?x64xf32> {
      ...
      %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x64xf32>)
          outs(%o = %e[row, col] : tensor<?x64xf32>) attributes {name = "softmax"} ...
      %z = linalg.matmul ins(%y, %w : ...) outs(%i : ...) -> tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    }
    // becomes
    func.func @f(...) -> tensor<?x64xf32> {
      %y = call @f_softmax(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
      %z = linalg.matmul ins(%y, %w : ...) outs(%i : ...) -> tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    }
    func.func private @f_softmax(tensor<?x64xf32>) -> tensor<?x64xf32>
    module attributes {norm.kernels} {
      func.func @f_softmax(%x: tensor<?x64xf32>) -> tensor<?x64xf32> { ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
    "::mlir::norm::NormDialect", "::mlir::tensor::TensorDialect"];
}

def NormRewriteWelfordPass : Pass<"norm-rewrite-welford"> {
  let summary = "better forms of dependent reductions";
  let description = [{
    Two pairs of reductions, the second of which needs the result of the first,
    have other forms: the mean, and the sum of the squares of what is left when
    it is taken away; the maximum, and the sum of the exponentials of what is
    left. Both go over the same dims and the same f32 or f64 value; the mean is
    the sum divided by the product of the extents of those dims, and the sum has
    no other use. Programs that have a schedule are left alone.

    *Across memory*, where an exchange is dear, mean and squares become one
    `norm.reduce welford`. *Along memory* a row is held while its threads meet
    twice, which takes less than half of the arithmetic. There the pair is left
    as it is where its values have 16 bits or less, whose mean is exact enough;
    else what the mean's rounding left in the deviations is summed beside their
    squares, and taken away (the corrected two-pass algorithm).

    The maximum and the sum can become `norm.reduce max_expsum`. One online
    reduction takes two exponentials per element instead of one, which
    costs more than it saves where a CTA holds the row, and it has other bits
    than the pair. Whether it is used must not depend on what is known of the
    columns, so it is left to the user: `online-from`.

    Example:

    ```mlir
    %n = norm.extent col : f32
    %sum = norm.reduce add %f over [col] : f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.subf %f, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [col] : f32
    %var = arith.divf %ss, %n : f32
    // becomes, across memory,
    %n = norm.extent col : f32
    %mean, %m2 = norm.reduce welford %f over [col] : f32
    %c = arith.subf %f, %mean : f32
    %var = arith.divf %m2, %n : f32
    ```
  }];
  let dependentDialects = ["::mlir::norm::NormDialect"];
  let options = [
    Option<"onlineFrom", "online-from", "int64_t", /*default=*/"-1",
           "columns from which a softmax is one online reduction; -1: never">
  ];
}

def NormExpandMathPass : Pass<"norm-expand-math"> {
  let summary = "write transcendental functions as exactly rounded arithmetic";
  let description = [{
    In the bodies of programs, replaces functions by additions, multiplications,
    `math.fma` and integer arithmetic, which all targets compute to the same
    bits. Types of 8 and 16 bits go by way of f32, with one rounding; for f16 and
    bf16 some functions have shorter forms, within 0.63 ulp with the rounding.
    Largest errors in units of the last place, measured:

    | function | f32 | f64 |
    |---|---|---|
    | `math.exp`, `math.exp2` | 0.9 | 0.93 |
    | `math.expm1` | 1.5 | 2.5 |
    | `math.log` | 1 | 1.5 |
    | `math.log1p` | 1.5 | 2 |
    | `math.tanh` | 3 | 3 |
    | `math.erf`, `math.erfc` | 5 | not expanded |
    | `norm.sigmoid` | 2.5 | 2.5 |
    | `norm.silu` | 3.5 | 3 |
    | `norm.gelu` | 5.5 | 5.5 |

    `math.rsqrt` becomes a square root and a division, whose rounding errors are
    then taken off.
    Other functions are left to the target.

    With `math=hardware`, exponentials, `math.tanh` and activations of f16 and
    bf16 are made of `math.exp2 fastmath<afn>` and `arith.divf fastmath<afn>` of
    1 in f32, for which a GPU uses its own approximations; its bits differ from
    those of other targets then. They are within 0.65 ulp, `norm.gelu` of bf16
    with erf within 0.92. Without it, fast-math flags in programs are dropped.

    Example:

    ```mlir
    %y = math.rsqrt %a : f64
    // becomes
    %root = math.sqrt %a : f64
    %one = arith.constant 1.0 : f64
    %inverse = arith.divf %one, %root : f64
    %negated = arith.negf %root : f64
    %off_root = math.fma %negated, %root, %a : f64
    %off_inverse = math.fma %negated, %inverse, %one : f64
    %minus_half = arith.constant -0.5 : f64
    %half = arith.mulf %inverse, %minus_half : f64
    %scaled = arith.mulf %off_root, %half : f64
    %change = math.fma %scaled, %inverse, %off_inverse : f64
    %refined = math.fma %inverse, %change, %inverse : f64
    %is_number = arith.cmpf ord, %change, %change : f64
    %y = arith.select %is_number, %refined, %inverse : f64
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
  let options = [
    Option<"math", "math", "std::string", /*default=*/"\"exact\"",
           "exact or hardware: how functions of f16 and bf16 are computed">
  ];
}

def NormSchedulePass : Pass<"norm-schedule"> {
  let summary = "give each program an order and a schedule";
  let description = [{
    The order fixes the bits: its leaf is 16 bytes of the narrowest input that
    is read over rows and columns, for every target. The schedule maps it onto
    the target; a cost model picks it from the column extent, the bytes that are
    kept between phases and the number of phases. An order or a schedule that a
    program has already stays. One that was found by measuring, in the file
    `tuning`, goes before the model's; where the target can't run it, or it was
    found under another order, a remark says so, and the model's is taken. The
    fields named by `schedule` are set last.

    A program has to be one over rows: its reductions are all over the same
    trailing dims (the columns), and each operand has all dims, the row dims or
    the column dims. What the target can't run is an error that says what is
    needed and what is allowed.

    Example, with `target=sm_90`:

    ```mlir
    %0 = norm.generic (row, col)
        ins(%a = %x[row, col] : tensor<?x4096xbf16>)
        outs(%o = %y[row, col] : tensor<?x4096xf32>) { ... }
    // becomes
    %0 = norm.generic (row, col)
        ins(%a = %x[row, col] : tensor<?x4096xbf16>)
        outs(%o = %y[row, col] : tensor<?x4096xf32>)
        attributes {order = #norm.order<leaf = 8, lanes = 1024>,
                    schedule = #norm.schedule<threads = 128>} { ... }
    ```
  }];
  let dependentDialects = ["::mlir::norm::NormDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host\"",
           "target to schedule for: host or sm_80 to sm_121">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"\"",
           "fields that override the model, as in 'threads=256,residency=stream'">,
    Option<"tuning", "tuning", "std::string", /*default=*/"\"\"",
           "file of schedules that were found by measuring, or 'none'; by "
           "default those that are a part of the library">,
    Option<"device", "device", "std::string", /*default=*/"\"\"",
           "product to look them up by, as in 'NVIDIA H200'; by default any of "
           "the target">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "remark where each schedule came from">
  ];
}

def NormResultsToDestinationsPass : Pass<"norm-results-to-destinations", "::mlir::ModuleOp"> {
  let summary = "turn tensor results of functions into destination arguments";
  let description = [{
    Each result of a function becomes a memref argument after the others, in
    order, into which the value is materialized. It lies there as its attribute
    `norm.layout` has it; without one, a tensor of rank 2 may have any distance
    between rows, and others are contiguous. A result that is an argument, is
    returned twice, or isn't made by a program is copied by one. An output
    operand of a program whose previous content counts is copied first, so that
    no argument is ever written.

    A result that is reshaped at the end is computed before that, in a view of
    its destination.

    Attributes of results are dropped. Errors: results that aren't ranked
    tensors of numbers, functions of several blocks, calls, constants of several
    values, and ops on tensors that are neither programs nor reshapes.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      ...
      return %y : tensor<?x64xf32>
    }
    // becomes
    func.func @f(%x: tensor<?x64xf32>, %d: memref<?x64xf32, strided<[?, 1]>>) {
      ...
      bufferization.materialize_in_destination %y in restrict writable %d
          : (tensor<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect", "::mlir::norm::NormDialect",
    "::mlir::tensor::TensorDialect"];
}

def NormBufferizePass : Pass<"norm-bufferize", "::mlir::ModuleOp"> {
  let summary = "turn programs on tensors into programs on buffers";
  let description = [{
    One-shot bufferization across function boundaries, with outputs computed
    right in their destinations. Tensor arguments become memrefs: as their
    `norm.layout` has it, else of rank 2 with any distance between rows, others
    contiguous. They are not written. A
    temporary is a `memref.alloc`; nothing frees it, since whoever launches the
    kernels provides the memory. A copy that would be needed is an error, as
    where axes are collapsed that lie apart: no kernel makes it.

    Example:

    ```mlir
    %e = tensor.empty(%n) : tensor<?x64xf32>
    %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x64xf32>)
        outs(%b = %e[row, col] : tensor<?x64xf32>) { ... }
    bufferization.materialize_in_destination %y in restrict writable %d
        : (tensor<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>) -> ()
    // becomes
    norm.generic (row, col)
        ins(%a = %x[row, col] : memref<?x64xf32, strided<[?, 1]>>)
        outs(%b = %d[row, col] : memref<?x64xf32, strided<[?, 1]>>) { ... }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect", "::mlir::norm::NormDialect"];
}

def NormTilePass : Pass<"norm-tile", "::mlir::ModuleOp"> {
  let summary = "write each scheduled program on buffers as a tiled kernel";
  let description = [{
    A program on memrefs, with an order and a schedule, becomes a
    `norm_tile.kernel`, and a `norm_tile.launch` in its place. Row dims and
    column dims are collapsed to one each. There is one phase for each set of
    reductions that are ready together, and one for what remains. With residency
    `registers` or `shared`, what later phases need is kept, in the form that
    takes the fewest bits; otherwise it is loaded again.

    Example, of a program over `(row, col)` that subtracts each row's sum:

    ```mlir
    norm.generic (row, col) ins(%a = %x[row, col] : memref<?x4096xf32>)
        outs(%o = %y[row, col] : memref<?x4096xf32>) attributes {...} {
      %s = norm.reduce add %a over [col] : f32
      %d = arith.subf %a, %s : f32
      norm.yield %d : f32
    }
    // becomes
    norm_tile.kernel @main_0(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>)
        attributes {...} {
      norm_tile.work (%row) {
        %p = norm_tile.phase reduce [add] (%column) {
          %a = norm_tile.load %x[%row, %column]
              : memref<?x4096xf32> -> vector<4xf32>
          norm_tile.hold %a in 0 : vector<4xf32>
          norm_tile.yield %a : vector<4xf32>
        } : !norm_tile.partial<add, f32>
        %t = norm_tile.exchange_start %p : !norm_tile.partial<add, f32>
        %s = norm_tile.exchange_wait %t : f32
        norm_tile.phase (%column) {
          %a = norm_tile.held 0 : vector<4xf32>
          %b = vector.broadcast %s : f32 to vector<4xf32>
          %d = arith.subf %a, %b : vector<4xf32>
          norm_tile.store %d, %y[%row, %column]
              : vector<4xf32>, memref<?x4096xf32>
        }
      }
    }
    ...
    norm_tile.launch @main_0(%x, %y) {...}
        : memref<?x4096xf32>, memref<?x4096xf32>
    ```
  }];
  let dependentDialects = ["::mlir::norm_tile::NormTileDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
    "::mlir::arith::ArithDialect"];
}

#endif // NORM_DIALECT_NORM_TRANSFORMS_PASSES_TD
