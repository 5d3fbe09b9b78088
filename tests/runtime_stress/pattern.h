#pragma once

#include <cstddef>
#include <cstdint>

namespace stress {

/// Marks memory as its owner's: the first and the last bytes; writing all would take long.
void write_pattern(void* memory, size_t bytes, uint64_t pattern);

bool has_pattern(const void* memory, size_t bytes, uint64_t pattern);

/// Half of the work is slow.
void wait_a_little(uint64_t pattern);

}  // namespace stress
