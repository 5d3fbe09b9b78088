#include "pattern.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace stress {

void write_pattern(void* memory, size_t bytes, uint64_t pattern) {
  const size_t length = std::min(bytes, sizeof(pattern));
  std::memcpy(memory, &pattern, length);
  std::memcpy(static_cast<std::byte*>(memory) + bytes - length, &pattern, length);
}

bool has_pattern(const void* memory, size_t bytes, uint64_t pattern) {
  const size_t length = std::min(bytes, sizeof(pattern));
  // The end was written last, over the start if there is little.
  return std::memcmp(static_cast<const std::byte*>(memory) + bytes - length, &pattern, length) == 0 &&
         (bytes < 2 * sizeof(pattern) || std::memcmp(memory, &pattern, length) == 0);
}

void wait_a_little(uint64_t pattern) {
  if (pattern % 2 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(pattern % 300));
  }
}

}  // namespace stress
