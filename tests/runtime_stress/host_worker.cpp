#include "host_worker.h"

#include <bit>
#include <iterator>
#include <memory>
#include <utility>

#include "generated/runtime/AcmeFunctions.h"
#include "generated/runtime/AcmeHostAllocator.h"
#include "generated/runtime/HostLaunch.h"
#include "memory_model.h"
#include "pattern.h"
#include "private_pools.h"

namespace stress {

void HostShared::compare() {
  stillness.still([this] {
    const at::HostStats stats = acme::getAcmeHostAllocator().get_stats();
    const std::lock_guard lock(mutex_);
    size_t bytes = 0;
    for (const auto& [address, size] : alive_) {
      bytes += std::bit_ceil(size);
    }
    for (const auto* stat :
         {&stats.active_requests, &stats.active_bytes, &stats.allocations, &stats.allocated_bytes}) {
      require(stat->peak >= stat->current, "a peak is at least the current figure");
      require(stat->allocated - stat->freed == stat->current, "what came and has not gone is there");
    }
    require(stats.active_requests.current == static_cast<int64_t>(alive_.size()), "the number of pinned allocations");
    require(stats.active_requests.allocated == static_cast<int64_t>(allocations.load()), "pinned allocations are counted");
    require(stats.active_bytes.current == static_cast<int64_t>(bytes), "the bytes of pinned allocations");
    require(stats.num_host_alloc - stats.num_host_free == stats.allocations.current, "the calls to the driver");
    require(stats.allocations.current >= stats.active_requests.current, "what is in use is of the driver");
    require(stats.allocated_bytes.current >= stats.active_bytes.current, "and so are its bytes");
  });
  compared.fetch_add(1, std::memory_order_relaxed);
}

void HostShared::add(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const std::lock_guard lock(mutex_);
  const auto next = alive_.lower_bound(address);
  require(next == alive_.end() || address + bytes <= next->first, "pinned memory does not overlap the next one");
  require(next == alive_.begin() || std::prev(next)->first + std::prev(next)->second <= address,
          "pinned memory does not overlap the previous one");
  alive_.emplace(address, bytes);
  allocations.fetch_add(1, std::memory_order_relaxed);
}

void HostShared::remove(const void* pointer) {
  const std::lock_guard lock(mutex_);
  require(alive_.erase(reinterpret_cast<uintptr_t>(pointer)) == 1, "what is freed was alive");
}

HostWorker::HostWorker(HostShared& shared, size_t, uint64_t seed) : shared_(shared), random_(seed) {}

void HostWorker::step() {
  const size_t choice = random(100);
  if (choice == 0) {
    const Stillness::Change change(shared_.stillness);
    acme::getAcmeHostAllocator().empty_cache();
  } else if (choice == 1) {
    const Stillness::Change change(shared_.stillness);
    acme::getAcmeHostAllocator().reset_peak_stats();
  } else if (random(40) >= allocations_.size()) {
    allocate();
  } else if (choice < 40) {
    read(any(), random_stream());
  } else if (choice < 60) {
    give_to_work();
  } else {
    Allocation allocation = take_any();
    const Stillness::Change change(shared_.stillness);
    shared_.remove(allocation.data.get());
    allocation.data.clear();
  }
  shared_.operations.fetch_add(1, std::memory_order_relaxed);
  if (const char* error = shared_.error) {
    require(false, error);
  }
}

void HostWorker::finish() {
  while (!allocations_.empty()) {
    give_to_work();
  }
  for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
    acme::synchronize_device(device);
  }
}

acme::AcmeStream HostWorker::random_stream() {
  const auto number = static_cast<c10::StreamId>(random(kSharedStreams));
  const auto device = static_cast<c10::DeviceIndex>(random(kDevices));
  return acme::AcmeStream(c10::Stream::unpack3(number << 10 | 1, device, c10::DeviceType::PrivateUse1));
}

void HostWorker::allocate() {
  const size_t bytes = 1 + random(size_t{1} << (4 + random(15)));
  const Stillness::Change change(shared_.stillness);
  c10::DataPtr data = acme::getAcmeHostAllocator().allocate(bytes);
  shared_.add(data.get(), bytes);
  const uint64_t pattern = random_();
  write_pattern(data.get(), bytes, pattern);
  allocations_.push_back({std::move(data), bytes, pattern});
}

HostWorker::Allocation& HostWorker::any() { return allocations_[random(allocations_.size())]; }

HostWorker::Allocation HostWorker::take_any() {
  std::swap(any(), allocations_.back());
  Allocation allocation = std::move(allocations_.back());
  allocations_.pop_back();
  return allocation;
}

void HostWorker::read(const Allocation& allocation, const acme::AcmeStream& stream) {
  acme::launch_host_function(stream, "read",
                             [shared = &shared_, memory = allocation.data.get(), bytes = allocation.bytes,
                              pattern = allocation.pattern] {
                               wait_a_little(pattern);
                               if (!has_pattern(memory, bytes, pattern)) {
                                 shared->error = "pinned memory belongs to its owner until all streams have passed";
                               }
                             });
  // A view of a tensor has another address than the memory, and the same context; a library has an address only.
  auto* inside = static_cast<std::byte*>(allocation.data.get()) + random(allocation.bytes);
  require(acme::is_pinned(inside), "what is pinned is known");
  void* context = random(2) == 0 ? allocation.data.get_context() : nullptr;
  require(acme::getAcmeHostAllocator().record_event(inside, context, stream), "the memory of an address is found");
  shared_.recorded.fetch_add(1, std::memory_order_relaxed);
}

// Work that owns memory frees it on the driver's thread.
void HostWorker::give_to_work() {
  auto owned = std::make_shared<Allocation>(take_any());
  const acme::AcmeStream stream = random_stream();
  read(*owned, stream);
  acme::launch_host_function(stream, "own", [shared = &shared_, owned = std::move(owned)]() mutable {
    const Stillness::Change change(shared->stillness);
    shared->remove(owned->data.get());
    owned.reset();
  });
}

}  // namespace stress
