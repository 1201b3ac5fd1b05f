// Arrow columns into librdkafka without a copy: it points to the rows, which are kept until it is done with each.
#include "kafka_produce.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "kafka_linger.h"
#include "kafka_sent.h"
#include "rdkafka_abi.h"

namespace native {
namespace {

constexpr char kCapsule[] = "connect.sent_rows";
constexpr int64_t kCall = 512;  // Messages per call: their array stays in the processor's cache.
constexpr uint8_t kNothing = 0;  // Where an empty value points: a null pointer would make it a tombstone.

// Byte strings of one column.
class Strings {
 public:
  static bool takes(const Given& given, int64_t start, int64_t end) {
    const std::string_view format(given.schema->format);
    const bool known = format == "z" || format == "u" || format == "Z" || format == "U";
    return known && start >= 0 && start <= end && end <= given.array->length;
  }
  explicit Strings(const Given& given) : array_(*given.array) {
    wide_ = given.schema->format[0] < 'a';
    if (array_.null_count != 0) valid_ = array_.buffers[0];
  }
  void point(int64_t row, void** data, size_t* size) const {
    const int64_t at = array_.offset + row;
    if (!bit(valid_, at)) {
      *data = nullptr;
      *size = 0;
      return;
    }
    const int64_t from = wide_ ? offsets<int64_t>()[at] : offsets<int32_t>()[at];
    const int64_t end = wide_ ? offsets<int64_t>()[at + 1] : offsets<int32_t>()[at + 1];
    const auto* bytes = static_cast<const uint8_t*>(array_.buffers[2]);
    *data = const_cast<uint8_t*>(from == end ? &kNothing : bytes + from);
    *size = static_cast<size_t>(end - from);
  }

 private:
  template <typename T>
  const T* offsets() const {
    return static_cast<const T*>(array_.buffers[1]);
  }
  const ArrowArray& array_;
  bool wide_ = false;
  const void* valid_ = nullptr;
};

struct Taken {
  int64_t rows = 0;
  int32_t refusal = 0;
};

// Rows from `start` on, until one is refused; its reason is 0 when there is none.
Taken send(Sent* sent, Linger* linger, void* topic, int32_t partition, int64_t start, int64_t end) {
  const Strings values(*sent->values);
  std::optional<Strings> keys;
  if (sent->keys) keys.emplace(*sent->keys);
  std::array<KafkaMessage, kCall> messages;
  Taken taken;
  while (start + taken.rows < end) {
    const int64_t first = start + taken.rows, count = std::min(kCall, end - first);
    int64_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) {
      KafkaMessage& message = messages[static_cast<size_t>(i)];
      message = KafkaMessage{};
      message.opaque = sent;
      values.point(first + i, &message.payload, &message.size);
      if (keys) keys->point(first + i, &message.key, &message.key_size);
      bytes += static_cast<int64_t>(message.size + message.key_size);
    }
    sent->open.fetch_add(count, std::memory_order_relaxed);
    linger->queued(bytes);
    const int done = kafka.produce_batch(topic, partition, 0, messages.data(), static_cast<int>(count));
    if (done == count) {
      taken.rows += count;
      continue;
    }
    const auto refused = std::find_if(messages.begin(), messages.begin() + count, [](auto& m) { return m.err != 0; });
    taken.rows += refused - messages.begin();
    taken.refusal = refused->err;
    // A full queue refuses every row behind the first one too. What became of the rows behind another refusal is not
    // known here: their memory is kept until the client is gone.
    if (taken.refusal == kQueueFull) sent->open.fetch_sub(count - done, std::memory_order_relaxed);
    for (auto message = refused; message != messages.begin() + count; ++message) {
      if (message->err != 0) linger->refused(static_cast<int64_t>(message->size + message->key_size));
    }
    break;
  }
  return taken;
}

Sent* sent_of(PyObject* capsule) { return static_cast<Sent*>(PyCapsule_GetPointer(capsule, kCapsule)); }

void free_sent(PyObject* capsule) {
  Sent* sent = sent_of(capsule);
  // librdkafka still reads these rows, as the process ends without closing its client: they stay.
  if (sent->open.load(std::memory_order_acquire) == 0) delete sent;
}

PyObject* in_capsule(std::unique_ptr<Sent> sent) {
  PyObject* capsule = PyCapsule_New(sent.get(), kCapsule, free_sent);
  if (capsule != nullptr) sent.release();
  return capsule;
}

}  // namespace

PyObject* produce(PyObject*, PyObject* args) {
  PyObject *lingers, *values, *keys;
  unsigned long long topic;
  int partition;
  long long start, end;
  if (!PyArg_ParseTuple(args, "OKiOOLL", &lingers, &topic, &partition, &values, &keys, &start, &end)) return nullptr;
  Linger* linger = linger_of(lingers);
  if (linger == nullptr) return nullptr;
  auto sent = std::make_unique<Sent>(values, keys);
  if (sent->values->array == nullptr || (sent->keys && sent->keys->array == nullptr)) return nullptr;
  if (!Strings::takes(*sent->values, start, end) || (sent->keys && !Strings::takes(*sent->keys, start, end))) {
    PyErr_SetString(PyExc_ValueError, "rows are sent from binary or string columns, from within their length");
    return nullptr;
  }
  Sent* rows = sent.get();
  PyObject* capsule = in_capsule(std::move(sent));
  if (capsule == nullptr) return nullptr;
  PyThreadState* released = PyEval_SaveThread();
  const Taken taken = send(rows, linger, reinterpret_cast<void*>(static_cast<uintptr_t>(topic)), partition, start, end);
  PyEval_RestoreThread(released);
  return Py_BuildValue("(LiN)", static_cast<long long>(taken.rows), taken.refusal, capsule);
}

PyObject* copied_rows(PyObject*, PyObject* args) {
  long long count;
  if (!PyArg_ParseTuple(args, "L", &count)) return nullptr;
  auto sent = std::make_unique<Sent>();
  sent->open.store(count, std::memory_order_relaxed);
  const auto address = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(sent.get()));
  PyObject* capsule = in_capsule(std::move(sent));
  return capsule == nullptr ? nullptr : Py_BuildValue("(NK)", capsule, address);
}

PyObject* refused_rows(PyObject*, PyObject* args) {
  PyObject* capsule;
  long long count;
  if (!PyArg_ParseTuple(args, "OL", &capsule, &count)) return nullptr;
  Sent* sent = sent_of(capsule);
  if (sent == nullptr) return nullptr;
  sent->open.fetch_sub(count, std::memory_order_relaxed);
  Py_RETURN_NONE;
}

PyObject* open_rows(PyObject*, PyObject* args) {
  PyObject* capsule;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return nullptr;
  const Sent* sent = sent_of(capsule);
  if (sent == nullptr) return nullptr;
  const auto open = static_cast<long long>(sent->open.load(std::memory_order_acquire));
  return Py_BuildValue("(LL)", open, static_cast<long long>(sent->failed.load(std::memory_order_relaxed)));
}

PyObject* forget_rows(PyObject*, PyObject* args) {
  PyObject* capsule;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return nullptr;
  Sent* sent = sent_of(capsule);
  if (sent == nullptr) return nullptr;
  sent->open.store(0, std::memory_order_release);
  Py_RETURN_NONE;
}

}  // namespace native
