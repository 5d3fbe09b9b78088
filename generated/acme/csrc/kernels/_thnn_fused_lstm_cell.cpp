// SPDX-License-Identifier: Apache-2.0
//
// Serves _thnn_fused_lstm_cell.
// _thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor?
// input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)
//
// The device of the tensors is current; work goes to its current stream.
//
// This file is yours: it is written once and never overwritten.

#include <c10/util/Exception.h>

#include "generated/kernels.h"

namespace acme::kernels {

std::tuple<at::Tensor, at::Tensor, at::Tensor> _thnn_fused_lstm_cell(
    const at::Tensor& /*input_gates*/, const at::Tensor& /*hidden_gates*/, const at::Tensor& /*cx*/,
    const std::optional<at::Tensor>& /*input_bias*/,
    const std::optional<at::Tensor>& /*hidden_bias*/) {
  TORCH_CHECK_NOT_IMPLEMENTED(false,
                              "_thnn_fused_lstm_cell has no kernel on acme yet: write it in "
                              "csrc/kernels/_thnn_fused_lstm_cell.cpp");
}

}  // namespace acme::kernels
