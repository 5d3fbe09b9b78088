#include "cases.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "generated/runtime/AcmeAllocator.h"
#include "generated/runtime/AcmeFunctions.h"
#include "generated/runtime/AllocatorSettings.h"
#include "generated/runtime/HostLaunch.h"
#include "memory_model.h"

namespace stress {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

acme::AcmeAllocator& allocator() { return acme::getAcmeAllocator(); }

acme::AcmeStream pool_stream(int number) {
  return acme::AcmeStream(c10::Stream::unpack3(static_cast<c10::StreamId>(number) << 10 | 1, 0, c10::DeviceType::PrivateUse1));
}

int64_t reserved() { return allocator().getDeviceStats(0).reserved_bytes[0].current; }

template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

void out_of_memory_has_figures_and_observers() {
  static std::vector<size_t> requests;
  allocator().attachOutOfMemoryObserver([](c10::DeviceIndex device, size_t requested, size_t limit, size_t free) {
    // No lock is held: the observer may ask the allocator.
    require(allocator().getDeviceStats(device).num_ooms > 0, "the observer can see the statistics");
    const size_t total = acme::memory_info(device).second;
    require(limit > 0 && limit <= total && free <= total, "the observer has the figures");
    requests.push_back(requested);
  });
  const c10::DataPtr kept = allocator().allocate(3 * kMiB);
  const std::string error = error_of([] { allocator().allocate(1000 * kMiB); });
  for (const char* part : {"acme:0 is out of memory", "1000.00 MiB", "64.00 MiB in total", "are free", "3.00 MiB are allocated"}) {
    require(error.find(part) != std::string::npos, part);
  }
  const std::string huge = error_of([] { allocator().allocate(static_cast<size_t>(-1)); });
  require(huge.find("EiB") != std::string::npos, "a size that cannot be rounded up is out of memory too");
  require(requests == std::vector<size_t>{1000 * kMiB, static_cast<size_t>(-1)}, "the observer is called once each time");
}

void the_fraction_is_a_limit() {
  allocator().setMemoryFraction(0.5, 0);
  const c10::DataPtr half = allocator().allocate(24 * kMiB);
  const std::string error = error_of([] { allocator().allocate(16 * kMiB); });
  require(error.find("This process may use 32.00 MiB of it") != std::string::npos, "the error names the limit");
  allocator().setMemoryFraction(1, 0);
  const c10::DataPtr more = allocator().allocate(16 * kMiB);
  require(error_of([] { allocator().setMemoryFraction(-0.5, 0); }) != "", "a negative fraction is refused");
}

void the_history_tells_what_happened() {
  allocator().recordHistory(acme::RecordContext::kState, nullptr, {.max_entries = 100});
  void* pointer = allocator().raw_alloc(1000);
  allocator().raw_delete(pointer);
  acme::synchronize_device(0);
  allocator().emptyCache();
  std::vector<std::string> actions;
  const acme::MemorySnapshot snapshot = allocator().snapshot();
  for (const acme::TraceEntry& entry : snapshot.traces[0]) {
    actions.emplace_back(to_string(entry.action));
    require(entry.action == acme::TraceEntry::Action::kSnapshot || entry.address == reinterpret_cast<uintptr_t>(pointer),
            "events are of this memory");
  }
  require(actions == std::vector<std::string>{"segment_alloc", "alloc", "free_requested", "free_completed", "segment_free", "snapshot"},
          "events are in order");
  allocator().recordHistory(acme::RecordContext::kState, nullptr, {.max_entries = 2});
  allocator().raw_delete(allocator().raw_alloc(1000));
  require(allocator().snapshot().traces[0].size() == 2, "the history has a limit");
  allocator().recordHistory(acme::RecordContext::kNever);
  require(allocator().snapshot().traces[0].empty(), "the history ends");
}

void raw_memory_has_a_device() {
  void* pointer = allocator().raw_alloc_with_stream(kMiB, pool_stream(1));
  require(allocator().device_of(static_cast<std::byte*>(pointer) + kMiB - 1) == 0, "an inner address is found");
  require(!allocator().device_of(&pointer).has_value(), "the host's memory is not");
  require(allocator().raw_alloc(0) == nullptr, "nothing is null");
  allocator().raw_delete(nullptr);
  require(allocator().owns(pointer), "what is allocated is known");
  require(!allocator().owns(static_cast<std::byte*>(pointer) + 1), "by its start");
  allocator().raw_delete(pointer);
  require(!allocator().owns(pointer), "until it is freed");
}

void what_streams_still_use_is_active() {
  std::atomic<bool> is_released{false};
  acme::launch_host_function(pool_stream(1), "wait", [&] {
    while (!is_released) {
      std::this_thread::yield();
    }
  });
  c10::DataPtr data = allocator().allocate(1000);
  allocator().recordStream(data, pool_stream(1));
  data.clear();
  auto stats = allocator().getDeviceStats(0);
  require(stats.allocation[0].current == 0 && stats.allocated_bytes[0].current == 0, "nobody owns it");
  require(stats.active[0].current == 1 && stats.active_bytes[0].current == 1024, "a stream still uses it");
  require(stats.requested_bytes[0].current == 1000, "so it is still counted as requested");
  const acme::MemorySnapshot snapshot = allocator().snapshot();
  const acme::BlockSnapshot& block = snapshot.segments.at(0).blocks.at(0);
  require(block.is_active && !block.is_allocated && block.requested_size == 1000, "the snapshot says so too");
  is_released = true;
  acme::synchronize_device(0);
  allocator().emptyCache();
  stats = allocator().getDeviceStats(0);
  require(stats.active[0].current == 0 && stats.requested_bytes[0].current == 0, "until the stream has passed");
}

#ifdef CACHING
constexpr c10::MempoolId_t kPool{1, 0};

void configure(const std::string& text) {
  c10::CachingAllocator::setAllocatorSettings(text);
  acme::load_allocator_settings();
}

void freed_memory_is_given_out_again() {
  void* first = allocator().raw_alloc_with_stream(kMiB / 2, pool_stream(1));
  allocator().raw_delete(first);
  void* other = allocator().raw_alloc_with_stream(kMiB / 2, pool_stream(2));
  void* again = allocator().raw_alloc_with_stream(kMiB / 2, pool_stream(1));
  require(again == first && other != first, "memory belongs to its stream");
  allocator().raw_delete(other);
  allocator().raw_delete(again);
}

void the_best_fit_is_split_and_merged() {
  std::vector<void*> blocks;
  for (const size_t size : {64, 8, 64, 16, 64, 12, 64}) {
    blocks.push_back(allocator().raw_alloc(size << 10));
  }
  // Holes of 8, 16 and 12 KiB.
  for (const int hole : {1, 3, 5}) {
    allocator().raw_delete(blocks[hole]);
  }
  require(allocator().getDeviceStats(0).inactive_split[0].current == 4, "holes and the rest of the segment are counted");
  void* fitting = allocator().raw_alloc(10 << 10);
  require(fitting == blocks[5], "the smallest hole that fits is taken");
  allocator().raw_delete(fitting);
  for (const int block : {0, 2, 4, 6}) {
    allocator().raw_delete(blocks[block]);
  }
  const acme::MemorySnapshot snapshot = allocator().snapshot();
  require(snapshot.segments.size() == 1 && snapshot.segments[0].blocks.size() == 1, "all are merged");
}

void private_pools_keep_their_memory() {
  const auto any_stream = [](c10::Stream) { return true; };
  allocator().beginAllocateToPool(0, kPool, any_stream);
  void* inside = allocator().raw_alloc(kMiB);
  allocator().endAllocateToPool(0, kPool);
  allocator().raw_delete(inside);
  void* outside = allocator().raw_alloc(kMiB);
  const acme::MemorySnapshot snapshot = allocator().snapshot();
  for (const acme::SegmentSnapshot& segment : snapshot.segments) {
    const bool is_inside = segment.address == reinterpret_cast<uintptr_t>(inside);
    require((segment.pool == kPool) == is_inside, "only the pool's memory is in the pool");
  }
  require(outside != inside, "the pool's memory serves nobody else");
  allocator().raw_delete(outside);
  allocator().emptyCache();
  require(reserved() == 2 * static_cast<int64_t>(kMiB), "a pool in use keeps its memory");

  allocator().beginAllocateToPool(0, kPool, [](c10::Stream stream) { return stream.id() != 0; });
  void* filtered = allocator().raw_alloc(kMiB);
  void* reused = allocator().raw_alloc_with_stream(kMiB, pool_stream(1));
  require(allocator().snapshot().segments.size() == 3, "streams keep apart, in a pool too");
  require(error_of([&] { allocator().beginAllocateToPool(0, kPool, any_stream); }) != "", "a pool begins once");
  allocator().endAllocateToPool(0, kPool);
  require(error_of([] { allocator().endAllocateToPool(0, kPool); }) != "", "a pool ends once");

  allocator().releasePool(0, kPool);
  allocator().releasePool(0, kPool);
  require(error_of([] { allocator().releasePool(0, kPool); }) != "", "a pool is released as often as it was begun");
  allocator().emptyCache();
  allocator().raw_delete(reused);
  allocator().raw_delete(filtered);
  allocator().emptyCache();
  require(reserved() == 0, "a pool that is not in use gives its memory back");
  require(error_of([] { allocator().emptyCache(kPool); }) != "", "a pool without memory is gone");
}

// A graph may have been replayed on any stream, and nobody recorded it.
void released_pools_wait_for_the_device() {
  allocator().beginAllocateToPool(0, kPool, [](c10::Stream) { return true; });
  void* inside = allocator().raw_alloc_with_stream(kMiB, pool_stream(1));
  allocator().endAllocateToPool(0, kPool);
  allocator().raw_delete(inside);
  std::atomic<bool> has_run{false};
  acme::launch_host_function(pool_stream(2), "slow", [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    has_run = true;
  });
  allocator().releasePool(0, kPool);
  allocator().emptyCache();
  require(reserved() == 0, "the memory is given back");
  require(has_run, "when nothing runs any more");
}

void large_blocks_are_not_split() {
  configure("max_split_size_mb:24,max_non_split_rounding_mb:20");
  const auto all = static_cast<int64_t>(64 * kMiB);
  allocator().raw_delete(allocator().raw_alloc(44 * kMiB));
  require(allocator().getDeviceStats(0).oversize_segments.current == 1, "a segment that is too large is counted");
  void* small = allocator().raw_alloc(5 * kMiB);
  require(reserved() == all, "a large block is kept for large allocations");
  void* nearly = allocator().raw_alloc(43 * kMiB);
  require(reserved() == all, "it serves what is about as large");
  require(allocator().getDeviceStats(0).oversize_allocations.current == 1, "an allocation that is too large is counted");
  allocator().raw_delete(nearly);
  require(allocator().getDeviceStats(0).oversize_allocations.current == 0, "and no more when it is freed");
  void* less = allocator().raw_alloc(20 * kMiB);
  require(reserved() == static_cast<int64_t>(40 * kMiB), "it makes room when memory runs out");
  require(allocator().getDeviceStats(0).num_alloc_retries == 0, "before anything else is given back");
  allocator().raw_delete(less);
  allocator().raw_delete(small);
}

void garbage_is_collected_above_the_threshold() {
  configure("garbage_collection_threshold:0.6");
  void* old = allocator().raw_alloc(12 * kMiB);
  void* young = allocator().raw_alloc(14 * kMiB);
  allocator().raw_delete(old);
  allocator().raw_delete(allocator().raw_alloc(1000));
  allocator().raw_delete(young);
  void* more = allocator().raw_alloc_with_stream(16 * kMiB, pool_stream(1));
  require(reserved() == 32 * static_cast<int64_t>(kMiB), "the oldest goes, and no more than is needed");
  require(allocator().getDeviceStats(0).num_alloc_retries == 0, "before memory runs out");
  allocator().raw_delete(more);
}

void sizes_are_rounded_up_by_divisions() {
  configure("roundup_power2_divisions:[1:1,2:8,>:4]");
  const auto allocated = [](size_t bytes) {
    const c10::DataPtr data = allocator().allocate(bytes);
    return static_cast<size_t>(allocator().getDeviceStats(0).allocated_bytes[0].current);
  };
  require(allocated(1000) == 1024, "small sizes are rounded to the alignment");
  require(allocated(2 * kMiB + 1) == 2 * kMiB + kMiB / 4, "eight steps from 2 MiB on");
  require(allocated(8 * kMiB + 1) == 10 * kMiB, "four steps above");
  require(allocated(8 * kMiB) == 8 * kMiB, "a step stays");
}

void settings_that_make_no_sense_are_refused() {
  require(error_of([] { configure("per_process_memory_fraction:2"); }).find("up to 1") != std::string::npos, "a fraction of 2");
  require(error_of([] { configure("expandable_segments:True"); }).find("expandable") != std::string::npos, "mapped memory");
  configure("per_process_memory_fraction:0.25");
  require(allocator().getMemoryFraction(1) == 0.25, "a fraction is taken over");
  require(allocator().getMemoryFraction(0) == 1, "and counts less than the device's own");
}
#endif

}  // namespace

int run_cases() {
  const std::pair<const char*, void (*)()> cases[] = {
      {"out of memory", out_of_memory_has_figures_and_observers},
      {"fraction", the_fraction_is_a_limit},
      {"history", the_history_tells_what_happened},
      {"raw memory", raw_memory_has_a_device},
      {"pending", what_streams_still_use_is_active},
#ifdef CACHING
      {"reuse", freed_memory_is_given_out_again},
      {"best fit", the_best_fit_is_split_and_merged},
      {"private pools", private_pools_keep_their_memory},
      {"released pools", released_pools_wait_for_the_device},
      {"large blocks", large_blocks_are_not_split},
      {"garbage", garbage_is_collected_above_the_threshold},
      {"rounding", sizes_are_rounded_up_by_divisions},
      {"settings", settings_that_make_no_sense_are_refused},
#endif
  };
  acme::load_allocator_settings();
  int count = 0;
  for (const auto& [name, function] : cases) {
    try {
      function();
#ifdef CACHING
      configure("");
#endif
      allocator().emptyCache();
      require(reserved() == 0, "nothing is left");
      allocator().resetAccumulatedStats(0);
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string(name) + ": " + error.what());
    }
    ++count;
  }
  return count;
}

}  // namespace stress
