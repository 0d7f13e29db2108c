// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/product.h>

/** @file Products of all formats: values as vectors, or float under double for preconditioners, never in CG. */
#define PATCHFEM_INSTANTIATE_PRODUCT(Where, View, Value, Number, Target) \
  template void product(Where, const View<Value> &, const Number *, const Target<Number> &);

#define PATCHFEM_INSTANTIATE_PRODUCTS_OF_PRECONDITIONERS(Where, View, Value, Number) \
  PATCHFEM_INSTANTIATE_PRODUCT(Where, View, Value, Number, Overwrite)                \
  PATCHFEM_INSTANTIATE_PRODUCT(Where, View, Value, Number, Add)                      \
  PATCHFEM_INSTANTIATE_PRODUCT(Where, View, Value, Number, Residual)                 \
  PATCHFEM_INSTANTIATE_PRODUCT(Where, View, Value, Number, PolynomialStep)

#define PATCHFEM_INSTANTIATE_PRODUCTS(Where, View)                              \
  PATCHFEM_INSTANTIATE_PRODUCTS_OF_PRECONDITIONERS(Where, View, float, float)   \
  PATCHFEM_INSTANTIATE_PRODUCTS_OF_PRECONDITIONERS(Where, View, float, double)  \
  PATCHFEM_INSTANTIATE_PRODUCTS_OF_PRECONDITIONERS(Where, View, double, double) \
  PATCHFEM_INSTANTIATE_PRODUCT(Where, View, float, float, ConjugateGradients)   \
  PATCHFEM_INSTANTIATE_PRODUCT(Where, View, double, double, ConjugateGradients)
