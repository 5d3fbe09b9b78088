// The stress test of the allocator.
//
//   stress SEED THREADS STEPS    random use, compared with the model
//   stress cases                 single behaviours
//   stress measure               nanoseconds of an allocation and its freeing, as one line

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "generated/native/NativeFunctions.h"
#include "generated/runtime/AcmeAllocator.h"
#include "generated/runtime/AcmeFunctions.h"
#include "generated/runtime/AllocatorSettings.h"
#include "cases.h"
#include "memory_model.h"
#include "sim_debug.h"
#include "worker.h"

namespace acme {
// Of Initialize.cpp, which is not a part of this program.
bool is_initialized() noexcept { return true; }

namespace native {
// Of the operators, which are not either: graphs need them, and none is captured here.
at::Tensor as_strided(const at::Tensor&, c10::SymIntArrayRef, c10::SymIntArrayRef, std::optional<c10::SymInt>) { std::abort(); }
at::Tensor& fill__Scalar(at::Tensor&, const at::Scalar&) { std::abort(); }
}  // namespace native
}  // namespace acme

namespace {

using namespace stress;

// All threads meet after so many steps.
constexpr size_t kRound = 500;

// The allocator is compared with the model after each step, and with several threads, which then seldom do something at
// the same time, in every other round only when they meet.
bool is_compared_after_each_step(size_t threads, size_t round) { return threads == 1 || round % 2 == 0; }

// What PYTORCH_ALLOC_CONF is. Every fourth seed has the allocator's own settings.
const char* settings_of(uint64_t seed) {
  constexpr const char* kSettings[] = {
      "max_split_size_mb:21,garbage_collection_threshold:0.6",
      "max_split_size_mb:21,garbage_collection_threshold:0.6,roundup_power2_divisions:[1:8,4:4,>:2]",
      "",
      "roundup_power2_divisions:[1:8,4:4,>:2]",
  };
  return kSettings[seed % std::size(kSettings)];
}

void run_threads(Shared& shared, uint64_t seed, size_t threads, size_t steps) {
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto keep_error = [&] {
    const std::lock_guard lock(error_mutex);
    error = error != nullptr ? error : std::current_exception();
  };
  const size_t rounds = (steps + kRound - 1) / kRound;
  std::barrier barrier(static_cast<std::ptrdiff_t>(threads), [&]() noexcept {
    try {
      shared.compare();
    } catch (...) {
      keep_error();
    }
  });
  const auto work = [&](size_t number) {
    Worker worker(shared, number, seed * 1000 + number);
    for (size_t round = 0; round < rounds; ++round) {
      try {
        for (size_t step = 0; step < kRound; ++step) {
          worker.step();
          if (is_compared_after_each_step(threads, round)) {
            shared.compare();
          }
        }
      } catch (...) {
        keep_error();
      }
      barrier.arrive_and_wait();
    }
    try {
      worker.finish();
    } catch (...) {
      keep_error();
    }
  };
  std::vector<std::thread> running;
  for (size_t number = 0; number < threads; ++number) {
    running.emplace_back(work, number);
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  if (error != nullptr) {
    std::rethrow_exception(error);
  }
}

void check_empty(Shared& shared) {
  acme::getAcmeAllocator().emptyCache();
  shared.compare();
  for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
    const auto stats = acme::getAcmeAllocator().getDeviceStats(device);
    require(stats.reserved_bytes[0].current == 0, "an empty cache holds nothing");
    require(acme::memory_info(device).first == acme::memory_info(device).second, "the driver has all memory back");
  }
}

// The best of many short runs: other processes seldom disturb all of them.
double measure(size_t bytes) {
  constexpr size_t kRepeats = 5000;
  acme::AcmeAllocator& allocator = acme::getAcmeAllocator();
  double best = 1e9;
  for (int attempt = 0; attempt < 200; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kRepeats; ++i) {
      const c10::DataPtr data = allocator.allocate(bytes);
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / kRepeats);
  }
  return best;
}

int run(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "measure") == 0) {
    std::vector<c10::DataPtr> others;
    for (size_t i = 0; i < 1000; ++i) {
      others.push_back(acme::getAcmeAllocator().allocate(512 * (1 + i % 64)));
    }
    const double alone = measure(4096);
    for (size_t i = 0; i < others.size(); i += 2) {
      others[i].clear();
    }
    std::printf("allocate and free, ns: %.0f one block, %.0f among 500 free blocks, %.0f of 8 MiB\n", alone,
                measure(4096), measure(8 << 20));
    return 0;
  }
  if (count == 2 && std::strcmp(arguments[1], "cases") == 0) {
    std::printf("cases %d\n", run_cases());
    return 0;
  }
  if (count != 4) {
    std::fprintf(stderr, "usage: stress SEED THREADS STEPS | stress cases | stress measure\n");
    return 2;
  }
  const uint64_t seed = std::strtoull(arguments[1], nullptr, 10);
  const size_t threads = std::strtoull(arguments[2], nullptr, 10);
  const size_t steps = std::strtoull(arguments[3], nullptr, 10);
  setenv("PYTORCH_ALLOC_CONF", settings_of(seed), 1);
  acme::load_allocator_settings();
  Shared shared;
  // Every other seed has a history, which is long enough to be cut off.
  if (seed % 2 == 1) {
    acme::getAcmeAllocator().recordHistory(acme::RecordContext::kAll, &make_context, {.max_entries = 2000});
  }
  run_threads(shared, seed, threads, steps);
  check_empty(shared);
  acme::getAcmeAllocator().recordHistory(acme::RecordContext::kNever);
  require(live_contexts() == 0, "no context is left");
  const std::pair<const char*, uint64_t> counts[] = {
      {"operations", shared.operations}, {"compared", shared.compared}, {"allocations", shared.model.allocations()},
      {"recorded", shared.recorded},     {"launched", shared.launched}, {"out of memory", shared.model.out_of_memory()},
      {"injected", simFaultCount()},     {"redirected", shared.redirections.begun}, {"refused", shared.refused},
  };
  const char* separator = "";
  for (const auto& [name, number] : counts) {
    std::printf("%s%s %lu", std::exchange(separator, ", "), name, static_cast<unsigned long>(number));
  }
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
