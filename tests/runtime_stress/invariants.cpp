#include "invariants.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "generated/runtime/AllocatorSettings.h"

namespace stress {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

#ifdef CACHING
constexpr bool kHasPools = true;
size_t max_split_size() { return acme::allocator_settings().max_split_size; }
#else
// A direct allocator has no pools, and splits nothing.
constexpr bool kHasPools = false;
size_t max_split_size() { return std::numeric_limits<size_t>::max(); }
#endif

struct Figure {
  const char* name;
  StatArray DeviceStats::* stat;
};

constexpr Figure kFigures[] = {
    {"allocation", &DeviceStats::allocation},
    {"segment", &DeviceStats::segment},
    {"active", &DeviceStats::active},
    {"inactive_split", &DeviceStats::inactive_split},
    {"allocated_bytes", &DeviceStats::allocated_bytes},
    {"reserved_bytes", &DeviceStats::reserved_bytes},
    {"active_bytes", &DeviceStats::active_bytes},
    {"inactive_split_bytes", &DeviceStats::inactive_split_bytes},
    {"requested_bytes", &DeviceStats::requested_bytes},
};

constexpr const char* kKinds[] = {"all", "small pool", "large pool"};

void add_block(DeviceStats& stats, const acme::SegmentSnapshot& segment, const acme::BlockSnapshot& block,
               size_t kind) {
  if (block.is_allocated) {
    stats.allocation[kind].increase(1);
    stats.allocated_bytes[kind].increase(block.size);
  }
  if (block.is_active) {
    stats.active[kind].increase(1);
    stats.active_bytes[kind].increase(block.size);
    stats.requested_bytes[kind].increase(block.requested_size);
  } else if (block.size < segment.total_size) {
    stats.inactive_split[kind].increase(1);
    stats.inactive_split_bytes[kind].increase(block.size);
  }
}

// These came with torch 2.13.
template <class Stats>
StatArray* reserved_by_pool(Stats& stats, c10::MempoolId_t pool) {
  if constexpr (requires { stats.reserved_bytes_by_private_pools; }) {
    return pool == c10::MempoolId_t{0, 0} ? nullptr : &stats.reserved_bytes_by_private_pools[pool];
  }
  return nullptr;
}

// The statistics that the snapshot's segments should have; only their current figures mean anything.
DeviceStats count(const acme::MemorySnapshot& snapshot, c10::DeviceIndex device) {
  DeviceStats stats;
  for (const acme::SegmentSnapshot& segment : snapshot.segments) {
    if (segment.device != device) {
      continue;
    }
    const auto count_for = [&](StatType type) {
      const auto kind = static_cast<size_t>(type);
      stats.segment[kind].increase(1);
      stats.reserved_bytes[kind].increase(segment.total_size);
      if (StatArray* reserved = reserved_by_pool(stats, segment.pool)) {
        (*reserved)[kind].increase(segment.total_size);
      }
      for (const acme::BlockSnapshot& block : segment.blocks) {
        add_block(stats, segment, block, kind);
      }
    };
    count_for(StatType::AGGREGATE);
    if (kHasPools) {
      count_for(segment.is_large ? StatType::LARGE_POOL : StatType::SMALL_POOL);
    }
    stats.oversize_segments.increase(segment.total_size >= max_split_size());
    for (const acme::BlockSnapshot& block : segment.blocks) {
      stats.oversize_allocations.increase(block.is_allocated && block.size >= max_split_size());
    }
  }
  return stats;
}

void check_stat(const Stat& found, const Stat& expected, const std::string& name) {
  if (found.current != expected.current) {
    throw std::runtime_error("violated: " + name + " is " + std::to_string(found.current) + ", and the snapshot has " +
                             std::to_string(expected.current));
  }
  require(found.peak >= found.current, "a peak is at least the current figure");
  require(found.allocated - found.freed == found.current, "what came and has not gone is there");
}

void check_stats(const StatArray& found, const StatArray& expected, const std::string& name) {
  for (size_t kind = 0; kind < expected.size(); ++kind) {
    check_stat(found[kind], expected[kind], name + " of " + kKinds[kind]);
  }
}

template <class Stats>
void check_private_pools(const Stats& found, Stats& expected) {
  if constexpr (requires { found.reserved_bytes_by_private_pools; }) {
    for (const auto& [pool, stat] : expected.reserved_bytes_by_private_pools) {
      require(found.reserved_bytes_by_private_pools.count(pool) == 1, "a private pool that has memory is counted");
    }
    for (const auto& [pool, stat] : found.reserved_bytes_by_private_pools) {
      check_stats(stat, expected.reserved_bytes_by_private_pools[pool], "reserved_bytes_by_private_pools");
    }
  }
}

}  // namespace

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::runtime_error(std::string("violated: ") + what);
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

void check_statistics(const DeviceStats& stats, const acme::MemorySnapshot& snapshot, c10::DeviceIndex device) {
  DeviceStats expected = count(snapshot, device);
  for (const Figure& figure : kFigures) {
    check_stats(stats.*figure.stat, expected.*figure.stat, figure.name);
  }
  check_stat(stats.oversize_allocations, expected.oversize_allocations, "oversize_allocations");
  check_stat(stats.oversize_segments, expected.oversize_segments, "oversize_segments");
  check_private_pools(stats, expected);
}

}  // namespace stress
