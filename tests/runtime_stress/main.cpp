// The stress test of the allocators.
//
//   stress device SEED THREADS STEPS    random use of device memory, compared with the model
//   stress pinned SEED THREADS STEPS    the same of pinned memory
//   stress cases                        single behaviours
//   stress measure                      nanoseconds of an allocation and its freeing, as one line

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "generated/native/NativeFunctions.h"
#include "generated/runtime/AcmeAllocator.h"
#include "generated/runtime/AcmeFunctions.h"
#include "generated/runtime/AcmeHostAllocator.h"
#include "generated/runtime/AllocatorSettings.h"
#include "cases.h"
#include "host_worker.h"
#include "memory_model.h"
#include "sim_debug.h"
#include "threads.h"
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

void measure_all() {
  std::vector<c10::DataPtr> others;
  for (size_t i = 0; i < 1000; ++i) {
    others.push_back(acme::getAcmeAllocator().allocate(512 * (1 + i % 64)));
  }
  const double alone = measure(4096);
  for (size_t i = 0; i < others.size(); i += 2) {
    others[i].clear();
  }
  std::printf("allocate and free, ns: %.0f one block, %.0f among 500 free blocks, %.0f of 8 MiB\n", alone, measure(4096),
              measure(8 << 20));
}

struct RandomUse {
  explicit RandomUse(char** arguments)
      : seed(std::strtoull(arguments[0], nullptr, 10)),
        threads(std::strtoull(arguments[1], nullptr, 10)),
        steps(std::strtoull(arguments[2], nullptr, 10)) {}
  uint64_t seed;
  size_t threads;
  size_t steps;
};

void print(std::initializer_list<std::pair<const char*, uint64_t>> counts) {
  const char* separator = "";
  for (const auto& [name, number] : counts) {
    std::printf("%s%s %lu", std::exchange(separator, ", "), name, static_cast<unsigned long>(number));
  }
  std::printf("\n");
}

void use_device_memory(const RandomUse& use) {
  setenv("PYTORCH_ALLOC_CONF", settings_of(use.seed), 1);
  acme::load_allocator_settings();
  Shared shared;
  // Every other seed has a history, which is long enough to be cut off.
  if (use.seed % 2 == 1) {
    acme::getAcmeAllocator().recordHistory(acme::RecordContext::kAll, &make_context, {.max_entries = 2000});
  }
  run_threads<Worker>(shared, use.seed, use.threads, use.steps);
  check_empty(shared);
  acme::getAcmeAllocator().recordHistory(acme::RecordContext::kNever);
  require(live_contexts() == 0, "no context is left");
  print({{"operations", shared.operations},
         {"compared", shared.compared},
         {"allocations", shared.model.allocations()},
         {"recorded", shared.recorded},
         {"launched", shared.launched},
         {"out of memory", shared.model.out_of_memory()},
         {"injected", simFaultCount()},
         {"redirected", shared.redirections.begun},
         {"refused", shared.refused}});
}

void use_pinned_memory(const RandomUse& use) {
  HostShared shared;
  run_threads<HostWorker>(shared, use.seed, use.threads, use.steps);
  acme::getAcmeHostAllocator().empty_cache();
  shared.compare();
  const at::HostStats stats = acme::getAcmeHostAllocator().get_stats();
  require(stats.allocations.current == 0 && stats.allocated_bytes.current == 0, "the driver has all pinned memory back");
  print({{"operations", shared.operations},
         {"compared", shared.compared},
         {"allocations", shared.allocations},
         {"recorded", shared.recorded},
         {"of the driver", static_cast<uint64_t>(stats.num_host_alloc)}});
}

int run(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  if (count == 2 && mode == "measure") {
    measure_all();
  } else if (count == 2 && mode == "cases") {
    std::printf("cases %d\n", run_cases());
  } else if (count == 5 && mode == "device") {
    use_device_memory(RandomUse(arguments + 2));
  } else if (count == 5 && mode == "pinned") {
    use_pinned_memory(RandomUse(arguments + 2));
  } else {
    std::fprintf(stderr, "usage: stress device|pinned SEED THREADS STEPS | stress cases | stress measure\n");
    return 2;
  }
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
