// Streams, events and errors of enqueued work.
#include <atomic>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "sim_blas.h"
#include "support.h"

namespace {

void set_flag(void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }
void fail(void*) { throw std::runtime_error("as intended"); }

}  // namespace

CASE(a_stream_runs_in_order) {
  static std::vector<int> order;
  static std::vector<int> numbers(5000);
  const simStream_t stream = new_stream();
  for (int i = 0; i < 5000; ++i) {
    numbers[i] = i;
    OK(simLaunchHostFunc(
        stream, [](void* p) { order.push_back(*static_cast<int*>(p)); }, &numbers[i]));
  }
  OK(simStreamSynchronize(stream));
  CHECK(order == numbers);
}

CASE(streams_and_devices_are_independent) {
  Gate gate;
  const simStream_t blocked = new_stream();
  gate.block(blocked);
  OK(simStreamSynchronize(new_stream()));
  OK(simStreamSynchronize(nullptr));
  std::atomic<bool> ran = false;
  OK(simLaunchHostFunc(nullptr, set_flag, &ran));
  OK(simStreamSynchronize(nullptr));
  CHECK(ran);
  OK(simSetDevice(1));
  OK(simDeviceSynchronize());
  CHECK_STATUS(simErrorNotReady, simStreamQuery(blocked));
  gate.open();
  OK(simSetDevice(0));
  OK(simDeviceSynchronize());
  OK(simStreamQuery(blocked));
}

CASE(synchronization_does_not_wait_for_later_work) {
  const simStream_t stream = new_stream();
  Gate first, second;
  first.block(stream);
  std::thread opener([&] {
    sleep_ms(50);
    second.block(stream);
    first.open();
  });
  OK(simStreamSynchronize(stream));
  CHECK_STATUS(simErrorNotReady, simStreamQuery(stream));
  opener.join();
  second.open();
  OK(simStreamSynchronize(stream));
}

CASE(the_default_stream_is_the_current_devices) {
  Gate gate;
  OK(simSetDevice(1));
  gate.block(nullptr);
  CHECK_STATUS(simErrorNotReady, simStreamQuery(nullptr));
  OK(simSetDevice(0));
  OK(simStreamQuery(nullptr));
  gate.open();
  OK(simSetDevice(1));
  OK(simStreamSynchronize(nullptr));
}

CASE(handles_are_checked) {
  simStream_t stream = nullptr;
  CHECK_STATUS(simErrorInvalidValue, simStreamCreateWithPriority(&stream, 4, 0));
  CHECK_STATUS(simErrorInvalidValue, simStreamCreateWithPriority(nullptr, 0, 0));
  for (const int priority : {-100, -1, 0, 1, 100}) {
    OK(simStreamCreateWithPriority(&stream, simStreamDefault, priority));
  }
  simEvent_t event = new_event();
  CHECK_STATUS(simErrorInvalidValue, simStreamWaitEvent(stream, event, 1));
  CHECK_STATUS(simErrorInvalidValue, simLaunchHostFunc(stream, nullptr, nullptr));
  CHECK_STATUS(simErrorInvalidValue, simEventCreateWithFlags(&event, 1));
  OK(simStreamDestroy(stream));
  CHECK_STATUS(simErrorInvalidResourceHandle, simStreamDestroy(stream));
  CHECK_STATUS(simErrorInvalidResourceHandle, simStreamSynchronize(stream));
  CHECK_STATUS(simErrorInvalidResourceHandle, simLaunchHostFunc(stream, fail, nullptr));
  CHECK_STATUS(simErrorInvalidResourceHandle, simStreamDestroy(nullptr));
  OK(simEventDestroy(event));
  CHECK_STATUS(simErrorInvalidResourceHandle, simEventDestroy(event));
  CHECK_STATUS(simErrorInvalidResourceHandle, simEventRecord(event, nullptr));
  CHECK_STATUS(simErrorInvalidResourceHandle, simEventQuery(nullptr));
  CHECK_STATUS(simErrorInvalidResourceHandle, simEventRecord(new_event(1), new_stream(0)));
}

CASE(a_destroyed_stream_finishes_its_work) {
  Gate gate;
  std::atomic<bool> ran = false;
  const simStream_t stream = new_stream();
  gate.block(stream);
  OK(simLaunchHostFunc(stream, set_flag, &ran));
  OK(simStreamDestroy(stream));
  gate.open();
  OK(simDeviceSynchronize());
  CHECK(ran);
}

CASE(a_host_function_may_not_block) {
  static std::vector<simError_t> statuses;
  OK(simLaunchHostFunc(
      nullptr,
      [](void*) {
        statuses = {simStreamSynchronize(nullptr), simDeviceSynchronize(),
                    simEventSynchronize(new_event())};
      },
      nullptr));
  OK(simStreamSynchronize(nullptr));
  CHECK(statuses == std::vector<simError_t>(3, simErrorNotPermitted));
}

CASE(an_event_never_recorded_is_complete) {
  const simEvent_t event = new_event();
  OK(simEventQuery(event));
  OK(simEventSynchronize(event));
  OK(simStreamWaitEvent(nullptr, event, 0));
  OK(simStreamSynchronize(nullptr));
  float elapsed = 0;
  CHECK_STATUS(simErrorInvalidResourceHandle, simEventElapsedTime(&elapsed, event, event));
}

CASE(a_wait_captures_the_record_at_its_call) {
  Gate first, second;
  const simStream_t producer = new_stream(), consumer = new_stream(1);
  const simEvent_t event = new_event();
  first.block(producer);
  OK(simEventRecord(event, producer));
  OK(simStreamWaitEvent(consumer, event, 0));
  std::atomic<bool> ran = false;
  OK(simLaunchHostFunc(consumer, set_flag, &ran));
  second.block(producer);
  OK(simEventRecord(event, producer));  // armed again; the consumer waits for the first record only
  sleep_ms(20);
  CHECK(!ran);
  first.open();
  OK(simStreamSynchronize(consumer));
  CHECK(ran);
  CHECK_STATUS(simErrorNotReady, simEventQuery(event));
  second.open();
  OK(simEventSynchronize(event));
  OK(simEventQuery(event));
}

CASE(an_event_may_be_destroyed_while_it_is_waited_for) {
  Gate gate;
  const simStream_t producer = new_stream(), consumer = new_stream();
  const simEvent_t event = new_event();
  gate.block(producer);
  OK(simEventRecord(event, producer));
  OK(simStreamWaitEvent(consumer, event, 0));
  OK(simEventDestroy(event));
  OK(simStreamDestroy(producer));
  CHECK_STATUS(simErrorNotReady, simStreamQuery(consumer));
  gate.open();
  OK(simStreamSynchronize(consumer));
}

CASE(events_measure_time) {
  const simEvent_t start = new_event(), end = new_event(),
                   plain = new_event(0, simEventDisableTiming);
  Gate gate;
  OK(simEventRecord(start, nullptr));
  OK(simLaunchHostFunc(nullptr, [](void*) { sleep_ms(40); }, nullptr));
  gate.block(nullptr);
  OK(simEventRecord(end, nullptr));
  OK(simEventRecord(plain, nullptr));
  float elapsed = 0;
  CHECK_STATUS(simErrorNotReady, simEventElapsedTime(&elapsed, start, end));
  gate.open();
  OK(simEventSynchronize(plain));
  OK(simEventElapsedTime(&elapsed, start, end));
  CHECK(elapsed >= 40 && elapsed < 30000);
  float backwards = 0;
  OK(simEventElapsedTime(&backwards, end, start));
  CHECK(backwards == -elapsed);
  CHECK_STATUS(simErrorInvalidResourceHandle, simEventElapsedTime(&elapsed, start, plain));
}

CASE(streams_that_wait_for_each_other_never_deadlock) {
  static std::vector<simStream_t> streams;
  static std::vector<simEvent_t> events;
  for (int i = 0; i < 8; ++i) {
    streams.push_back(new_stream(i % 2));
    events.push_back(new_event(i % 2));
  }
  static std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([seed] {
      std::mt19937 random(seed);
      for (int round = 0; round < 2000; ++round) {
        const unsigned event = random() % 8;
        const unsigned stream = random() % 8;
        switch (random() % 3) {
          case 0:
            OK(simEventRecord(events[event], streams[(event + 2 * (random() % 4)) % 8]));
            break;
          case 1:
            OK(simStreamWaitEvent(streams[stream], events[event], 0));
            break;
          default:
            OK(simLaunchHostFunc(streams[stream], [](void*) { ++ran; }, nullptr));
        }
        if (random() % 200 == 0) {
          OK(simEventSynchronize(events[event]));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const simStream_t stream : streams) {
    OK(simStreamSynchronize(stream));
  }
  CHECK(ran > 0);
}

CASE(a_chain_across_devices_is_ordered) {
  // The streams take turns to add one to the same number: a missing wait would lose an addition.
  static long number = 0;
  const simStream_t streams[] = {new_stream(0), new_stream(1)};
  const simEvent_t events[] = {new_event(0), new_event(1)};
  for (int i = 0; i < 2000; ++i) {
    const int turn = i % 2;
    OK(simStreamWaitEvent(streams[turn], events[1 - turn], 0));
    OK(simLaunchHostFunc(streams[turn], [](void*) { ++number; }, nullptr));
    OK(simEventRecord(events[turn], streams[turn]));
  }
  OK(simStreamSynchronize(streams[1]));
  CHECK(number == 2000);
}

CASE(failed_work_is_reported_once_by_its_stream) {
  const simStream_t stream = new_stream(), other = new_stream();
  std::atomic<bool> ran = false;
  OK(simLaunchHostFunc(stream, fail, nullptr));
  OK(simLaunchHostFunc(stream, set_flag, &ran));
  OK(simStreamSynchronize(other));
  CHECK_STATUS(simErrorLaunchFailure, simStreamSynchronize(stream));
  CHECK(ran);
  OK(simStreamSynchronize(stream));
  OK(simGetLastError());
  OK(simLaunchHostFunc(stream, fail, nullptr));
  simError_t status = simSuccess;
  while ((status = simStreamQuery(stream)) == simErrorNotReady) {
  }
  CHECK(status == simErrorLaunchFailure);
  OK(simStreamQuery(stream));
  OK(simDeviceSynchronize());
}

CASE(failed_work_stays_with_its_device) {
  const simStream_t stream = new_stream(1);
  OK(simLaunchHostFunc(stream, fail, nullptr));
  OK(simSetDevice(1));
  const simEvent_t event = new_event(1);
  OK(simEventRecord(event, stream));
  OK(simEventSynchronize(event));
  OK(simSetDevice(0));
  OK(simDeviceSynchronize());
  OK(simGetLastError());
  OK(simSetDevice(1));
  CHECK_STATUS(simErrorLaunchFailure, simGetLastError());
  OK(simGetLastError());
  OK(simStreamSynchronize(stream));
  OK(simLaunchHostFunc(stream, fail, nullptr));
  CHECK_STATUS(simErrorLaunchFailure, simDeviceSynchronize());
  OK(simDeviceSynchronize());
}

CASE(the_error_of_a_destroyed_stream_is_not_lost) {
  Gate gate;
  const simStream_t stream = new_stream();
  gate.block(stream);
  OK(simLaunchHostFunc(stream, fail, nullptr));
  OK(simStreamDestroy(stream));
  gate.open();
  CHECK_STATUS(simErrorLaunchFailure, simDeviceSynchronize());
  OK(simDeviceSynchronize());
}

CASE(a_refused_call_is_remembered_by_its_thread) {
  CHECK_STATUS(simErrorInvalidDevice, simSetDevice(9));
  Gate gate;
  gate.block(nullptr);
  CHECK_STATUS(simErrorNotReady, simStreamQuery(nullptr));  // not a refusal
  gate.open();
  std::thread([] { OK(simGetLastError()); }).join();
  CHECK_STATUS(simErrorInvalidDevice, simGetLastError());
  OK(simGetLastError());
}

CASE(an_index_out_of_range_is_an_error_of_the_stream) {
  auto* weight = device_memory(4 * 3 * sizeof(float));
  auto* indices = device_memory(2 * sizeof(std::int64_t));
  auto* output = device_memory(2 * 3 * sizeof(float));
  OK(simMemsetAsync(output, 0x7f, 2 * 3 * sizeof(float), nullptr));
  OK(simStreamSynchronize(nullptr));
  for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-1}, INT64_MIN}) {
    reinterpret_cast<std::int64_t*>(hidden(indices))[1] = wrong;
    OK(simEmbeddingForward(nullptr, simFloat32, simInt64, 2, 4, 3, weight, indices, output));
    CHECK_STATUS(simErrorAssert, simStreamSynchronize(nullptr));
    OK(simEmbeddingBackward(nullptr, simFloat32, simInt64, 2, 4, 3, -1, output, indices, weight));
    CHECK_STATUS(simErrorAssert, simStreamSynchronize(nullptr));
    OK(simStreamSynchronize(nullptr));
  }
  CHECK(hidden(output)[0] == std::byte{0x7f});
}

CASE(every_status_has_a_sentence) {
  for (int status = simSuccess; status <= simErrorUnknown; ++status) {
    CHECK(std::string(simGetErrorString(static_cast<simError_t>(status))) != "unknown status");
  }
  CHECK(std::string(simGetErrorString(static_cast<simError_t>(simErrorUnknown + 1))) == "unknown status");
}
