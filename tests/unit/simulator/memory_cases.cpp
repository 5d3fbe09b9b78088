// Devices, memory and copies.
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "support.h"

CASE(devices_are_counted_and_current_per_thread) {
  int count = 0;
  OK(simGetDeviceCount(&count));
  CHECK(count == 2);
  OK(simSetDevice(1));
  std::thread([] {
    int device = -1;
    OK(simGetDevice(&device));
    CHECK(device == 0);
  }).join();
  int device = -1;
  OK(simGetDevice(&device));
  CHECK(device == 1);
  for (const int wrong : {-1, 2, 7}) {
    CHECK_STATUS(simErrorInvalidDevice, simSetDevice(wrong));
  }
  OK(simGetDevice(&device));
  CHECK(device == 1);
  CHECK_STATUS(simErrorInvalidValue, simGetDeviceCount(nullptr));
}

CASE(a_name_is_cut_to_its_buffer) {
  char name[64];
  OK(simDeviceGetName(name, sizeof name, 1));
  CHECK(std::string(name) == "Simulated device 1");
  std::memset(name, 'x', sizeof name);
  OK(simDeviceGetName(name, 4, 0));
  CHECK(std::string(name) == "Sim" && name[4] == 'x');
  CHECK_STATUS(simErrorInvalidValue, simDeviceGetName(name, 0, 0));
  CHECK_STATUS(simErrorInvalidDevice, simDeviceGetName(name, 4, 2));
}

CASE(a_machine_may_have_no_device) {
  setenv("SIM_DEVICE_COUNT", "0", 1);
  int count = -1;
  OK(simGetDeviceCount(&count));
  CHECK(count == 0);
  void* address = nullptr;
  simStream_t stream = nullptr;
  CHECK_STATUS(simErrorNoDevice, simGetDevice(&count));
  CHECK_STATUS(simErrorInvalidDevice, simSetDevice(0));
  CHECK_STATUS(simErrorNoDevice, simMalloc(&address, 16));
  CHECK_STATUS(simErrorNoDevice, simStreamCreateWithPriority(&stream, 0, 0));
  CHECK_STATUS(simErrorNoDevice, simStreamSynchronize(nullptr));
  CHECK_STATUS(simErrorNoDevice, simDeviceSynchronize());
  CHECK_STATUS(simErrorNoDevice, simGetLastError());
  OK(simGetLastError());
  OK(simHostAlloc(&address, 16, 0));
  OK(simFreeHost(address));
}

CASE(many_devices) {
  setenv("SIM_DEVICE_COUNT", "5", 1);
  int count = 0;
  OK(simGetDeviceCount(&count));
  CHECK(count == 5);
  std::vector<std::byte*> blocks;
  for (int device = 0; device < 5; ++device) {
    OK(simSetDevice(device));
    blocks.push_back(device_memory(64));
  }
  for (int device = 1; device < 5; ++device) {
    OK(simMemcpyPeerAsync(blocks[device], device, blocks[device - 1], device - 1, 64, nullptr));
  }
  CHECK_STATUS(simErrorInvalidDevice, simSetDevice(5));
  OK(simDeviceSynchronize());
}

CASE(a_bad_device_count_is_refused) {
  for (const char* text : {"two", "", "-1", "65", "2 "}) {
    if (const pid_t child = fork(); child == 0) {
      setenv("SIM_DEVICE_COUNT", text, 1);
      int count = 0;
      CHECK_STATUS(simErrorInvalidConfiguration, simGetDeviceCount(&count));
      void* address = nullptr;
      CHECK_STATUS(simErrorInvalidConfiguration, simMalloc(&address, 16));
      std::_Exit(0);
    } else {
      int status = 0;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
  }
}

CASE(a_bad_memory_size_is_refused) {
  setenv("SIM_DEVICE_MEMORY", "4GiB", 1);
  int count = 0;
  OK(simGetDeviceCount(&count));
  void* address = nullptr;
  CHECK_STATUS(simErrorInvalidConfiguration, simMalloc(&address, 16));
}

CASE(memory_of_default_size_is_sparse) {
  std::size_t available = 0, total = 0;
  OK(simMemGetInfo(&available, &total));
  CHECK(total == std::size_t{4} << 30 && available == total);
  std::byte* all = device_memory(total);
  OK(simMemsetAsync(all + total - 1, 1, 1, nullptr));
  OK(simStreamSynchronize(nullptr));
  OK(simMemGetInfo(&available, &total));
  CHECK(available == 0);
  OK(simFree(all));
}

CASE(allocation_is_aligned_exact_and_bounded) {
  setenv("SIM_DEVICE_MEMORY", "1048576", 1);
  std::byte* one = device_memory(1);
  std::byte* two = device_memory(513);
  CHECK(reinterpret_cast<std::uintptr_t>(one) % 512 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(two) % 512 == 0);
  std::size_t available = 0, total = 0;
  OK(simMemGetInfo(&available, &total));
  CHECK(total == 1048576 && available == total - 512 - 1024);
  void* address = one;
  CHECK_STATUS(simErrorMemoryAllocation, simMalloc(&address, available + 1));
  CHECK(address == nullptr);
  CHECK_STATUS(simErrorMemoryAllocation, simMalloc(&address, SIZE_MAX));
  std::byte* rest = device_memory(available);
  CHECK_STATUS(simErrorMemoryAllocation, simMalloc(&address, 1));
  OK(simSetDevice(1));  // another device has its own memory
  OK(simMalloc(&address, total));
  OK(simFree(address));
  for (std::byte* block : {two, rest, one}) {
    OK(simFree(block));
  }
  OK(simSetDevice(0));
  OK(simFree(device_memory(total)));
  OK(simMalloc(&address, 0));
  CHECK(address == nullptr);
}

CASE(only_live_memory_is_freed_and_only_once) {
  std::byte* block = device_memory(1024);
  CHECK_STATUS(simErrorInvalidValue, simFree(block + 512));
  OK(simFree(block));
  CHECK_STATUS(simErrorInvalidValue, simFree(block));
  int local = 0;
  CHECK_STATUS(simErrorInvalidValue, simFree(&local));
  OK(simFree(nullptr));
  void* pinned = nullptr;
  OK(simHostAlloc(&pinned, 100, simHostAllocDefault));
  CHECK(reinterpret_cast<std::uintptr_t>(pinned) % 4096 == 0);
  CHECK_STATUS(simErrorInvalidValue, simHostAlloc(&pinned, 100, 8));
  CHECK_STATUS(simErrorMemoryAllocation, simHostAlloc(&pinned, SIZE_MAX, 0));
  OK(simHostAlloc(&pinned, 100, simHostAllocPortable));
  OK(simFreeHost(pinned));
  CHECK_STATUS(simErrorInvalidValue, simFreeHost(pinned));
  OK(simFreeHost(nullptr));
}

namespace {

struct Block {
  std::byte* address;
  std::size_t size;
  std::byte pattern;
};

// Allocates and frees at random; each block keeps its own pattern, so that an overlap shows.
void churn(unsigned seed, int rounds) {
  std::mt19937 random(seed);
  std::vector<Block> live;
  for (int round = 0; round < rounds; ++round) {
    if (live.empty() || random() % 5 < 3) {
      const std::size_t size = 1 + random() % (random() % 8 == 0 ? 200000 : 3000);
      void* address = nullptr;
      if (simMalloc(&address, size) == simSuccess) {
        const Block block = {static_cast<std::byte*>(address), size, std::byte(random())};
        std::memset(hidden(block.address), static_cast<int>(block.pattern), size);
        live.push_back(block);
      } else if (!live.empty()) {
        OK(simFree(live.back().address));
        live.pop_back();
      }
    } else {
      std::swap(live[random() % live.size()], live.back());
      const Block block = live.back();
      const std::byte* bytes = hidden(block.address);
      CHECK(
          std::all_of(bytes, bytes + block.size, [&](std::byte b) { return b == block.pattern; }));
      OK(simFree(block.address));
      live.pop_back();
    }
  }
  for (const Block& block : live) {
    OK(simFree(block.address));
  }
}

}  // namespace

CASE(random_allocation_neither_overlaps_nor_leaks) {
  setenv("SIM_DEVICE_MEMORY", "4194304", 1);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back(churn, seed, 3000);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  OK(simFree(device_memory(4194304)));  // all free ranges have become one again
}

CASE(large_freed_memory_is_given_back) {
  constexpr std::size_t size = std::size_t{64} << 20;
  std::byte* block = device_memory(size);
  OK(simMemsetAsync(block, 0xff, size, nullptr));
  OK(simStreamSynchronize(nullptr));
  CHECK(hidden(block)[size - 1] == std::byte{0xff});
  OK(simFree(block));
  CHECK(device_memory(size) == block);
  const std::byte* bytes = hidden(block);
  CHECK(std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; }));
}

namespace {
sigjmp_buf after_fault;
void* volatile fault_address = nullptr;
}  // namespace

CASE(the_host_faults_on_a_device_address) {
  std::byte* block = device_memory(4096);
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    fault_address = info->si_addr;
    siglongjmp(after_fault, 1);
  };
  sigaction(SIGSEGV, &action, nullptr);
  for (const bool write : {false, true}) {
    fault_address = nullptr;
    if (sigsetjmp(after_fault, 1) == 0) {
      volatile std::byte* target = block + 100;
      if (write) {
        *target = std::byte{1};
      } else {
        (void)*target;
      }
    }
    CHECK(fault_address == block + 100);
  }
  hidden(block)[100] = std::byte{1};
}

CASE(a_host_address_is_given_inside_live_memory_only) {
  std::byte* block = device_memory(1000);
  CHECK(hidden(block + 700) == hidden(block) + 700);
  CHECK(hidden(block + 1000) == hidden(block) + 1000);
  CHECK(hidden(block) != block);
  void* host = nullptr;
  CHECK_STATUS(simErrorInvalidValue, simHostGetAddress(&host, block + 1001));
  CHECK_STATUS(simErrorInvalidValue, simHostGetAddress(&host, &host));
  OK(simFree(block));
  CHECK_STATUS(simErrorInvalidValue, simHostGetAddress(&host, block));
  host = &host;
  OK(simHostGetAddress(&host, nullptr));
  CHECK(host == nullptr);
}

CASE(a_host_address_ends_with_its_memory) {
  // A thread remembers what it has looked up, and no longer than it holds.
  constexpr std::size_t size = 4096;
  std::byte* first = device_memory(size);
  std::byte* second = device_memory(size);
  std::byte* const host = hidden(first);
  CHECK(hidden(first + size - 1) == host + size - 1);
  CHECK(hidden(second) == host + (second - first));
  std::thread([&] {
    CHECK(hidden(first) == host);
    OK(simFree(first));
    CHECK(hidden(second) == host + (second - first));
  }).join();
  void* address = nullptr;
  CHECK_STATUS(simErrorInvalidValue, simHostGetAddress(&address, first));
  // The end of memory counts as its own, and here the next one begins.
  CHECK(hidden(second + size) == hidden(second) + size);
  CHECK_STATUS(simErrorInvalidValue, simMemsetAsync(second, 0, size + 1, nullptr));
  CHECK(device_memory(size) == first);
  CHECK(hidden(first) == host);
}

CASE(copies_go_every_way) {
  std::vector<unsigned char> source(100001), target(source.size());
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(3));
  std::byte* a = device_memory(source.size());
  OK(simSetDevice(1));
  std::byte* b = device_memory(source.size());
  OK(simMemcpyAsync(a, source.data(), source.size(), simMemcpyHostToDevice, nullptr));
  OK(simMemcpyPeerAsync(b, 1, a, 0, source.size(), nullptr));
  OK(simMemcpyAsync(b + 1, a, 10, simMemcpyDeviceToDevice, nullptr));
  OK(simMemsetAsync(b + 50, 0x1234, 7, nullptr));
  OK(simMemcpyAsync(target.data(), b, target.size(), simMemcpyDeviceToHost, nullptr));
  std::vector<unsigned char> expected = source;
  std::copy_n(source.begin(), 10, expected.begin() + 1);
  std::fill_n(expected.begin() + 50, 7, static_cast<unsigned char>(0x34));
  CHECK(target == expected);
  OK(simMemcpyAsync(source.data(), target.data(), target.size(), simMemcpyHostToHost, nullptr));
  CHECK(source == target);
}

CASE(copies_out_of_range_are_refused) {
  std::byte* a = device_memory(1000);
  std::byte* b = device_memory(1000);
  std::vector<std::byte> host(2000);
  const auto refused = [](void* to, const void* from, std::size_t size, simMemcpyKind kind) {
    CHECK_STATUS(simErrorInvalidValue, simMemcpyAsync(to, from, size, kind, nullptr));
  };
  refused(a, host.data(), 1001, simMemcpyHostToDevice);
  refused(a + 1, host.data(), 1000, simMemcpyHostToDevice);
  refused(a - 1, host.data(), 1, simMemcpyHostToDevice);
  refused(a, host.data(), SIZE_MAX, simMemcpyHostToDevice);
  refused(host.data(), a, 1001, simMemcpyDeviceToHost);
  refused(a, b, 1001, simMemcpyDeviceToDevice);
  refused(host.data(), b, 10, simMemcpyDeviceToDevice);
  refused(a, b, 10, simMemcpyHostToDevice);
  refused(a, b, 10, simMemcpyDeviceToHost);
  refused(a, host.data(), 10, simMemcpyHostToHost);
  refused(a, nullptr, 10, simMemcpyHostToDevice);
  refused(nullptr, a, 10, simMemcpyDeviceToHost);
  CHECK_STATUS(simErrorInvalidValue, simMemsetAsync(a, 0, 1001, nullptr));
  CHECK_STATUS(simErrorInvalidValue, simMemcpyPeerAsync(a, 1, b, 0, 10, nullptr));
  CHECK_STATUS(simErrorInvalidDevice, simMemcpyPeerAsync(a, 0, b, 2, 10, nullptr));
  OK(simFree(b));
  refused(a, b, 10, simMemcpyDeviceToDevice);
  OK(simMemcpyAsync(nullptr, nullptr, 0, simMemcpyHostToDevice, nullptr));
  OK(simMemcpyAsync(a, host.data(), 1000, simMemcpyHostToDevice, nullptr));
}

CASE(pinned_memory_is_copied_later_and_other_memory_is_read_at_once) {
  std::byte* block = device_memory(100);
  void* address = nullptr;
  OK(simHostAlloc(&address, 100, 0));
  auto* pinned = static_cast<std::byte*>(address);
  std::vector<std::byte> plain(100, std::byte{1});
  std::memset(pinned, 0, 100);
  Gate gate;
  const simStream_t stream = new_stream();
  gate.block(stream);
  OK(simMemcpyAsync(block, plain.data(), 50, simMemcpyHostToDevice, stream));
  OK(simMemcpyAsync(block + 50, pinned + 50, 50, simMemcpyHostToDevice, stream));
  OK(simMemcpyAsync(pinned, block, 50, simMemcpyDeviceToHost, stream));
  std::fill(plain.begin(), plain.end(), std::byte{2});
  pinned[50] = std::byte{3};
  CHECK_STATUS(simErrorNotReady, simStreamQuery(stream));
  CHECK(pinned[0] == std::byte{0});
  gate.open();
  OK(simStreamSynchronize(stream));
  CHECK(hidden(block)[0] == std::byte{1} && hidden(block)[50] == std::byte{3});
  CHECK(pinned[0] == std::byte{1});
}
