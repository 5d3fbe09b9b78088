// SPDX-License-Identifier: Apache-2.0
//
// Serves _weight_int4pack_mm.
// _weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor
//
// The device of the tensors is current; work goes to its current stream.
//
// This file is yours: it is written once and never overwritten.

#include <c10/util/Exception.h>

#include "generated/kernels.h"

namespace acme::kernels {

at::Tensor _weight_int4pack_mm(const at::Tensor& /*self*/, const at::Tensor& /*mat2*/,
                               int64_t /*qGroupSize*/, const at::Tensor& /*qScaleAndZeros*/) {
  TORCH_CHECK_NOT_IMPLEMENTED(false,
                              "_weight_int4pack_mm has no kernel on acme yet: write it in "
                              "csrc/kernels/_weight_int4pack_mm.cpp");
}

}  // namespace acme::kernels
