#include "kafka_linger.h"

#include <algorithm>
#include <system_error>

#include "kafka_sent.h"
#include "rdkafka_abi.h"

namespace native {
namespace {

constexpr char kCapsule[] = "connect.linger";
constexpr char kInterceptor[] = "connect";
constexpr int kFlushMs = 3;
// A row of a partition that gets little, while others get much, waits this long at most.
constexpr std::chrono::microseconds kLongest{100'000};
constexpr std::chrono::microseconds kAgain{5'000};

// librdkafka calls this once for each row that it took: it is delivered, or given up for good.
int32_t on_acknowledgement(void*, KafkaMessage* message, void* opaque) {
  if (auto* sent = static_cast<Sent*>(message->opaque)) {
    if (message->err != 0) sent->failed.fetch_add(1, std::memory_order_relaxed);
    sent->open.fetch_sub(1, std::memory_order_release);
  }
  static_cast<Linger*>(opaque)->acknowledged(static_cast<int64_t>(message->size + message->key_size));
  return 0;
}

int32_t on_new(void* client, const void*, void* opaque, char*, size_t) {
  return kafka.add_on_acknowledgement(client, kInterceptor, on_acknowledgement, opaque);
}

}  // namespace

int32_t Linger::watch(void* conf) { return kafka.conf_add_on_new(conf, kInterceptor, on_new, this); }

void Linger::start(void* client, std::chrono::microseconds linger, int64_t batch_bytes) {
  client_ = client;
  linger_ = pause_ = linger;
  batch_bytes_ = batch_bytes;
  thread_ = std::thread(&Linger::run, this);
}

void Linger::queued(int64_t bytes) {
  open_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!waiting_) {
    waiting_ = true;
    changed_.notify_one();
  }
}

void Linger::hurry() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_ && !hurried_) {
    hurried_ = true;
    changed_.notify_one();
  }
}

void Linger::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

// While there is a full batch, what waits beside it is for later, when it is sent in fuller batches itself.
bool Linger::is_due(Clock::time_point now) const {
  return open_bytes_.load(std::memory_order_relaxed) < batch_bytes_ || now - flushed_ >= kLongest;
}

// librdkafka's thread asks for news without a pause in here, too, if it waits for an answer. So the pause until the next
// time grows while none comes.
void Linger::flush() {
  const int64_t acknowledged = acknowledged_.load(std::memory_order_relaxed);
  pause_ = acknowledged == seen_ ? std::min(2 * pause_, std::max(linger_, kLongest)) : linger_;
  seen_ = acknowledged;
  kafka.flush(client_, kFlushMs);
  flushed_ = Clock::now();
}

void Linger::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_) {
    changed_.wait(lock, [this] { return stopped_ || waiting_; });
    changed_.wait_for(lock, pause_, [this] { return stopped_ || hurried_; });
    if (stopped_) break;
    const bool hurried = hurried_;
    waiting_ = hurried_ = false;
    lock.unlock();
    if (hurried || is_due(Clock::now())) flush();
    const bool more = kafka.outq_len(client_) > 0;
    if (!more) pause_ = linger_;
    lock.lock();
    waiting_ = waiting_ || more;
    // Without a pause, linger.ms=0 would ask all the time.
    if (more && pause_ < kAgain) changed_.wait_for(lock, kAgain, [this] { return stopped_; });
  }
}

namespace {

void free_linger(PyObject* capsule) {
  auto* linger = static_cast<Linger*>(PyCapsule_GetPointer(capsule, kCapsule));
  // A client that was never closed may still call: it stays.
  if (linger->is_stopped()) delete linger;
}

void* pointer(unsigned long long address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

}  // namespace

Linger* linger_of(PyObject* capsule) { return static_cast<Linger*>(PyCapsule_GetPointer(capsule, kCapsule)); }

PyObject* linger_new(PyObject*, PyObject* args) {
  unsigned long long conf;
  if (!PyArg_ParseTuple(args, "K", &conf)) return nullptr;
  auto* linger = new Linger;
  const int32_t err = linger->watch(pointer(conf));
  if (err == 0) return PyCapsule_New(linger, kCapsule, free_linger);
  delete linger;
  return PyErr_Format(PyExc_RuntimeError, "librdkafka takes no interceptor: error %d", err);
}

PyObject* linger_start(PyObject*, PyObject* args) {
  PyObject* capsule;
  unsigned long long client;
  double linger_ms;
  long long batch_bytes;
  if (!PyArg_ParseTuple(args, "OKdL", &capsule, &client, &linger_ms, &batch_bytes)) return nullptr;
  Linger* linger = linger_of(capsule);
  if (linger == nullptr) return nullptr;
  try {
    linger->start(pointer(client), std::chrono::microseconds(static_cast<int64_t>(linger_ms * 1000)), batch_bytes);
  } catch (const std::system_error& error) {
    return PyErr_Format(PyExc_RuntimeError, "a producer's thread cannot be started: %s", error.what());
  }
  Py_RETURN_NONE;
}

PyObject* linger_queued(PyObject*, PyObject* args) {
  PyObject* capsule;
  long long bytes;
  if (!PyArg_ParseTuple(args, "OL", &capsule, &bytes)) return nullptr;
  Linger* linger = linger_of(capsule);
  if (linger == nullptr) return nullptr;
  linger->queued(bytes);
  Py_RETURN_NONE;
}

PyObject* linger_hurry(PyObject*, PyObject* args) {
  PyObject* capsule;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return nullptr;
  Linger* linger = linger_of(capsule);
  if (linger == nullptr) return nullptr;
  linger->hurry();
  Py_RETURN_NONE;
}

PyObject* linger_stop(PyObject*, PyObject* args) {
  PyObject* capsule;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return nullptr;
  Linger* linger = linger_of(capsule);
  if (linger == nullptr) return nullptr;
  PyThreadState* released = PyEval_SaveThread();
  linger->stop();
  PyEval_RestoreThread(released);
  Py_RETURN_NONE;
}

}  // namespace native
