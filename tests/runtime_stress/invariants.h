#pragma once

// What holds for the allocator whatever it was asked for.

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>

#include "generated/runtime/MemorySnapshot.h"

namespace stress {

/// Raises std::runtime_error, which names the place, unless `holds`.
void require(bool holds, const char* what);

/// Checks what holds for any snapshot: blocks fill their segments, no two free neighbours are left unmerged, and the
/// sums are those of the blocks.
void check_snapshot(const acme::MemorySnapshot& snapshot);

/// Checks that the statistics of `device` are those of the snapshot, each kind of pool by itself. Nothing may have
/// changed between them.
void check_statistics(const c10::CachingDeviceAllocator::DeviceStats& stats, const acme::MemorySnapshot& snapshot,
                      c10::DeviceIndex device);

}  // namespace stress
