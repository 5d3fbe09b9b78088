#include "memory_model.h"

#include <iterator>
#include <set>
#include <stdexcept>
#include <string>

namespace stress {
namespace {

using c10::CachingAllocator::StatArray;

constexpr size_t kAll = 0;
constexpr size_t kSmall = 1;
constexpr size_t kLarge = 2;

void check_stat(const StatArray& stat, const char* what) {
  for (const auto& figure : stat) {
    require(figure.current >= 0 && figure.peak >= figure.current, what);
    require(figure.allocated - figure.freed == figure.current, what);
  }
  // A direct allocator knows no pools.
  const int64_t pools = stat[kSmall].allocated + stat[kLarge].allocated;
  require(pools == 0 || stat[kSmall].current + stat[kLarge].current == stat[kAll].current, what);
}

}  // namespace

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::runtime_error(std::string("violated: ") + what);
  }
}

void MemoryModel::add(const void* pointer, size_t bytes, c10::DeviceIndex index) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard lock(mutex_);
  Device& device = devices_[index];
  require(pointer != nullptr && address % 512 == 0, "an allocation is aligned");
  const auto next = device.alive.lower_bound(address);
  require(next == device.alive.end() || address + bytes <= next->first, "live blocks do not overlap the next one");
  require(next == device.alive.begin() || std::prev(next)->first + std::prev(next)->second <= address,
          "live blocks do not overlap the previous one");
  device.alive.emplace(address, bytes);
  ++device.added;
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
    const Device& device = devices_[index];
    const auto stats = acme::getAcmeAllocator().getDeviceStats(index);
    for (const StatArray* stat : {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split,
                                  &stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                                  &stats.inactive_split_bytes, &stats.requested_bytes}) {
      check_stat(*stat, "a statistic is consistent");
    }
    size_t segments = 0;
    size_t reserved = 0;
    size_t allocated = 0;
    size_t active = 0;
    size_t active_blocks = 0;
    size_t requested = 0;
    size_t inactive_split = 0;
    std::map<uintptr_t, size_t> alive;
    for (const acme::SegmentSnapshot& segment : snapshot.segments) {
      if (segment.device != index) {
        continue;
      }
      ++segments;
      reserved += segment.total_size;
      allocated += segment.allocated_size;
      active += segment.active_size;
      requested += segment.requested_size;
      for (const acme::BlockSnapshot& block : segment.blocks) {
        active_blocks += block.is_active;
        inactive_split += !block.is_active && block.size < segment.total_size;
        if (block.is_allocated) {
          alive.emplace(block.address, block.requested_size);
        }
      }
    }
    require(alive == device.alive, "the snapshot has what is alive");
    const auto equal = [](int64_t figure, size_t expected) { return figure == static_cast<int64_t>(expected); };
    require(stats.allocation[kAll].allocated == device.added, "allocations are counted");
    require(stats.allocation[kAll].freed == device.removed, "frees are counted");
    require(equal(stats.allocation[kAll].current, device.alive.size()), "the number of allocations");
    require(equal(stats.requested_bytes[kAll].current, requested), "the bytes that were requested");
    require(equal(stats.allocated_bytes[kAll].current, allocated), "the bytes that are allocated");
    require(equal(stats.active_bytes[kAll].current, active), "the bytes that are active");
    require(equal(stats.active[kAll].current, active_blocks), "the number of active blocks");
    require(equal(stats.reserved_bytes[kAll].current, reserved), "the bytes that are reserved");
    require(equal(stats.segment[kAll].current, segments), "the number of segments");
    require(stats.num_device_alloc - stats.num_device_free == stats.segment[kAll].current, "the calls to the driver");
    require(stats.num_ooms == device.out_of_memory, "times out of memory are counted");
    // A direct allocator has no block that is a part of a segment.
    require(equal(stats.inactive_split[kAll].current, inactive_split), "the number of inactive split blocks");
  }
}

void check_snapshot(const acme::MemorySnapshot& snapshot) {
  std::map<c10::DeviceIndex, uintptr_t> ends;
  for (const acme::SegmentSnapshot& segment : snapshot.segments) {
    require(segment.address >= ends[segment.device], "segments do not overlap");
    ends[segment.device] = segment.address + segment.total_size;
    uintptr_t address = segment.address;
    size_t allocated = 0;
    size_t active = 0;
    size_t requested = 0;
    bool was_free = false;
    for (const acme::BlockSnapshot& block : segment.blocks) {
      require(block.address == address && block.size > 0, "blocks follow one another");
      require(block.requested_size <= block.size, "a block has what was requested");
      require(block.is_active || !block.is_allocated, "what is allocated is active");
      require(block.is_active || !was_free, "free neighbours are merged");
      was_free = !block.is_active;
      address += block.size;
      allocated += block.is_allocated ? block.size : 0;
      active += block.is_active ? block.size : 0;
      requested += block.requested_size;
    }
    require(address == segment.address + segment.total_size, "blocks fill their segment");
    require(allocated == segment.allocated_size && active == segment.active_size && requested == segment.requested_size,
            "a segment has the sums of its blocks");
  }
}

}  // namespace stress
