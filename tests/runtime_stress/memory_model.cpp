#include "memory_model.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace stress {

void MemoryModel::add(const void* pointer, size_t bytes, const c10::Stream& stream, c10::MempoolId_t pool) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard lock(mutex_);
  Device& device = devices_[stream.device_index()];
  require(pointer != nullptr && address % 512 == 0, "an allocation is aligned");
  const auto next = device.alive.lower_bound(address);
  require(next == device.alive.end() || address + bytes <= next->first, "live blocks do not overlap the next one");
  require(next == device.alive.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= address,
          "live blocks do not overlap the previous one");
  device.alive.emplace(address, Allocation{bytes, stream.id(), pool, ++device.added});
}

void MemoryModel::remove(const void* pointer, c10::DeviceIndex index) {
  std::lock_guard lock(mutex_);
  Device& device = devices_[index];
  const auto found = device.alive.find(reinterpret_cast<uintptr_t>(pointer));
  require(found != device.alive.end(), "what is freed was alive");
  device.alive.erase(found);
  ++device.removed;
}

void MemoryModel::add_out_of_memory(c10::DeviceIndex device) {
  std::lock_guard lock(mutex_);
  ++devices_[device].out_of_memory;
}

void MemoryModel::reset_peaks(c10::DeviceIndex device) {
  std::lock_guard lock(mutex_);
  devices_[device].peak.at_least = 0;
  devices_[device].peak.at_most = 0;
}

uint64_t MemoryModel::allocations() {
  std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const Device& device : devices_) {
    sum += device.added;
  }
  return sum;
}

uint64_t MemoryModel::out_of_memory() {
  std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const Device& device : devices_) {
    sum += device.out_of_memory;
  }
  return sum;
}

void MemoryModel::check() {
  const acme::MemorySnapshot snapshot = acme::getAcmeAllocator().snapshot();
  check_snapshot(snapshot);
  std::lock_guard lock(mutex_);
  for (c10::DeviceIndex index = 0; index < kDevices; ++index) {
    check(devices_[index], index, snapshot);
  }
}

void MemoryModel::check(Device& device, c10::DeviceIndex index, const acme::MemorySnapshot& snapshot) {
  const auto stats = acme::getAcmeAllocator().getDeviceStats(index);
  check_statistics(stats, snapshot, index);
  size_t alive = 0;
  int64_t new_blocks = 0;
  int64_t new_bytes = 0;
  for (const acme::SegmentSnapshot& segment : snapshot.segments) {
    for (const acme::BlockSnapshot& block : segment.blocks) {
      if (segment.device != index || !block.is_allocated) {
        continue;
      }
      const auto found = device.alive.find(block.address);
      require(found != device.alive.end(), "what is allocated is alive");
      const Allocation& allocation = found->second;
      require(block.requested_size == allocation.bytes, "a block knows what was asked for");
      require(segment.stream == allocation.stream, "memory is of the stream that asked for it");
      require(segment.pool == allocation.pool, "memory is of the pool that its stream was sent to");
      ++alive;
      if (allocation.number > device.peak.added) {
        ++new_blocks;
        new_bytes += static_cast<int64_t>(block.size);
      }
    }
  }
  require(alive == device.alive.size(), "what is alive is allocated");
  check_peak(device, stats.allocated_bytes[0], new_blocks, new_bytes);
  require(stats.allocation[0].allocated == device.added, "allocations are counted");
  require(stats.allocation[0].freed == device.removed, "frees are counted");
  require(stats.num_device_alloc - stats.num_device_free == stats.segment[0].current, "the calls to the driver");
  require(stats.num_ooms == device.out_of_memory, "times out of memory are counted");
}

void MemoryModel::check_peak(Device& device, const c10::CachingAllocator::Stat& allocated, int64_t new_blocks,
                             int64_t new_bytes) {
  Peak& peak = device.peak;
  const bool has_seen_all = device.added - peak.added == new_blocks;
  // Most, if all that was freed meanwhile was freed after all allocations.
  const int64_t at_most = has_seen_all ? peak.allocated + new_bytes : std::numeric_limits<int64_t>::max();
  peak.at_least = std::max(peak.at_least, allocated.current);
  peak.at_most = std::max(peak.at_most, std::max(at_most, allocated.current));
  require(peak.at_least <= allocated.peak, "the peak is not below what was seen");
  require(allocated.peak <= peak.at_most, "the peak is not above what can have been");
  peak.allocated = allocated.current;
  peak.added = device.added;
}

}  // namespace stress
