// Arrow columns into librdkafka without a copy: it points to the rows, which are kept until it is done with each.
#include "kafka_produce.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "byte_strings.h"
#include "kafka_headers.h"
#include "kafka_linger.h"
#include "kafka_sent.h"
#include "rdkafka_abi.h"

namespace native {
namespace {

constexpr char kCapsule[] = "connect.sent_rows";
constexpr int64_t kCall = 512;  // Messages per call: their array stays in the processor's cache.

struct Taken {
  int64_t rows = 0;
  int32_t refusal = 0;
};

// Some rows on their way to one place.
class Sending {
 public:
  Sending(Sent* sent, Linger* linger, void* topic, int32_t partition)
      : sent_(sent), linger_(linger), topic_(topic), partition_(partition), values_(*sent->values) {
    if (sent->keys) keys_.emplace(*sent->keys);
  }
  // Rows from `start` on, until one is refused; its reason is 0 when there is none.
  Taken send(int64_t start, int64_t end, const SharedHeaders* headers) {
    Taken taken;
    while (start + taken.rows < end && taken.refusal == 0) {
      const int64_t first = start + taken.rows, count = std::min(kCall, end - first);
      const int64_t bytes = point(first, count);
      sent_->open.fetch_add(count, std::memory_order_relaxed);
      linger_->queued(bytes);
      const Taken now = headers == nullptr ? as_batch(count) : one_by_one(count, *headers);
      taken.rows += now.rows;
      taken.refusal = now.refusal;
    }
    return taken;
  }

 private:
  int64_t point(int64_t first, int64_t count) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) {
      KafkaMessage& message = messages_[static_cast<size_t>(i)];
      message = KafkaMessage{};
      message.opaque = sent_;
      values_.point(first + i, &message.payload, &message.size);
      if (keys_) keys_->point(first + i, &message.key, &message.key_size);
      bytes += size_of(message);
    }
    return bytes;
  }
  Taken as_batch(int64_t count) {
    const int done = kafka.produce_batch(topic_, partition_, 0, messages_.data(), static_cast<int>(count));
    if (done == count) return {count, 0};
    const auto end = messages_.begin() + count;
    const auto refused = std::find_if(messages_.begin(), end, [](auto& m) { return m.err != 0; });
    // A full queue refuses every row behind the first one too. What became of the rows behind another refusal is not
    // known here: their memory is kept until the client is gone.
    if (refused->err == kQueueFull) sent_->open.fetch_sub(count - done, std::memory_order_relaxed);
    for (auto message = refused; message != end; ++message) {
      if (message->err != 0) linger_->refused(size_of(*message));
    }
    return {refused - messages_.begin(), refused->err};
  }
  // A batch of messages has no place for headers.
  Taken one_by_one(int64_t count, const SharedHeaders& headers) {
    std::array<KafkaField, 6> fields{};
    fields[0].kind = kTopicField, fields[0].pointer = topic_;
    fields[1].kind = kPartitionField, fields[1].number = partition_;
    fields[2].kind = kOpaqueField, fields[2].pointer = sent_;
    fields[3].kind = kValueField;
    fields[4].kind = kKeyField;
    fields[5].kind = kHeadersField;
    for (int64_t i = 0; i < count; ++i) {
      const KafkaMessage& message = messages_[static_cast<size_t>(i)];
      fields[3].bytes = {message.payload, message.size};
      fields[4].bytes = {message.key, message.key_size};
      fields[5].pointer = headers.copy();
      void* error = kafka.produce_row(linger_->client(), fields.data(), fields.size());
      if (error == nullptr) continue;
      SharedHeaders::destroy(fields[5].pointer);
      const int32_t refusal = kafka.error_code(error);
      kafka.error_destroy(error);
      // The refused row itself may have been counted as given up: its memory is kept, as above.
      sent_->open.fetch_sub(count - i - (refusal == kQueueFull ? 0 : 1), std::memory_order_relaxed);
      for (int64_t left = i; left < count; ++left) linger_->refused(size_of(messages_[static_cast<size_t>(left)]));
      return {i, refusal};
    }
    return {count, 0};
  }
  static int64_t size_of(const KafkaMessage& message) { return static_cast<int64_t>(message.size + message.key_size); }

  Sent* sent_;
  Linger* linger_;
  void* topic_;
  int32_t partition_;
  ByteStrings values_;
  std::optional<ByteStrings> keys_;
  std::array<KafkaMessage, kCall> messages_;
};

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
  PyObject *lingers, *values, *keys, *pairs;
  unsigned long long topic;
  int partition;
  long long start, end;
  if (!PyArg_ParseTuple(args, "OKiOOOLL", &lingers, &topic, &partition, &values, &keys, &pairs, &start, &end)) {
    return nullptr;
  }
  Linger* linger = linger_of(lingers);
  if (linger == nullptr) return nullptr;
  auto sent = std::make_unique<Sent>(values, keys);
  if (sent->values->array == nullptr || (sent->keys && sent->keys->array == nullptr)) return nullptr;
  if (!ByteStrings::takes(*sent->values, start, end) || (sent->keys && !ByteStrings::takes(*sent->keys, start, end))) {
    PyErr_SetString(PyExc_ValueError, "rows are sent from binary or string columns, from within their length");
    return nullptr;
  }
  std::optional<SharedHeaders> headers;
  if (pairs != Py_None && !headers.emplace(pairs).is_made()) return nullptr;
  Sending sending(sent.get(), linger, reinterpret_cast<void*>(static_cast<uintptr_t>(topic)), partition);
  PyObject* capsule = in_capsule(std::move(sent));
  if (capsule == nullptr) return nullptr;
  PyThreadState* released = PyEval_SaveThread();
  const Taken taken = sending.send(start, end, headers ? &*headers : nullptr);
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
