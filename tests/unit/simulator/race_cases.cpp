// The race checker: what it finds, and what it must not find.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "sim_blas.h"
#include "sim_debug.h"
#include "support.h"

namespace {

constexpr std::size_t size = 4096;

struct Checked {
  explicit Checked(const char* mode = "count") { OK(simSetFault("SIM_RACE", mode)); }
};

// What a host function is declared to do with `bytes` bytes.
void launch(simStream_t stream, const char* name, const void* address, std::size_t bytes,
            int mode) {
  const auto count = static_cast<std::int64_t>(bytes);
  const std::int64_t stride = 1;
  OK(simDeclareAccess(name, address, 1, 1, &count, &stride, mode));
  OK(simLaunchHostFunc(stream, [](void*) {}, nullptr));
}

void write(simStream_t stream, const char* name, const void* address, std::size_t bytes = size) {
  launch(stream, name, address, bytes, simAccessWrite);
}

void read(simStream_t stream, const char* name, const void* address, std::size_t bytes = size) {
  launch(stream, name, address, bytes, simAccessRead);
}

std::string last_report() {
  char text[512];
  OK(simGetLastReport(text, sizeof text));
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_races(std::uint64_t count) {
  if (simRaceCount() != count) {
    std::fprintf(stderr, "%llu races, not %llu\n", static_cast<unsigned long long>(simRaceCount()),
                 static_cast<unsigned long long>(count));
    std::_Exit(1);
  }
}

void wait_for(simStream_t waiting, simStream_t stream, int device = 0) {
  const simEvent_t event = new_event(device, simEventDisableTiming);
  OK(simEventRecord(event, stream));
  OK(simStreamWaitEvent(waiting, event, 0));
  OK(simEventDestroy(event));
}

}  // namespace

CASE(two_writes_without_order_are_a_race) {
  const Checked checked;
  std::byte* block = device_memory(size);
  write(new_stream(), "first", block);
  write(nullptr, "second", block + 100, 8);
  expect_races(1);
  const std::string report = last_report();
  CHECK(report.starts_with(
      "race: the write of \"second\" on the default stream of device 0 is not ordered after "
      "the write of \"first\" on stream 0x"));
  CHECK(contains(report, "8 bytes at 0x"));
}

CASE(a_read_and_a_write_without_order_are_a_race) {
  const Checked checked;
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream(), c = new_stream();
  read(a, "reader", block);
  read(b, "reader", block);
  expect_races(0);
  write(c, "writer", block);  // races with both
  expect_races(2);
  CHECK(contains(last_report(), "the write of \"writer\"") &&
        contains(last_report(), "the read of \"reader\""));
  read(a, "late reader", block);
  expect_races(3);
  CHECK(contains(last_report(), "the read of \"late reader\""));
}

CASE(only_common_bytes_race) {
  const Checked checked;
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream();
  write(a, "left", block, 2000);
  write(b, "right", block + 2000, 2000);
  expect_races(0);
  read(b, "over the edge", block + 1999, 10);
  expect_races(1);
  CHECK(contains(last_report(), ": 1 bytes at"));
}

CASE(interleaved_columns_do_not_race) {
  const Checked checked;
  std::byte* block = device_memory(64 * 64);
  const std::int64_t extents[] = {64, 32}, strides[] = {64, 1};
  const auto columns = [&](simStream_t stream, int first, int mode) {
    OK(simDeclareAccess("columns", block + first, 1, 2, extents, strides, mode));
    OK(simLaunchHostFunc(stream, [](void*) {}, nullptr));
  };
  const simStream_t a = new_stream(), b = new_stream();
  columns(a, 0, simAccessWrite);
  columns(b, 32, simAccessWrite);
  expect_races(0);
  columns(b, 31, simAccessRead);
  expect_races(1);
  // From the last element to the first, and an element that is repeated.
  const std::int64_t back[] = {-64, -1}, repeated[] = {0, 0};
  OK(simDeclareAccess("back", block + 63 * 64 + 31, 1, 2, extents, back, simAccessRead));
  OK(simLaunchHostFunc(a, [](void*) {}, nullptr));
  OK(simDeclareAccess("repeated", block + 32, 1, 2, extents, repeated, simAccessRead));
  OK(simLaunchHostFunc(b, [](void*) {}, nullptr));
  expect_races(1);
}

CASE(an_access_of_very_many_pieces_counts_as_a_whole) {
  const Checked checked;
  std::byte* block = device_memory(2 * 10000);
  const std::int64_t extent = 10000, stride = 2;
  OK(simDeclareAccess("even", block, 1, 1, &extent, &stride, simAccessWrite));
  OK(simLaunchHostFunc(nullptr, [](void*) {}, nullptr));
  read(new_stream(), "odd", block + 1, 1);
  expect_races(1);
}

CASE(events_order_streams) {
  const Checked checked;
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream(1), c = new_stream();
  write(a, "a", block);
  wait_for(b, a);
  write(b, "b", block);
  wait_for(c, b, 1);  // and so after a
  read(c, "c", block);
  write(c, "c", block);
  expect_races(0);
  // Only what was enqueued before the record is waited for.
  const simEvent_t event = new_event();
  OK(simEventRecord(event, c));
  write(c, "later", block);
  OK(simStreamWaitEvent(a, event, 0));
  write(a, "too early", block);
  expect_races(1);
}

CASE(a_wait_for_a_complete_event_orders_too) {
  const Checked checked;
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream();
  const simEvent_t event = new_event();
  write(a, "a", block);
  OK(simEventRecord(event, a));
  sleep_ms(30);  // complete, but nobody has asked
  OK(simStreamWaitEvent(b, event, 0));
  write(b, "b", block);
  expect_races(0);
}

CASE(the_verdict_does_not_depend_on_time) {
  const Checked checked;
  std::byte* block = device_memory(size);
  write(new_stream(), "a", block);
  sleep_ms(50);  // long done, but nothing says so
  write(new_stream(), "b", block);
  expect_races(1);
}

CASE(synchronization_by_the_host_orders) {
  const Checked checked;
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream();
  const simEvent_t event = new_event();
  write(a, "a", block);
  OK(simStreamSynchronize(a));
  write(b, "b", block);
  OK(simEventRecord(event, b));
  OK(simEventSynchronize(event));
  write(a, "a", block);
  OK(simDeviceSynchronize());
  write(b, "b", block);
  while (simStreamQuery(b) == simErrorNotReady) {
  }
  write(a, "a", block);
  OK(simEventRecord(event, a));
  while (simEventQuery(event) == simErrorNotReady) {
  }
  write(b, "b", block);
  // What one thread has seen, another may rely on.
  std::thread([&] { OK(simStreamSynchronize(b)); }).join();
  write(a, "a", block);
  expect_races(0);
  // A query that says "not ready" orders nothing.
  Gate gate;
  gate.block(b);
  write(b, "b", block);
  CHECK_STATUS(simErrorNotReady, simStreamQuery(b));
  expect_races(1);
  write(a, "a", block);
  expect_races(2);
  gate.open();
}

CASE(threads_of_the_host_count_as_one) {
  const Checked checked;
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream();
  const auto in_thread = [](auto body) { std::thread(body).join(); };
  // A stream each: they are streams like any others.
  in_thread([&] { write(a, "a", block); });
  in_thread([&] { write(b, "b", block); });
  expect_races(1);
  // The same stream orders them, whichever came first.
  in_thread([&] { write(b, "b", block); });
  in_thread([&] { write(b, "b", block); });
  expect_races(1);
  // What one has waited for counts for one that nobody told, too.
  in_thread([&] { OK(simDeviceSynchronize()); });
  in_thread([&] { write(a, "a", block); });
  expect_races(1);
}

CASE(the_host_is_checked_too) {
  const Checked checked;
  std::byte* block = device_memory(size);
  const std::int64_t count = size, stride = 1;
  const simStream_t stream = new_stream();
  const auto touch = [&](int mode) {
    OK(simDeclareAccess("reference", block, 1, 1, &count, &stride, mode | simAccessByHost));
  };
  touch(simAccessWrite);
  read(stream, "after the host", block);
  touch(simAccessRead);
  expect_races(0);
  touch(simAccessWrite);
  expect_races(1);
  CHECK(last_report().starts_with("race: the write of \"reference\" by the host is not ordered"));
  OK(simStreamSynchronize(stream));
  touch(simAccessWrite);
  expect_races(1);
}

CASE(the_runtime_and_the_library_declare_themselves) {
  const Checked checked;
  const simStream_t a = new_stream(), b = new_stream();
  std::byte* x = device_memory(64 * sizeof(float));
  std::byte* y = device_memory(64 * sizeof(float));
  void* pinned = nullptr;
  OK(simHostAlloc(&pinned, 256, 0));
  OK(simMemsetAsync(x, 0, 256, a));
  OK(simSoftmaxForward(b, simFloat32, false, 8, 8, 1, x, y));
  expect_races(1);
  CHECK(contains(last_report(), "the read of \"simSoftmaxForward\"") &&
        contains(last_report(), "the write of \"memset\""));
  OK(simMemcpyAsync(pinned, y, 256, simMemcpyDeviceToHost, a));
  expect_races(2);
  CHECK(contains(last_report(), "the read of \"copy to host\""));
  OK(simMemcpyAsync(x, pinned, 256, simMemcpyHostToDevice, b));
  expect_races(4);  // with the write of x, and that of pinned memory
  wait_for(a, b);
  wait_for(b, a);
  OK(simGemm(a, simFloat32, 8, 8, 8, 1, x, 8, 1, x, 8, 1, 0, y, 8, 1));
  expect_races(4);
  OK(simMemcpyAsync(y, x, 256, simMemcpyDeviceToDevice, b));
  expect_races(5);
  CHECK(contains(last_report(), "the write of \"copy\"") &&
        contains(last_report(), "the write of \"simGemm\""));
  // A copy that the caller waits for is seen by the host.
  std::vector<std::byte> pageable(256);
  OK(simMemcpyAsync(pageable.data(), y, 256, simMemcpyDeviceToHost, b));
  OK(simMemsetAsync(y, 0, 256, b));
  expect_races(5);
}

CASE(memory_freed_in_order_begins_anew) {
  const Checked checked;
  const simStream_t a = new_stream(), b = new_stream();
  std::byte* block = device_memory(size);
  write(a, "a", block);
  OK(simStreamSynchronize(a));
  OK(simFree(block));
  CHECK(device_memory(size) == block);
  write(b, "b", block);
  expect_races(0);
  OK(simStreamSynchronize(b));
  OK(simFree(block));
  expect_races(0);
}

CASE(memory_freed_too_early_keeps_its_history) {
  const Checked checked;
  const simStream_t a = new_stream(), b = new_stream();
  std::byte* block = device_memory(size);
  read(a, "reader", block);
  OK(simFree(block));
  expect_races(1);
  CHECK(last_report().starts_with("freed too early: 4096 bytes at 0x"));
  CHECK(contains(last_report(), "the read of \"reader\" on stream"));
  CHECK(device_memory(size) == block);
  write(b, "next owner", block);
  expect_races(2);
  CHECK(contains(last_report(), "\"next owner\"") && contains(last_report(), "\"reader\""));
  void* pinned = nullptr;
  OK(simHostAlloc(&pinned, size, 0));
  std::byte* other = device_memory(size);
  OK(simMemcpyAsync(other, pinned, size, simMemcpyHostToDevice, a));
  OK(simFreeHost(pinned));
  expect_races(3);
}

CASE(a_race_may_be_an_error_of_the_later_work) {
  const Checked checked("error");
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream(1);
  write(a, "first", block);
  write(b, "second", block);
  OK(simStreamSynchronize(a));
  const simError_t status = simStreamSynchronize(b);
  CHECK(status == simErrorUnorderedAccess);
  CHECK(contains(simGetErrorString(status), "(\"second\" on device 1)"));
  OK(simStreamSynchronize(b));
  write(a, "third", block);
  const std::int64_t count = size, stride = 1;
  CHECK_STATUS(simErrorUnorderedAccess, simDeclareAccess("host", block, 1, 1, &count, &stride,
                                                         simAccessWrite | simAccessByHost));
  OK(simSetDevice(0));
  OK(simDeviceSynchronize());
}

CASE(the_checker_may_be_turned_on_and_off) {
  std::byte* block = device_memory(size);
  const simStream_t a = new_stream(), b = new_stream();
  write(a, "a", block);
  write(b, "b", block);
  expect_races(0);
  OK(simSetFault("SIM_RACE", "count"));
  write(a, "a", block);
  expect_races(0);
  OK(simSetFault("SIM_RACE", "off"));
  OK(simSetFault("SIM_RACE", "count"));
  write(b, "b", block);
  expect_races(0);
  write(a, "a", block);
  expect_races(1);
  OK(simResetFaults());
  expect_races(0);
  CHECK(last_report().empty());
  write(b, "b", block);
  expect_races(0);
}

CASE(wrong_declarations_are_refused) {
  const Checked checked;
  std::int64_t one = 1;
  CHECK_STATUS(simErrorInvalidValue, simDeclareAccess(nullptr, &one, 1, 0, nullptr, nullptr, 0));
  CHECK_STATUS(simErrorInvalidValue, simDeclareAccess("x", &one, 1, -1, &one, &one, 0));
  CHECK_STATUS(simErrorInvalidValue, simDeclareAccess("x", &one, 1, 1, nullptr, &one, 0));
  CHECK_STATUS(simErrorInvalidValue, simDeclareAccess("x", &one, 1, 1, &one, &one, 4));
  OK(simDeclareAccess("x", &one, 1, 1, &one, &one, 0));
  // A launch that is refused takes what was declared with it.
  std::byte* block = device_memory(size);
  const std::int64_t count = size;
  write(new_stream(), "writer", block);
  OK(simDeclareAccess("refused", block, 1, 1, &count, &one, simAccessWrite));
  CHECK_STATUS(simErrorInvalidValue, simLaunchHostFunc(nullptr, nullptr, nullptr));
  OK(simLaunchHostFunc(nullptr, [](void*) {}, nullptr));
  expect_races(0);
}

CASE(random_programs_with_order_never_race) {
  const Checked checked;
  // Each block is owned by one stream at a time; ownership moves with an event or with a
  // synchronisation.
  constexpr int blocks = 6, streams = 5;
  std::vector<simStream_t> stream;
  for (int i = 0; i < streams; ++i) {
    stream.push_back(new_stream(i % 2));
  }
  std::vector<std::byte*> block;
  std::vector<int> owner(blocks, 0);
  for (int i = 0; i < blocks; ++i) {
    block.push_back(device_memory(size));
  }
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    const int b = static_cast<int>(random() % blocks), next = static_cast<int>(random() % streams);
    if (random() % 20 == 0) {
      OK(simStreamSynchronize(stream[owner[b]]));
    } else {
      wait_for(stream[next], stream[owner[b]], owner[b] % 2);
    }
    owner[b] = next;
    const std::size_t first = random() % size, count = 1 + random() % (size - first);
    launch(stream[next], "work", block[b] + first, count, static_cast<int>(random() % 2));
    if (random() % 50 == 0) {
      OK(simStreamSynchronize(stream[next]));
      OK(simFree(block[b]));
      block[b] = device_memory(size);
    }
  }
  expect_races(0);
}

CASE(random_programs_agree_with_a_model) {
  // The model keeps, for each byte, every access there ever was and what each stream comes after.
  const Checked checked;
  constexpr int streams = 4, bytes = 24;
  struct Touch {
    int stream;
    std::uint64_t time;
    bool is_write;
  };
  using Clock = std::array<std::uint64_t, streams>;
  std::vector<simStream_t> stream;
  for (int i = 0; i < streams; ++i) {
    stream.push_back(new_stream());
  }
  std::byte* block = device_memory(size);
  std::mt19937 random(11);
  std::array<Clock, streams> clocks = {};
  std::array<std::vector<Touch>, bytes> history;
  for (int round = 0; round < 3000; ++round) {
    const auto s = random() % streams;
    if (random() % 2 == 0) {
      const auto other = random() % streams;
      wait_for(stream[s], stream[other]);
      for (int i = 0; i < streams; ++i) {
        clocks[s][i] = std::max(clocks[s][i], clocks[other][i]);
      }
      continue;
    }
    const auto first = random() % bytes, count = 1 + random() % (bytes - first);
    const bool is_write = random() % 3 == 0;
    const std::uint64_t before = simRaceCount();
    launch(stream[s], "work", block + first, count, is_write ? simAccessWrite : simAccessRead);
    const std::uint64_t time = ++clocks[s][s];
    bool races = false;
    for (auto byte = first; byte < first + count; ++byte) {
      for (const Touch& touch : history[byte]) {
        races |= (touch.is_write || is_write) && clocks[s][touch.stream] < touch.time;
      }
      if (is_write) {
        history[byte].clear();  // as the checker: a later access is compared with the last write
      }
      history[byte].push_back({static_cast<int>(s), time, is_write});
    }
    CHECK((simRaceCount() > before) == races);
  }
}

CASE(checking_from_many_threads) {
  const Checked checked;
  OK(simSetFault("SIM_TASK_JITTER", "20"));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      const simStream_t a = new_stream(thread % 2), b = new_stream();
      for (int round = 0; round < 200; ++round) {
        std::byte* block = device_memory(size);
        OK(simMemsetAsync(block, thread, size, a));
        wait_for(b, a, thread % 2);
        OK(simMemsetAsync(block, thread, size, b));
        OK(simStreamSynchronize(b));
        OK(simFree(block));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  expect_races(0);
}

CASE(the_checker_is_cheap) {
  std::byte* block = device_memory(size);
  const simStream_t stream = new_stream();
  const auto nanoseconds = [&](int rounds) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) {
      write(stream, "work", block + 64 * (i % 64), 64);
    }
    const auto end = std::chrono::steady_clock::now();
    OK(simStreamSynchronize(stream));
    return std::chrono::duration<double, std::nano>(end - begin).count() / rounds;
  };
  nanoseconds(1000);
  const double off = nanoseconds(20000);
  const Checked checked;
  const double on = nanoseconds(20000);
  std::fprintf(stderr, "a launch takes %.0f ns, with the checker %.0f ns\n", off, on);
  CHECK(on < off + 20000);
}
