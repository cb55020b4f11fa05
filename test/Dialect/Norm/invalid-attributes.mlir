//===- invalid-attributes.mlir - Attributes refused -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects 'leaf' to be a power of two from 1 to 64 but got 6}}
func.func private @f() attributes {a = #norm.order<leaf = 6, lanes = 1024>}

// -----

// expected-error@+1 {{expects 'leaf' to be a power of two from 1 to 64 but got 128}}
func.func private @f() attributes {a = #norm.order<leaf = 128, lanes = 1024>}

// -----

// expected-error@+1 {{expects 'lanes' to be a power of two from 1 to 1024 but got 0}}
func.func private @f() attributes {a = #norm.order<leaf = 8, lanes = 0>}

// -----

// expected-error@+1 {{expects 'inner' from 0 to 1024 but got -1}}
func.func private @f() attributes {a = #norm.order<leaf = 4, lanes = 16, inner = -1>}

// -----

// expected-error@+1 {{expects 'inner' from 0 to 1024 but got 1025}}
func.func private @f() attributes {a = #norm.order<leaf = 4, lanes = 16, inner = 1025>}

// -----

// expected-error@+1 {{expects 'split' to be 0 or a power of two up to 256 but got 3}}
func.func private @f() attributes {a = #norm.schedule<threads = 4, split = 3>}

// -----

// expected-error@+1 {{expects 'split' to be 0 or a power of two up to 256 but got 512}}
func.func private @f() attributes {a = #norm.schedule<threads = 4, split = 512>}

// -----

// expected-error@+1 {{expects 'threads' to be a power of two from 1 to 1024 but got 96}}
func.func private @f() attributes {a = #norm.schedule<threads = 96>}

// -----

// expected-error@+1 {{expects 'rows_per_cta' from 1 to 1024 but got 0}}
func.func private @f() attributes {a = #norm.schedule<threads = 128, rows_per_cta = 0>}

// -----

// expected-error@+1 {{expects at most 1024 threads per CTA but got 512 x 4}}
func.func private @f() attributes {a = #norm.schedule<threads = 512, rows_per_cta = 4>}

// -----

// expected-error@+1 {{expects 'vector' from 1 on with at most 1024 lanes per step but got 128 x 0}}
func.func private @f() attributes {a = #norm.schedule<threads = 128, vector = 0>}

// -----

// expected-error@+1 {{expects 'vector' from 1 on with at most 1024 lanes per step but got 512 x 4}}
func.func private @f() attributes {a = #norm.schedule<threads = 512, vector = 4>}

// -----

// expected-error@+1 {{expects 'max_registers' from 0 to 255 but got 256}}
func.func private @f() attributes {a = #norm.schedule<threads = 128, max_registers = 256>}

// -----

// expected-error@+2 {{expected one of [registers, shared, stream] for where a streamed input stays between two phases, got: cache}}
// expected-error@+1 {{failed to parse Norm_ScheduleAttr parameter 'residency'}}
func.func private @f() attributes {a = #norm.schedule<threads = 128, residency = cache>}
