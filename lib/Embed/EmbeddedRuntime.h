/*===- What all headers of norm-compile --emit=c-header share
 * ----------------===
 *
 * Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C99 and C++, over the CUDA driver alone.
 *
 *===----------------------------------------------------------------------===*/
#ifndef NORM_EMBEDDED_RUNTIME_1
#define NORM_EMBEDDED_RUNTIME_1

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NORM_UNUSED __attribute__((unused))
#else
#define NORM_UNUSED
#endif

#define NORM_ANY INT64_MIN
enum {
  NORM_MAX_RANK = 8,
  NORM_MAX_BUFFERS = 64,
  NORM_MAX_PARAMS = 96,
  NORM_MAX_FUNCTIONS = 32
};

/* An argument of a launch. */
typedef struct norm_tensor {
  CUdeviceptr data;       /* address of element 0; of a scalar, its bits */
  const int64_t *shape;   /* extents; null for rank 0 */
  const int64_t *strides; /* in elements; null for row-major without gaps */
} norm_tensor;

enum { NORM_INPUT, NORM_OUTPUT, NORM_SCALAR };
typedef struct norm_argument {
  const char *name;
  int role, bits, rank;
  int64_t shape[NORM_MAX_RANK], strides[NORM_MAX_RANK];
  int64_t alignment;
  int equals[NORM_MAX_RANK][2];     /* the dim that an extent equals, or -1 */
  int64_t multiples[NORM_MAX_RANK]; /* what an extent is a multiple of, or 0 */
  int contiguous;
  int in_place;     /* the input that it lies in, or -1 */
  uint64_t aliases; /* bit k: may be the memory of argument k */
} norm_argument;

/* The product of some extents of a buffer and a factor, over a divisor. */
typedef struct norm_product {
  int buffer, num_dims, dims[NORM_MAX_RANK];
  int64_t factor, divisor;
} norm_product;

enum {
  NORM_POINTER,
  NORM_STRIDE,
  NORM_EXTENT,
  NORM_SCALAR_BITS,
  NORM_WORKSPACE,
  NORM_SPLIT
};
typedef struct norm_param {
  int kind;
  norm_product of;
} norm_param;

typedef struct norm_requirement {
  int buffer;
  int64_t alignment;
} norm_requirement;

typedef struct norm_variant {
  const char *symbol;
  unsigned block, dynamic_shared, static_shared;
  int64_t rows_per_cta, split;
  unsigned waits; /* CTAs of the largest grid that does so by itself */
  int num_requirements;
  const norm_requirement *requirements;
} norm_variant;

typedef struct norm_kernel {
  norm_product rows;
  int64_t grid; /* 0: over rows */
  int64_t slices, counter_bytes, unit_bytes;
  int num_params, num_variants, first_function;
  const norm_param *params;
  const norm_variant *variants;
} norm_kernel;

typedef struct norm_temporary {
  int bits, rank, slot; /* -1: of its own */
  int64_t shape[NORM_MAX_RANK];
  int source[NORM_MAX_RANK][2]; /* of an extent, or -1 */
  int64_t divisors[NORM_MAX_RANK];
} norm_temporary;

typedef struct norm_image {
  int capability, min_driver, is_cubin;
  const unsigned char *code;
  int num_kernels, num_temporaries, num_zeroed;
  const norm_kernel *kernels;
  const norm_temporary *temporaries;
  int64_t workspace_bytes;
  int64_t zeroed[4][2]; /* offset and bytes */
} norm_image;

/* A program on the device of the context that it was loaded in. */
typedef struct norm_program {
  const norm_image *image;
  const norm_argument *arguments;
  int num_arguments;
  int driver; /* its version */
  CUmodule module;
  CUfunction functions[NORM_MAX_FUNCTIONS];
  int64_t resident[NORM_MAX_FUNCTIONS]; /* CTAs, where they share rows */
} norm_program;

typedef struct norm_buffer {
  uint64_t data;
  int bits, rank;
  int64_t shape[NORM_MAX_RANK], strides[NORM_MAX_RANK];
} norm_buffer;

typedef struct norm_plan {
  norm_buffer buffers[NORM_MAX_BUFFERS];
  const norm_variant *variant[NORM_MAX_FUNCTIONS];
  int64_t groups[NORM_MAX_FUNCTIONS], split[NORM_MAX_FUNCTIONS];
  int64_t part[NORM_MAX_FUNCTIONS]; /* offset in the workspace */
  int64_t counters[NORM_MAX_FUNCTIONS + 4][2];
  int num_counters;
  int64_t bytes;
} norm_plan;

/* The product of a and b, both 0 or more; -1 beyond 63 bits, or if one is. */
NORM_UNUSED static int64_t norm_multiply(int64_t a, int64_t b) {
  if (a < 0 || b < 0 || (a != 0 && b > INT64_MAX / a))
    return -1;
  return a * b;
}

NORM_UNUSED static int64_t norm_multiplied(const norm_buffer *buffers,
                                           const norm_product *of) {
  int64_t result = of->factor;
  for (int i = 0; i < of->num_dims; ++i)
    result = norm_multiply(result, buffers[of->buffer].shape[of->dims[i]]);
  if (result < 0 || result % of->divisor != 0)
    return -1;
  return result / of->divisor;
}

NORM_UNUSED static void norm_fill_strides(norm_buffer *buffer) {
  int64_t stride = 1;
  for (int i = buffer->rank - 1; i >= 0; --i) {
    buffer->strides[i] = stride;
    stride = norm_multiply(stride, buffer->shape[i] ? buffer->shape[i] : 1);
  }
}

/* Bytes from element 0 to the end of the last; 0 without elements, -1 beyond 63
   bits. */
NORM_UNUSED static int64_t norm_reach(const norm_buffer *buffer) {
  int64_t last = 0;
  for (int i = 0; i < buffer->rank; ++i) {
    if (buffer->shape[i] == 0)
      return 0;
    int64_t step = norm_multiply(buffer->shape[i] - 1, buffer->strides[i]);
    if (step < 0 || last > INT64_MAX / 16 - step)
      return -1;
    last += step;
  }
  return (last * buffer->bits + buffer->bits + 7) / 8;
}

/* Whether a and b, which overlap, are the same elements at the same places. */
NORM_UNUSED static int norm_same(const norm_buffer *a, const norm_buffer *b) {
  int same = a->data == b->data && a->rank == b->rank && a->bits == b->bits;
  for (int i = 0; same && i < a->rank; ++i)
    same = a->shape[i] == b->shape[i] &&
           (a->shape[i] < 2 || a->strides[i] == b->strides[i]);
  return same;
}

/* Null, or what is wrong with an argument by itself. */
NORM_UNUSED static const char *norm_bind(const norm_argument *want,
                                         const norm_tensor *given,
                                         norm_buffer *buffers, int index) {
  norm_buffer *buffer = &buffers[index];
  buffer->data = (uint64_t)given->data;
  buffer->bits = want->bits;
  buffer->rank = want->rank;
  if (want->role == NORM_SCALAR)
    return NULL;
  if (want->rank && !given->shape)
    return "an argument has no shape";
  for (int i = 0; i < want->rank; ++i) {
    buffer->shape[i] = given->shape[i];
    if (given->shape[i] < 0 ||
        (want->shape[i] != NORM_ANY && want->shape[i] != given->shape[i]))
      return "an extent isn't that of the program";
    if (want->multiples[i] > 1 && given->shape[i] % want->multiples[i] != 0)
      return "an extent isn't a multiple of what the program says";
    if (want->equals[i][0] >= 0 &&
        buffers[want->equals[i][0]].shape[want->equals[i][1]] !=
            given->shape[i])
      return "two extents differ that must be equal";
  }
  norm_fill_strides(buffer);
  if (given->strides)
    for (int i = 0; i < want->rank; ++i) {
      int64_t fixed = want->contiguous ? buffer->strides[i] : want->strides[i];
      if (given->strides[i] < 0 || (fixed != NORM_ANY && buffer->shape[i] > 1 &&
                                    fixed != given->strides[i]))
        return "a stride isn't that of the program";
      if (!want->contiguous)
        buffer->strides[i] = given->strides[i];
    }
  else
    for (int i = 0; i < want->rank; ++i)
      if (want->strides[i] != NORM_ANY && buffer->shape[i] > 1 &&
          want->strides[i] != buffer->strides[i])
        return "a stride isn't that of the program";
  if (want->bits < 8) {
    if (want->rank == 0 || buffer->shape[want->rank - 1] % 2 != 0)
      return "elements of four bits need an even last extent";
    for (int i = 0; i + 1 < want->rank; ++i)
      if (buffer->shape[i] > 1 && buffer->strides[i] % 2 != 0)
        return "elements of four bits need even strides";
  }
  int64_t reach = norm_reach(buffer);
  if (reach < 0)
    return "a tensor is too large";
  if (reach > 0 && buffer->data == 0)
    return "an address is null";
  if (reach > 0 && buffer->data % (uint64_t)want->alignment != 0)
    return "an address isn't aligned to its elements";
  return NULL;
}

/* Null, or what is wrong with outputs. Tensors whose bytes interleave count as
   overlapping. */
NORM_UNUSED static const char *norm_check_overlap(const norm_program *program,
                                                  const norm_buffer *buffers) {
  for (int i = 0; i < program->num_arguments; ++i) {
    const norm_argument *output = &program->arguments[i];
    int64_t reach = norm_reach(&buffers[i]);
    if (output->role != NORM_OUTPUT || reach == 0)
      continue;
    if (output->in_place >= 0 &&
        !norm_same(&buffers[i], &buffers[output->in_place]))
      return "an output isn't in the memory of its input";
    for (int j = 0; j < program->num_arguments; ++j) {
      if (j == i || program->arguments[j].role == NORM_SCALAR)
        continue;
      int64_t other = norm_reach(&buffers[j]);
      if (other == 0 || buffers[i].data + (uint64_t)reach <= buffers[j].data ||
          buffers[j].data + (uint64_t)other <= buffers[i].data)
        continue;
      int may = (int)(output->aliases >> j & 1) ||
                (int)(program->arguments[j].aliases >> i & 1);
      if (!may || !norm_same(&buffers[i], &buffers[j]))
        return "an output overlaps another argument";
    }
  }
  return NULL;
}

/* Elements from one part of a dim to the next. */
NORM_UNUSED static int64_t norm_stride(const norm_buffer *buffer,
                                       const norm_product *of) {
  int64_t value = norm_multiply(buffer->strides[of->dims[0]], of->factor);
  for (int dim = 1; dim < of->num_dims; ++dim)
    value = norm_multiply(value, buffer->shape[of->dims[dim]]);
  return value / of->divisor;
}

NORM_UNUSED static int norm_holds(const norm_kernel *kernel,
                                  const norm_variant *variant,
                                  const norm_buffer *buffers) {
  for (int i = 0; i < variant->num_requirements; ++i) {
    const norm_buffer *buffer = &buffers[variant->requirements[i].buffer];
    int64_t alignment = variant->requirements[i].alignment;
    if (buffer->data % (uint64_t)alignment != 0)
      return 0;
    for (int dim = 0; dim + 1 < buffer->rank; ++dim)
      if (buffer->shape[dim] > 1 &&
          buffer->strides[dim] * buffer->bits / 8 % alignment != 0)
        return 0;
    for (int j = 0; j < kernel->num_params; ++j) {
      const norm_param *param = &kernel->params[j];
      if (param->kind == NORM_STRIDE && param->of.num_dims > 1 &&
          param->of.buffer == variant->requirements[i].buffer &&
          norm_stride(buffer, &param->of) * buffer->bits / 8 % alignment != 0)
        return 0;
    }
  }
  return 1;
}

/* Appends `units` times `each` bytes to the workspace; 0 beyond 63 bits. */
NORM_UNUSED static int norm_add_part(norm_plan *plan, int64_t units,
                                     int64_t each, int are_counters) {
  int64_t bytes = norm_multiply(units, each);
  if (bytes < 0 || bytes > INT64_MAX - plan->bytes - 255)
    return 0;
  if (are_counters && bytes > 0) {
    plan->counters[plan->num_counters][0] = plan->bytes;
    plan->counters[plan->num_counters++][1] = bytes;
  }
  plan->bytes = (plan->bytes + bytes + 255) / 256 * 256;
  return 1;
}

/* Chooses the variant of kernel `index`: the first that takes the alignment and
   whose CTAs are resident at once where they share rows. */
NORM_UNUSED static const char *norm_choose(const norm_program *program,
                                           int index, norm_plan *plan) {
  const norm_kernel *kernel = &program->image->kernels[index];
  int64_t rows = norm_multiplied(plan->buffers, &kernel->rows);
  if (rows < 0)
    return "there are too many rows";
  plan->variant[index] = NULL;
  plan->groups[index] = 0;
  if (rows == 0)
    return NULL;
  for (int i = 0; i < kernel->num_variants; ++i) {
    const norm_variant *variant = &kernel->variants[i];
    if (!norm_holds(kernel, variant, plan->buffers))
      continue;
    int64_t groups =
        kernel->grid ? kernel->grid : (rows - 1) / variant->rows_per_cta + 1;
    int64_t split = variant->split;
    if (split != 1) {
      int64_t most = program->resident[kernel->first_function + i] / groups;
      if (split > 1 && split > (most > 1 ? most : 1))
        continue;
      if (split == 0)
        for (split = 1; 2 * split <= most && 2 * split <= kernel->slices;)
          split *= 2;
    }
    if (groups > INT32_MAX / split)
      return "the grid is too large";
    plan->variant[index] = variant;
    plan->groups[index] = groups;
    plan->split[index] = split;
    return NULL;
  }
  return "no variant takes the alignment of the arguments";
}

NORM_UNUSED static const char *
norm_place_temporaries(const norm_program *program, norm_plan *plan,
                       int64_t *offsets) {
  const norm_image *image = program->image;
  for (int i = 0; i < image->num_temporaries; ++i) {
    const norm_temporary *temporary = &image->temporaries[i];
    norm_buffer *buffer = &plan->buffers[program->num_arguments + i];
    buffer->bits = temporary->bits;
    buffer->rank = temporary->rank;
    for (int dim = 0; dim < temporary->rank; ++dim)
      buffer->shape[dim] = temporary->source[dim][0] < 0
                               ? temporary->shape[dim]
                               : plan->buffers[temporary->source[dim][0]]
                                         .shape[temporary->source[dim][1]] /
                                     temporary->divisors[dim];
    norm_fill_strides(buffer);
    buffer->data = 0;
    if (norm_reach(buffer) < 0)
      return "a temporary is too large";
  }
  for (int slot = 0; slot <= image->num_temporaries; ++slot)
    for (int i = 0, isPlaced = 0; i < image->num_temporaries; ++i) {
      int wanted = slot < image->num_temporaries ? slot : -1;
      if (image->temporaries[i].slot != wanted)
        continue;
      int64_t largest = norm_reach(&plan->buffers[program->num_arguments + i]);
      if (wanted >= 0) {
        /* The first of a slot makes room for the largest. */
        if (isPlaced)
          continue;
        isPlaced = 1;
        for (int j = i; j < image->num_temporaries; ++j)
          if (image->temporaries[j].slot == wanted) {
            int64_t bytes =
                norm_reach(&plan->buffers[program->num_arguments + j]);
            largest = bytes > largest ? bytes : largest;
            offsets[j] = plan->bytes;
          }
      }
      offsets[i] = plan->bytes;
      if (!norm_add_part(plan, 1, largest, 0))
        return "the workspace is too large";
    }
  return NULL;
}

/* Fills in the plan but for addresses in the workspace, which is at 0. */
NORM_UNUSED static const char *norm_make_plan(const norm_program *program,
                                              const norm_tensor *arguments,
                                              norm_plan *plan,
                                              int64_t *offsets) {
  const norm_image *image = program->image;
  const char *wrong = NULL;
  for (int i = 0; !wrong && i < program->num_arguments; ++i)
    wrong = norm_bind(&program->arguments[i], &arguments[i], plan->buffers, i);
  if (!wrong)
    wrong = norm_check_overlap(program, plan->buffers);
  if (wrong)
    return wrong;
  plan->num_counters = 0;
  plan->bytes = (image->workspace_bytes + 255) / 256 * 256;
  for (int i = 0; i < image->num_zeroed; ++i)
    if (image->zeroed[i][1] > 0) {
      plan->counters[plan->num_counters][0] = image->zeroed[i][0];
      plan->counters[plan->num_counters++][1] = image->zeroed[i][1];
    }
  /* Temporaries are as aligned as any, and their place changes no choice. */
  for (int i = 0; i < image->num_temporaries; ++i) {
    norm_buffer *buffer = &plan->buffers[program->num_arguments + i];
    buffer->rank = 0;
    buffer->data = 0;
  }
  norm_plan scratch;
  scratch.bytes = 0;
  scratch.num_counters = 0;
  for (int i = 0; i < program->num_arguments; ++i)
    scratch.buffers[i] = plan->buffers[i];
  wrong = norm_place_temporaries(program, &scratch, offsets);
  if (wrong)
    return wrong;
  for (int i = 0; i < image->num_temporaries; ++i)
    plan->buffers[program->num_arguments + i] =
        scratch.buffers[program->num_arguments + i];
  for (int i = 0; i < image->num_kernels; ++i) {
    const norm_kernel *kernel = &image->kernels[i];
    wrong = norm_choose(program, i, plan);
    if (wrong)
      return wrong;
    plan->part[i] =
        kernel->counter_bytes || kernel->unit_bytes ? plan->bytes : 0;
    if (!norm_add_part(plan, plan->groups[i], kernel->counter_bytes, 1) ||
        !norm_add_part(plan, plan->groups[i], kernel->unit_bytes, 0))
      return "the workspace is too large";
  }
  return norm_place_temporaries(program, plan, offsets);
}

#if defined(CUDA_VERSION) && CUDA_VERSION >= 12000
/* Launches a kernel that waits for the grids before it, beside the last of
   them. */
NORM_UNUSED static CUresult norm_launch_early(CUfunction function,
                                              unsigned grid,
                                              const norm_variant *variant,
                                              CUstream stream, void **params) {
  CUlaunchAttribute attribute;
  CUlaunchConfig config;
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  config.gridDimX = grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = variant->block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = variant->dynamic_shared;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cuLaunchKernelEx(&config, function, params, NULL);
}
#endif

NORM_UNUSED static CUresult norm_launch_kernel(const norm_program *program,
                                               int index, const norm_plan *plan,
                                               CUdeviceptr workspace,
                                               CUstream stream) {
  const norm_kernel *kernel = &program->image->kernels[index];
  const norm_variant *variant = plan->variant[index];
  uint64_t slots[NORM_MAX_PARAMS];
  void *params[NORM_MAX_PARAMS];
  if (!variant)
    return CUDA_SUCCESS;
  for (int i = 0; i < kernel->num_params; ++i) {
    const norm_param *param = &kernel->params[i];
    const norm_buffer *buffer = &plan->buffers[param->of.buffer];
    params[i] = &slots[i];
    switch (param->kind) {
    case NORM_STRIDE:
      slots[i] = (uint64_t)norm_stride(buffer, &param->of);
      break;
    case NORM_EXTENT:
      slots[i] = (uint64_t)norm_multiplied(plan->buffers, &param->of);
      break;
    case NORM_WORKSPACE:
      slots[i] = (uint64_t)workspace + (uint64_t)plan->part[index];
      break;
    case NORM_SPLIT:
      slots[i] = (uint64_t)plan->split[index];
      break;
    default: /* an address, or the bits of a scalar */
      slots[i] = buffer->data;
    }
  }
  CUfunction function = program->functions[kernel->first_function +
                                           (int)(variant - kernel->variants)];
  unsigned grid = (unsigned)(plan->groups[index] * plan->split[index]);
  if (plan->split[index] > 1)
    return cuLaunchCooperativeKernel(function, grid, 1, 1, variant->block, 1, 1,
                                     variant->dynamic_shared, stream, params);
#if defined(CUDA_VERSION) && CUDA_VERSION >= 12000
  if (grid <= variant->waits && program->driver >= 12000)
    return norm_launch_early(function, grid, variant, stream, params);
#endif
  return cuLaunchKernel(function, grid, 1, 1, variant->block, 1, 1,
                        variant->dynamic_shared, stream, params, NULL);
}

NORM_UNUSED static CUresult norm_prepare(norm_program *program,
                                         CUdevice device) {
  int multiprocessors = 0, cooperative = 0;
  CUresult result = cuDeviceGetAttribute(
      &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  if (result == CUDA_SUCCESS)
    result = cuDeviceGetAttribute(
        &cooperative, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device);
  for (int k = 0; k < program->image->num_kernels; ++k) {
    const norm_kernel *kernel = &program->image->kernels[k];
    for (int v = 0; result == CUDA_SUCCESS && v < kernel->num_variants; ++v) {
      const norm_variant *variant = &kernel->variants[v];
      int at = kernel->first_function + v, each = 0;
      result = cuModuleGetFunction(&program->functions[at], program->module,
                                   variant->symbol);
      if (result == CUDA_SUCCESS &&
          variant->dynamic_shared + variant->static_shared > (48u << 10))
        result =
            cuFuncSetAttribute(program->functions[at],
                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               (int)variant->dynamic_shared);
      if (result == CUDA_SUCCESS && variant->split != 1 && cooperative)
        result = cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, program->functions[at], (int)variant->block,
            variant->dynamic_shared);
      program->resident[at] = (int64_t)each * multiprocessors;
    }
  }
  return result;
}

/* Loads the best of the images for the current context's device. */
NORM_UNUSED static CUresult norm_load(norm_program *program,
                                      const norm_image *images, int num_images,
                                      const norm_argument *arguments,
                                      int num_arguments) {
  CUdevice device;
  int driver = 0, major = 0, minor = 0;
  program->image = NULL;
  program->driver = 0;
  program->module = NULL;
  program->arguments = arguments;
  program->num_arguments = num_arguments;
  CUresult result = cuCtxGetDevice(&device);
  if (result == CUDA_SUCCESS)
    result = cuDriverGetVersion(&driver);
  if (result == CUDA_SUCCESS)
    result = cuDeviceGetAttribute(
        &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (result == CUDA_SUCCESS)
    result = cuDeviceGetAttribute(
        &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (result != CUDA_SUCCESS)
    return result;
  program->driver = driver;
  for (int i = 0; i < num_images; ++i) {
    const norm_image *image = &images[i];
    if (image->capability > major * 10 + minor || image->min_driver > driver ||
        (image->is_cubin && image->capability / 10 != major))
      continue;
    if (!program->image || image->capability > program->image->capability)
      program->image = image;
  }
  if (!program->image)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  result =
      cuModuleLoadDataEx(&program->module, program->image->code, 0, NULL, NULL);
  if (result != CUDA_SUCCESS)
    return result;
  result = norm_prepare(program, device);
  if (result != CUDA_SUCCESS) {
    (void)cuModuleUnload(program->module);
    program->module = NULL;
  }
  return result;
}

NORM_UNUSED static CUresult norm_workspace_size(const norm_program *program,
                                                const norm_tensor *arguments,
                                                size_t *bytes,
                                                const char **why) {
  norm_plan plan;
  int64_t offsets[NORM_MAX_BUFFERS];
  const char *wrong = norm_make_plan(program, arguments, &plan, offsets);
  if (why)
    *why = wrong;
  if (wrong)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = (size_t)plan.bytes;
  return CUDA_SUCCESS;
}

/* Checks the arguments and enqueues the kernels. */
NORM_UNUSED static CUresult norm_launch(const norm_program *program,
                                        const norm_tensor *arguments,
                                        CUdeviceptr workspace,
                                        size_t workspace_size, CUstream stream,
                                        const char **why) {
  norm_plan plan;
  int64_t offsets[NORM_MAX_BUFFERS];
  const char *wrong = norm_make_plan(program, arguments, &plan, offsets);
  if (!wrong && (uint64_t)plan.bytes > workspace_size)
    wrong = "the workspace is too small";
  if (!wrong && workspace % 256 != 0)
    wrong = "the workspace isn't aligned to 256 bytes";
  if (why)
    *why = wrong;
  if (wrong)
    return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < program->image->num_temporaries; ++i)
    plan.buffers[program->num_arguments + i].data =
        (uint64_t)workspace + (uint64_t)offsets[i];
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; result == CUDA_SUCCESS && i < plan.num_counters; ++i)
    result = cuMemsetD8Async(workspace + (CUdeviceptr)plan.counters[i][0], 0,
                             (size_t)plan.counters[i][1], stream);
  for (int i = 0; result == CUDA_SUCCESS && i < program->image->num_kernels;
       ++i)
    result = norm_launch_kernel(program, i, &plan, workspace, stream);
  return result;
}

#endif /* NORM_EMBEDDED_RUNTIME_1 */
