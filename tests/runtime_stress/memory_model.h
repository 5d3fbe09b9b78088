#pragma once

// What the allocator should know: the allocations that are alive, and the sums that its statistics should have.

#include <c10/core/Device.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "generated/runtime/AcmeAllocator.h"

namespace stress {

inline constexpr c10::DeviceIndex kDevices = 2;

/// Raises std::runtime_error, which names the place, unless `holds`.
void require(bool holds, const char* what);

class MemoryModel {
 public:
  /// Checks that nothing that is alive overlaps. To be called right after the allocation.
  void add(const void* pointer, size_t bytes, c10::DeviceIndex device);

  /// To be called before the memory is freed.
  void remove(const void* pointer, c10::DeviceIndex device);

  void add_out_of_memory(c10::DeviceIndex device);

  /// Compares with the allocator's statistics and snapshot. Nothing may change meanwhile.
  void check();

  uint64_t allocations();
  uint64_t out_of_memory();

 private:
  struct Device {
    std::map<uintptr_t, size_t> alive;
    int64_t added = 0;
    int64_t removed = 0;
    int64_t out_of_memory = 0;
  };

  std::mutex mutex_;
  std::array<Device, kDevices> devices_;
};

/// Checks what holds for any snapshot: blocks fill their segments, no two free neighbours are left unmerged, and the
/// sums are those of the blocks.
void check_snapshot(const acme::MemorySnapshot& snapshot);

}  // namespace stress
