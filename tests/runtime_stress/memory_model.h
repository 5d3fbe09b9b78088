#pragma once

// What the allocator should know: the allocations that are alive, and how many there were.

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "generated/runtime/AcmeAllocator.h"
#include "invariants.h"

namespace stress {

inline constexpr c10::DeviceIndex kDevices = 2;

inline constexpr c10::MempoolId_t kNoPrivatePool{0, 0};

class MemoryModel {
 public:
  /// Checks that nothing that is alive overlaps. To be called right after the allocation on `stream`, which `pool`
  /// should have served.
  void add(const void* pointer, size_t bytes, const c10::Stream& stream, c10::MempoolId_t pool);

  /// To be called before the memory is freed.
  void remove(const void* pointer, c10::DeviceIndex device);

  void add_out_of_memory(c10::DeviceIndex device);

  /// To be called right after the allocator's peaks were reset.
  void reset_peaks(c10::DeviceIndex device);

  /// Compares with the allocator's statistics and snapshot. Nothing may change meanwhile.
  void check();

  uint64_t allocations();
  uint64_t out_of_memory();

 private:
  struct Allocation {
    size_t bytes;
    c10::StreamId stream;
    c10::MempoolId_t pool;
    // The how-manieth of its device.
    int64_t number;
  };

  // What is known of the peak of the allocated bytes: exactly what it is, if nothing was freed between the comparisons
  // before and after the allocation that reached it.
  struct Peak {
    int64_t at_least = 0;
    int64_t at_most = 0;
    // When it was compared last.
    int64_t allocated = 0;
    int64_t added = 0;
  };

  struct Device {
    std::map<uintptr_t, Allocation> alive;
    int64_t added = 0;
    int64_t removed = 0;
    int64_t out_of_memory = 0;
    Peak peak;
  };

  static void check(Device& device, c10::DeviceIndex index, const acme::MemorySnapshot& snapshot);
  // `allocated` is the statistic; new are what was allocated since the last comparison and is alive.
  static void check_peak(Device& device, const c10::CachingAllocator::Stat& allocated, int64_t new_blocks,
                         int64_t new_bytes);

  std::mutex mutex_;
  std::array<Device, kDevices> devices_;
};

}  // namespace stress
