// Faults on demand, slow streams, and what memory is filled with.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "sim_blas.h"
#include "sim_debug.h"
#include "support.h"

namespace {

bool holds(const void* address, std::size_t size, std::uint16_t pattern) {
  const std::byte* bytes = hidden(address);
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    std::uint16_t found = 0;
    std::memcpy(&found, bytes + i, sizeof found);
    if (found != pattern) {
      return false;
    }
  }
  return true;
}

simError_t try_malloc() {
  void* address = nullptr;
  const simError_t status = simMalloc(&address, 64);
  CHECK((status == simSuccess) == (address != nullptr));
  return status;
}

}  // namespace

CASE(the_nth_allocation_is_out_of_memory) {
  setenv("SIM_OUT_OF_MEMORY_AT", "3", 1);
  OK(try_malloc());
  OK(try_malloc());
  CHECK_STATUS(simErrorMemoryAllocation, try_malloc());
  OK(try_malloc());
  CHECK(simFaultCount() == 1);
  OK(simSetFault("SIM_OUT_OF_MEMORY_COUNT", "2"));
  OK(simSetFault("SIM_OUT_OF_MEMORY_AT", "2"));
  OK(try_malloc());
  CHECK_STATUS(simErrorMemoryAllocation, try_malloc());
  CHECK_STATUS(simErrorMemoryAllocation, try_malloc());
  OK(try_malloc());
  OK(simResetFaults());
  CHECK(simFaultCount() == 0);
  OK(simSetFault("SIM_OUT_OF_MEMORY_AT", "0"));
  for (int i = 0; i < 10; ++i) {
    OK(try_malloc());
  }
}

CASE(faults_may_be_those_of_one_device) {
  OK(simSetFault("SIM_FAULT_DEVICE", "1"));
  OK(simSetFault("SIM_OUT_OF_MEMORY_AT", "1"));
  OK(try_malloc());
  OK(simSetDevice(1));
  CHECK_STATUS(simErrorMemoryAllocation, try_malloc());
  OK(try_malloc());
}

CASE(a_limit_makes_memory_small) {
  OK(simSetFault("SIM_MEMORY_LIMIT", "1048576"));
  std::size_t available = 0, total = 0;
  OK(simMemGetInfo(&available, &total));
  CHECK(available == 1048576 && total == std::size_t{4} << 30);
  std::byte* block = device_memory(1048576 - 512);
  CHECK_STATUS(simErrorMemoryAllocation, simMalloc(reinterpret_cast<void**>(&block), 1024));
  OK(try_malloc());
  CHECK_STATUS(simErrorMemoryAllocation, try_malloc());
  OK(simSetFault("SIM_MEMORY_LIMIT", "4096"));  // less than what is in use
  OK(simMemGetInfo(&available, &total));
  CHECK(available == 0);
  CHECK_STATUS(simErrorMemoryAllocation, try_malloc());
  OK(simSetFault("SIM_MEMORY_LIMIT", "0"));
  OK(try_malloc());
}

CASE(settings_are_checked) {
  for (const char* name : {"SIM_RACE", "SIM_TASK_JITTER", "SIM_LAUNCH_FAILURE_AT"}) {
    if (const pid_t child = fork(); child == 0) {
      setenv(name, "much", 1);
      void* address = nullptr;
      CHECK_STATUS(simErrorInvalidConfiguration, simMalloc(&address, 16));
      std::_Exit(0);
    } else {
      int status = 0;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
  }
  for (const auto& [name, value] :
       {std::pair("SIM_RACE", "on"), std::pair("SIM_RACE", ""), std::pair("SIM_POISON", "yes"),
        std::pair("SIM_POISON", "-1"), std::pair("SIM_OUT_OF_MEMORY_COUNT", "0"),
        std::pair("SIM_TASK_DELAY", "1ms"), std::pair("SIM_DEVICE_COUNT", "3")}) {
    CHECK_STATUS(simErrorInvalidValue, simSetFault(name, value));
  }
  CHECK_STATUS(simErrorInvalidValue, simSetFault("SIM_RACE", nullptr));
}

CASE(a_device_that_fails_to_initialize_leaves_the_others) {
  setenv("SIM_DEVICE_FAILURE", "0", 1);
  int count = 0;
  OK(simGetDeviceCount(&count));
  CHECK(count == 2);
  OK(simSetDevice(0));
  for (int i = 0; i < 2; ++i) {
    CHECK_STATUS(simErrorDeviceUnavailable, try_malloc());
    CHECK_STATUS(simErrorDeviceUnavailable, simDeviceSynchronize());
    simStream_t stream = nullptr;
    CHECK_STATUS(simErrorDeviceUnavailable, simStreamCreateWithPriority(&stream, 0, 0));
  }
  OK(simSetDevice(1));
  std::byte* block = device_memory(64);
  OK(simMemsetAsync(block, 1, 64, nullptr));
  OK(simDeviceSynchronize());
  OK(simFree(block));
  OK(simSetFault("SIM_DEVICE_FAILURE", "-1"));  // repaired
  OK(simSetDevice(0));
  OK(try_malloc());
}

CASE(the_nth_work_fails_and_is_named) {
  std::byte* block = device_memory(64);
  OK(simSetFault("SIM_LAUNCH_FAILURE_AT", "2"));
  OK(simMemsetAsync(block, 1, 32, nullptr));
  OK(simMemsetAsync(block + 32, 1, 32, nullptr));
  const simError_t status = simStreamSynchronize(nullptr);
  CHECK(status == simErrorLaunchFailure);
  CHECK(std::string(simGetErrorString(status)) == "enqueued work failed (\"memset\" on device 0)");
  CHECK(hidden(block)[31] == std::byte{1});
  CHECK(holds(block + 32, 32, 0x7FFD));
  OK(simMemsetAsync(block + 32, 1, 32, nullptr));
  OK(simStreamSynchronize(nullptr));
  CHECK(hidden(block)[63] == std::byte{1});
  CHECK_STATUS(simErrorInvalidDevice, simSetDevice(7));
  CHECK(std::string(simGetErrorString(simErrorLaunchFailure)) == "enqueued work failed");
}

CASE(work_of_a_name_fails) {
  constexpr std::size_t size = 4 * sizeof(float);
  std::byte* a = device_memory(size);
  std::byte* b = device_memory(size);
  OK(simMemsetAsync(a, 0, size, nullptr));
  OK(simSetFault("SIM_LAUNCH_FAILURE_KERNEL", "simSoftmaxForward"));
  OK(simMemsetAsync(b, 0, size, nullptr));
  OK(simStreamSynchronize(nullptr));
  for (int i = 0; i < 2; ++i) {
    OK(simSoftmaxForward(nullptr, simFloat32, false, 1, 4, 1, a, b));
    CHECK_STATUS(simErrorLaunchFailure, simStreamSynchronize(nullptr));
    CHECK(std::isnan(*reinterpret_cast<float*>(hidden(b))));
  }
  OK(simSetFault("SIM_LAUNCH_FAILURE_AT", "2"));  // the second of that name
  OK(simSoftmaxForward(nullptr, simFloat32, false, 1, 4, 1, a, b));
  OK(simStreamSynchronize(nullptr));
  OK(simMemsetAsync(a, 0, size, nullptr));
  OK(simSoftmaxForward(nullptr, simFloat32, false, 1, 4, 1, a, b));
  CHECK_STATUS(simErrorLaunchFailure, simDeviceSynchronize());
  // A host function is run, so that it can free what it owns.
  OK(simSetFault("SIM_LAUNCH_FAILURE_AT", "0"));
  OK(simSetFault("SIM_LAUNCH_FAILURE_KERNEL", "mine"));
  static bool ran = false;
  OK(simDeclareAccess("mine", nullptr, 0, 0, nullptr, nullptr, simAccessRead));
  OK(simLaunchHostFunc(nullptr, [](void*) { ran = true; }, nullptr));
  CHECK_STATUS(simErrorLaunchFailure, simStreamSynchronize(nullptr));
  CHECK(ran);
  OK(simLaunchHostFunc(nullptr, [](void*) {}, nullptr));  // the name was that of the one before
  OK(simStreamSynchronize(nullptr));
}

CASE(failing_work_leaves_other_devices_alone) {
  OK(simSetFault("SIM_FAULT_DEVICE", "1"));
  OK(simSetFault("SIM_LAUNCH_FAILURE_KERNEL", "memset"));
  std::byte* blocks[2];
  for (int device : {0, 1}) {
    OK(simSetDevice(device));
    blocks[device] = device_memory(64);
    OK(simMemsetAsync(blocks[device], 1, 64, nullptr));
  }
  OK(simSetDevice(0));
  OK(simDeviceSynchronize());
  CHECK(hidden(blocks[0])[0] == std::byte{1});
  OK(simSetDevice(1));
  CHECK_STATUS(simErrorLaunchFailure, simDeviceSynchronize());
  OK(simMemcpyPeerAsync(blocks[1], 1, blocks[0], 0, 64, nullptr));
  OK(simDeviceSynchronize());
  CHECK(hidden(blocks[1])[63] == std::byte{1});
}

CASE(failed_work_of_the_library_is_named) {
  auto* weight = device_memory(4 * sizeof(float));
  auto* index = device_memory(sizeof(std::int64_t));
  *reinterpret_cast<std::int64_t*>(hidden(index)) = 9;
  OK(simEmbeddingForward(nullptr, simFloat32, simInt64, 1, 4, 1, weight, index, weight));
  const simError_t status = simStreamSynchronize(nullptr);
  CHECK(status == simErrorAssert);
  CHECK(std::string(simGetErrorString(status)) ==
        "an index is out of range on the device (\"simEmbeddingForward\" on device 0)");
}

CASE(streams_may_be_slow) {
  using Time = std::chrono::steady_clock;
  OK(simSetFault("SIM_TASK_DELAY", "30000"));
  std::byte* block = device_memory(64);
  const auto begin = Time::now();
  OK(simMemsetAsync(block, 1, 64, nullptr));
  OK(simMemsetAsync(block, 2, 64, nullptr));
  CHECK_STATUS(simErrorNotReady, simStreamQuery(nullptr));
  OK(simStreamSynchronize(nullptr));
  CHECK(Time::now() - begin >= std::chrono::milliseconds(60));
  OK(simSetFault("SIM_TASK_DELAY", "0"));
  OK(simSetFault("SIM_TASK_JITTER", "2000"));
  OK(simSetFault("SIM_SEED", "7"));
  for (int i = 0; i < 20; ++i) {
    OK(simMemsetAsync(block, i, 64, nullptr));
  }
  OK(simStreamSynchronize(nullptr));
  CHECK(hidden(block)[0] == std::byte{19});
}

CASE(memory_is_poisoned_when_it_is_allocated_and_freed) {
  setenv("SIM_POISON", "1", 1);
  constexpr std::size_t size = 10000;
  std::byte* block = device_memory(size);
  CHECK(holds(block, size, 0x7FFA));
  CHECK(std::isnan(*reinterpret_cast<float*>(hidden(block))));
  CHECK(std::isnan(*reinterpret_cast<double*>(hidden(block))));
  const std::byte* bytes = hidden(block);
  std::memset(hidden(block), 0, size);
  OK(simFree(block));
  float freed = 0;
  std::memcpy(&freed, bytes, sizeof freed);
  CHECK(std::isnan(freed));
  // In quarantine it is free, and not handed out.
  std::size_t available = 0, total = 0;
  OK(simMemGetInfo(&available, &total));
  CHECK(available == total);
  CHECK(device_memory(size) != block);
  CHECK_STATUS(simErrorInvalidValue, simFree(block));
  OK(simSetFault("SIM_QUARANTINE", "0"));
  OK(simFree(device_memory(1)));  // lets all go
  CHECK(simCorruptionCount() == 0);
}

CASE(an_allocator_poisons_what_it_keeps) {
  constexpr std::size_t size = 10000;
  std::byte* block = device_memory(size);
  std::memset(hidden(block), 7, size);
  CHECK((simInstrumentation() & simInstrumentPoison) == 0);
  OK(simPoisonAsync(block, size, nullptr));
  OK(simStreamSynchronize(nullptr));
  CHECK(hidden(block)[0] == std::byte(7));
  OK(simSetFault("SIM_POISON", "1"));
  CHECK(simInstrumentation() == simInstrumentPoison);
  // In stream order: work that is enqueued before reads what was there.
  Gate gate;
  gate.block(nullptr);
  std::byte seen{};
  struct Read {
    const std::byte* from;
    std::byte* to;
  } read = {hidden(block), &seen};
  const auto run = [](void* data) {
    const auto* read = static_cast<const Read*>(data);
    *read->to = *read->from;
  };
  OK(simLaunchHostFunc(nullptr, run, &read));
  OK(simPoisonAsync(block, size / 2, nullptr));
  OK(simPoisonAsync(block, 0, nullptr));
  gate.open();
  OK(simStreamSynchronize(nullptr));
  CHECK(seen == std::byte(7));
  CHECK(holds(block, size / 2, 0x7FFD));
  CHECK(hidden(block)[size / 2] == std::byte(7));
  CHECK_STATUS(simErrorInvalidValue, simPoisonAsync(block, 4 * size, nullptr));
  CHECK_STATUS(simErrorInvalidValue, simPoisonAsync(&seen, 1, nullptr));
}

CASE(quarantine_ends_before_memory_runs_out) {
  setenv("SIM_POISON", "1", 1);
  setenv("SIM_DEVICE_MEMORY", "1048576", 1);
  for (int i = 0; i < 5; ++i) {
    OK(simFree(device_memory(1048576)));
  }
  OK(simFree(device_memory(1000)));
  OK(simFree(device_memory(1048576)));
}

CASE(a_write_after_free_is_reported) {
  setenv("SIM_POISON", "1", 1);
  std::byte* block = device_memory(1000);
  std::byte* bytes = hidden(block);
  OK(simFree(block));
  bytes[123] = std::byte{1};
  OK(simSetFault("SIM_QUARANTINE", "0"));
  OK(simFree(device_memory(1)));
  CHECK(simCorruptionCount() == 1);
  char text[200];
  OK(simGetLastReport(text, sizeof text));
  CHECK(std::string(text).starts_with("write after free: byte 123 of"));
}

CASE(a_write_behind_the_end_is_reported) {
  setenv("SIM_REDZONE", "64", 1);
  for (const std::size_t size : {std::size_t{1}, std::size_t{512}, std::size_t{1000}}) {
    std::byte* block = device_memory(size);
    std::memset(hidden(block), 0, size);
    OK(simFree(block));
    CHECK(simCorruptionCount() == 0);
  }
  std::byte* block = device_memory(512);
  hidden(block)[512 + 5] = std::byte{1};
  OK(simFree(block));
  CHECK(simCorruptionCount() == 1);
  char text[20];
  OK(simGetLastReport(text, sizeof text));
  CHECK(std::string(text) == "write behind the en");
  CHECK_STATUS(simErrorInvalidValue, simGetLastReport(text, 0));
}

CASE(poisoned_memory_neither_overlaps_nor_leaks) {
  setenv("SIM_POISON", "1", 1);
  setenv("SIM_REDZONE", "100", 1);
  setenv("SIM_QUARANTINE", "100000", 1);
  setenv("SIM_DEVICE_MEMORY", "4194304", 1);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      std::vector<std::byte*> live;
      for (int round = 0; round < 2000; ++round) {
        const std::size_t size = 1 + static_cast<std::size_t>(round * 37 + thread) % 5000;
        live.push_back(device_memory(size));
        std::memset(hidden(live.back()), thread, size);
        if (live.size() > 20) {
          const auto oldest = live.begin() + round % 20;
          CHECK(hidden(*oldest)[0] == std::byte(thread));
          OK(simFree(*oldest));
          live.erase(oldest);
        }
      }
      for (std::byte* block : live) {
        OK(simFree(block));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(simCorruptionCount() == 0);
  OK(simSetFault("SIM_REDZONE", "0"));
  OK(simFree(device_memory(4194304)));
}
