"""The kernels of kind `runtime`: those that the generated `native/NativeFunctions.h` declares."""

from __future__ import annotations

RUNTIME_KERNELS = frozenset(
    {
        "empty.memory_format",
        "empty_strided",
        "resize_",
        "set_",
        "set_.source_Tensor",
        "set_.source_Storage",
        "set_.source_Storage_storage_offset",
        "record_stream",
        "as_strided",
        "view",
        "_reshape_alias",
        "unfold",
        "view_as_real",
        "view_as_complex",
        "_copy_from",
        "_copy_from_and_resize",
        "_to_copy",
        "_local_scalar_dense",
        "fill_.Scalar",
        "fill_.Tensor",
        "zero_",
        "uniform_",
        "normal_",
        "random_",
        "random_.to",
        "random_.from",
        "bernoulli_.float",
        "bernoulli_.Tensor",
        "native_dropout",
        "native_dropout_backward",
        "convolution_overrideable",
        "convolution_backward_overrideable",
        "_thnn_fused_lstm_cell",
        "_thnn_fused_lstm_cell_backward_impl",
        "_thnn_fused_gru_cell",
        "_thnn_fused_gru_cell_backward",
        "_nested_tensor_from_mask_left_aligned",
    }
)
"""The operators that may have the kind `runtime`."""
