// Sends what waits in a producer once `linger.ms` is over, in the place of librdkafka.
//
// librdkafka has one request of a partition on its way at a time where it is idempotent. While that one is on its way
// and rows older than linger.ms wait behind it, its thread asks for news without a pause, a whole core for nothing. So
// it is given a long linger.ms, by which it sends full batches only, and is told here when the others are due.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "arrow.h"

namespace native {

class Linger {
 public:
  // Before the client is made: has librdkafka tell of every row that is acknowledged or given up.
  int32_t watch(void* conf);
  // `batch_bytes`: what librdkafka sends by itself.
  void start(void* client, std::chrono::microseconds linger, int64_t batch_bytes);
  // Rows were queued.
  void queued(int64_t bytes);
  // Nothing more comes for now: send at once.
  void hurry();
  // Before the client is destroyed.
  void stop();
  bool is_stopped() const { return stopped_; }
  void* client() const { return client_; }

  // By librdkafka's threads: a row is done with.
  void acknowledged(int64_t bytes) {
    open_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    acknowledged_.fetch_add(1, std::memory_order_relaxed);
  }
  void refused(int64_t bytes) { open_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  bool is_due(Clock::time_point now) const;
  void flush();

  void* client_ = nullptr;
  std::chrono::microseconds linger_{0}, pause_{0};
  int64_t batch_bytes_ = 0;
  std::atomic<int64_t> open_bytes_{0};
  std::atomic<int64_t> acknowledged_{0};
  int64_t seen_ = 0;
  Clock::time_point flushed_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waiting_ = false, hurried_ = false, stopped_ = false;
  std::thread thread_;
};

Linger* linger_of(PyObject* capsule);

// See the functions of these names in _connect.pyi.
PyObject* linger_new(PyObject* self, PyObject* args);
PyObject* linger_start(PyObject* self, PyObject* args);
PyObject* linger_queued(PyObject* self, PyObject* args);
PyObject* linger_hurry(PyObject* self, PyObject* args);
PyObject* linger_stop(PyObject* self, PyObject* args);

}  // namespace native
