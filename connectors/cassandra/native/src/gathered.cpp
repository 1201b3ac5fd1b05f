#include "gathered.h"

namespace native {
namespace {

// A tuple that grows; nothing where an exception is set.
class Tuple {
 public:
  explicit Tuple(size_t size) : tuple_(PyTuple_New(static_cast<Py_ssize_t>(size))) {}

  template <typename T>
  void push(const Buffer<T>& buffer) {
    const char* bytes = buffer.size() == 0 ? "" : reinterpret_cast<const char*>(buffer.data());
    push(PyBytes_FromStringAndSize(bytes, static_cast<Py_ssize_t>(buffer.size() * sizeof(T))));
  }
  void push(const Slices& slices) {
    push(slices.starts);
    push(slices.sizes);
  }
  void push(const Times& times) {
    push(times.writetimes);
    push(times.ttls);
    push(times.locals);
  }
  void push(PyObject* item) {
    if (tuple_ == nullptr || item == nullptr || PyTuple_SetItem(tuple_, next_++, item) < 0) {
      if (tuple_ == nullptr) Py_XDECREF(item);
      Py_CLEAR(tuple_);
    }
  }
  PyObject* finish() { return tuple_; }

 private:
  PyObject* tuple_;
  Py_ssize_t next_ = 0;
};

PyObject* several(const std::vector<Slices>& columns) {
  Tuple tuple(2 * columns.size());
  for (const Slices& column : columns) tuple.push(column);
  return tuple.finish();
}

PyObject* change(const Changes& changes) {
  Tuple tuple(10);
  tuple.push(changes.rows);
  tuple.push(changes.cleared);
  tuple.push(changes.ends);
  tuple.push(changes.paths);
  tuple.push(changes.values);
  tuple.push(changes.times);
  return tuple.finish();
}

PyObject* several_ranges(const Ranges& ranges) {
  Tuple tuple(5);
  tuple.push(ranges.rows);
  tuple.push(ranges.common);
  tuple.push(ranges.sizes);
  tuple.push(ranges.inclusive);
  tuple.push(several(ranges.prefixes));
  return tuple.finish();
}

}  // namespace

PyObject* to_python(const Gathered& gathered) {
  Tuple columns(gathered.columns.size());
  for (const Changes& column : gathered.columns) columns.push(change(column));
  Tuple tuple(16);
  tuple.push(gathered.frames);
  tuple.push(gathered.ops);
  tuple.push(gathered.writetimes);
  tuple.push(gathered.ids);
  tuple.push(several(gathered.keys));
  tuple.push(several(gathered.clusterings));
  tuple.push(gathered.live);
  tuple.push(gathered.live_times);
  tuple.push(gathered.deleted);
  tuple.push(gathered.deleted_times);
  tuple.push(several_ranges(gathered.ranges));
  tuple.push(columns.finish());
  return tuple.finish();
}

}  // namespace native
