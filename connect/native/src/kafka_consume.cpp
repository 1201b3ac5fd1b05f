// Records of librdkafka into Arrow columns, one batch per partition, without a Python object per record.
#include "kafka_consume.h"

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "rdkafka_abi.h"

namespace native {
namespace {

constexpr int64_t kMostBytes = 1 << 30;  // Of the values or keys of one batch, whose offsets have 32 bits.

// The messages of one call, freed in the end whatever happens.
class Messages {
 public:
  explicit Messages(size_t most) : taken_(most) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages() {
    for (size_t i = 0; i < count_; ++i) kafka.message_destroy(taken_[i]);
  }

  // Waits for a first one at most `wait_ms`, then goes on for `fill_ms`.
  void take(void* queue, int wait_ms, int fill_ms) {
    add(queue, 0, taken_.size());
    if (count_ == 0 && wait_ms > 0) add(queue, wait_ms, 1);
    if (count_ > 0 && count_ < taken_.size()) add(queue, fill_ms, taken_.size() - count_);
  }
  size_t count() const { return count_; }
  const KafkaMessage& operator[](size_t i) const { return *taken_[i]; }

 private:
  void add(void* queue, int timeout_ms, size_t most) {
    const ssize_t got = kafka.consume_batch_queue(queue, timeout_ms, taken_.data() + count_, most);
    if (got > 0) count_ += static_cast<size_t>(got);
  }

  std::vector<KafkaMessage*> taken_;
  size_t count_ = 0;
};

// Byte strings that become an Arrow binary array.
class Strings {
 public:
  void plan(const void* data, size_t size) {
    bytes_ += static_cast<int64_t>(size);
    nulls_ += data == nullptr;
    ++count_;
  }
  int64_t planned_bytes() const { return bytes_; }
  bool all_null() const { return nulls_ == count_; }
  void begin() {
    data_.reserve(static_cast<size_t>(bytes_) + 1);
    offsets_.reserve(static_cast<size_t>(count_) + 1);
    offsets_.push_reserved(0);
    if (nulls_ != 0) valid_.reserve(static_cast<size_t>(count_));
  }
  void add(const void* data, size_t size) {
    data_.append(static_cast<const uint8_t*>(data), data == nullptr ? 0 : size);
    offsets_.push_reserved(static_cast<int32_t>(data_.size()));
    if (nulls_ != 0) valid_.push_reserved(data != nullptr);
  }
  Made finish() {
    Made made;
    made.format = "z";
    made.length = count_;
    made.nulls = nulls_;
    made.buffers = {nulls_ == 0 ? nullptr : packed_bits(valid_.data(), valid_.size()), offsets_.take(), data_.take()};
    return made;
  }

 private:
  int64_t bytes_ = 0, nulls_ = 0, count_ = 0;
  Buffer<uint8_t> data_;
  Buffer<int32_t> offsets_;
  Buffer<uint8_t> valid_;
};

Made numbers(Buffer<int64_t>* values, const Buffer<uint8_t>& valid, int64_t nulls) {
  Made made;
  made.format = "l";
  made.length = static_cast<int64_t>(values->size());
  made.nulls = nulls;
  void* bits = nulls == 0 ? nullptr : packed_bits(valid.data(), valid.size());
  made.buffers = {bits, values->take()};
  return made;
}

// The records of one partition in this call, by their place among the messages.
struct Group {
  void* topic;
  int32_t partition;
  bool has_headers = false;
  std::vector<size_t> rows;
  Strings values, keys;
  Buffer<int64_t> offsets, times;
  Buffer<uint8_t> timed;
  int64_t untimed = 0;

  bool takes(const KafkaMessage& message) const {
    return topic == message.topic && partition == message.partition &&
           values.planned_bytes() + static_cast<int64_t>(message.size) < kMostBytes &&
           keys.planned_bytes() + static_cast<int64_t>(message.key_size) < kMostBytes;
  }
};

class Groups {
 public:
  void plan(const Messages& messages) {
    for (size_t i = 0; i < messages.count(); ++i) {
      const KafkaMessage& message = messages[i];
      if (message.err != 0) {
        (message.err == kPartitionEnd ? ends : failed).push_back(i);
        continue;
      }
      Group& group = of(message);
      group.rows.push_back(i);
      group.values.plan(message.payload, message.size);
      group.keys.plan(message.key, message.key_size);
    }
  }

  void fill(const Messages& messages) {
    for (auto& group : all) {
      group->values.begin();
      group->keys.begin();
      for (const size_t i : group->rows) fill_row(messages[i], group.get());
    }
  }

  std::vector<std::unique_ptr<Group>> all;
  std::vector<size_t> failed, ends;

 private:
  // librdkafka gives long runs of one partition; the latest group of one is the one that is not full.
  Group& of(const KafkaMessage& message) {
    if (last_ != nullptr && last_->takes(message)) return *last_;
    last_ = nullptr;
    for (auto group = all.rbegin(); group != all.rend() && last_ == nullptr; ++group) {
      if ((*group)->takes(message)) last_ = group->get();
    }
    if (last_ == nullptr) {
      all.push_back(std::make_unique<Group>());
      last_ = all.back().get();
      last_->topic = message.topic;
      last_->partition = message.partition;
    }
    return *last_;
  }

  static void fill_row(const KafkaMessage& message, Group* group) {
    group->values.add(message.payload, message.size);
    group->keys.add(message.key, message.key_size);
    group->offsets.push(message.offset);
    int32_t kind = kNoTimestamp;
    const int64_t time_ms = kafka.message_timestamp(&message, &kind);
    const bool timed = kind != kNoTimestamp;
    group->times.push(timed ? time_ms : 0);
    group->timed.push(timed);
    group->untimed += !timed;
    void* headers = nullptr;
    if (!group->has_headers) group->has_headers = kafka.message_headers(&message, &headers) == 0;
  }

  Group* last_ = nullptr;
};

// [(name, value or None), ...] of a record, the empty tuple when it has none.
PyObject* headers_of(const KafkaMessage& message) {
  void* headers = nullptr;
  if (kafka.message_headers(&message, &headers) != 0) return PyTuple_New(0);
  PyObject* list = PyList_New(0);
  const char* name;
  const void* value;
  size_t size;
  for (size_t at = 0; list != nullptr && kafka.header_get_all(headers, at, &name, &value, &size) == 0; ++at) {
    // Kafka says nothing of what a name is made of: as in Java, what is no UTF-8 is replaced, and ends no poll.
    PyObject* key = PyUnicode_DecodeUTF8(name, static_cast<Py_ssize_t>(std::strlen(name)), "replace");
    PyObject* pair = key == nullptr    ? nullptr
                     : value == nullptr ? Py_BuildValue("(NO)", key, Py_None)
                                        : Py_BuildValue("(NN)", key, PyBytes_FromStringAndSize(
                                                                         static_cast<const char*>(value),
                                                                         static_cast<Py_ssize_t>(size)));
    if (pair == nullptr || PyList_Append(list, pair) != 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

PyObject* all_headers(const Messages& messages, const Group& group) {
  if (!group.has_headers) return Py_NewRef(Py_None);
  PyObject* rows = PyList_New(0);
  for (const size_t i : group.rows) {
    PyObject* row = headers_of(messages[i]);
    if (row == nullptr || PyList_Append(rows, row) != 0) Py_CLEAR(rows);
    Py_XDECREF(row);
    if (rows == nullptr) break;
  }
  return rows;
}

// (topic, partition, values, keys or None, headers or None, timestamps_ms, offsets, next_offset)
PyObject* batch_of(const Messages& messages, Group* group) {
  const int64_t next_offset = group->offsets.data()[group->offsets.size() - 1] + 1;
  PyObject* values = to_capsules(group->values.finish());
  PyObject* keys = group->keys.all_null() ? Py_NewRef(Py_None) : to_capsules(group->keys.finish());
  PyObject* headers = all_headers(messages, *group);
  PyObject* times = to_capsules(numbers(&group->times, group->timed, group->untimed));
  PyObject* offsets = to_capsules(numbers(&group->offsets, group->timed, 0));
  if (values == nullptr || keys == nullptr || headers == nullptr || times == nullptr || offsets == nullptr) {
    for (PyObject* part : {values, keys, headers, times, offsets}) Py_XDECREF(part);
    return nullptr;
  }
  return Py_BuildValue("(siNNNNNL)", kafka.topic_name(group->topic), group->partition, values, keys, headers, times,
                       offsets, static_cast<long long>(next_offset));
}

bool append(PyObject* list, PyObject* item) {
  const bool done = item != nullptr && PyList_Append(list, item) == 0;
  Py_XDECREF(item);
  return done;
}

PyObject* result_of(const Messages& messages, Groups* groups) {
  PyObject* batches = PyList_New(0);
  PyObject* errors = PyList_New(0);
  PyObject* ends = PyList_New(0);
  bool ok = batches != nullptr && errors != nullptr && ends != nullptr;
  for (auto& group : groups->all) ok = ok && append(batches, batch_of(messages, group.get()));
  for (const size_t i : groups->failed) {
    const KafkaMessage& failed = messages[i];
    const char* topic = failed.topic == nullptr ? nullptr : kafka.topic_name(failed.topic);
    ok = ok && append(errors, Py_BuildValue("(isziL)", failed.err, kafka.message_errstr(&failed), topic, failed.partition,
                                            static_cast<long long>(failed.offset)));
  }
  for (const size_t i : groups->ends) {
    const KafkaMessage& end = messages[i];
    ok = ok && append(ends, Py_BuildValue("(siL)", kafka.topic_name(end.topic), end.partition,
                                          static_cast<long long>(end.offset)));
  }
  if (ok) return Py_BuildValue("(NNN)", batches, errors, ends);
  for (PyObject* part : {batches, errors, ends}) Py_XDECREF(part);
  return nullptr;
}

}  // namespace

PyObject* consume(PyObject*, PyObject* args) {
  unsigned long long queue;
  Py_ssize_t most;
  int wait_ms, fill_ms;
  if (!PyArg_ParseTuple(args, "Knii", &queue, &most, &wait_ms, &fill_ms)) return nullptr;
  if (kafka.message_errstr == nullptr || most < 1) {
    PyErr_SetString(PyExc_ValueError, "bind_librdkafka comes first, and one record at least must be asked for");
    return nullptr;
  }
  std::optional<Messages> messages;
  Groups groups;
  const bool done = unlocked([&] {
    messages.emplace(static_cast<size_t>(most));
    messages->take(reinterpret_cast<void*>(static_cast<uintptr_t>(queue)), wait_ms, fill_ms);
    groups.plan(*messages);
    groups.fill(*messages);
  });
  PyObject* result = done ? result_of(*messages, &groups) : nullptr;
  PyThreadState* released = PyEval_SaveThread();
  messages.reset();
  PyEval_RestoreThread(released);
  return result;
}

}  // namespace native
