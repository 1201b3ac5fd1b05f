#include "gathered.h"

namespace native {
namespace {

// A tuple that grows; nothing where an exception is set.
class Tuple {
 public:
  Tuple() : items_(PyList_New(0)) {}

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
  // Takes the item over.
  void push(PyObject* item) {
    if (items_ == nullptr || item == nullptr || PyList_Append(items_, item) < 0) Py_CLEAR(items_);
    Py_XDECREF(item);
  }
  PyObject* finish() {
    PyObject* tuple = items_ == nullptr ? nullptr : PyList_AsTuple(items_);
    Py_CLEAR(items_);
    return tuple;
  }

 private:
  PyObject* items_;
};

template <typename... Parts>
PyObject* tuple_of(const Parts&... parts) {
  Tuple tuple;
  (tuple.push(parts), ...);
  return tuple.finish();
}

PyObject* several(const std::vector<Slices>& columns) {
  Tuple tuple;
  for (const Slices& column : columns) tuple.push(column);
  return tuple.finish();
}

PyObject* several(const std::vector<Changes>& columns) {
  Tuple tuple;
  for (const Changes& column : columns) {
    tuple.push(tuple_of(column.rows, column.cleared, column.ends, column.paths, column.values, column.times));
  }
  return tuple.finish();
}

}  // namespace

PyObject* to_python(const Gathered& gathered) {
  const Ranges& ranges = gathered.ranges;
  return tuple_of(gathered.frames, gathered.ops, gathered.writetimes, gathered.ids, several(gathered.keys),
                  several(gathered.clusterings), gathered.live, gathered.live_times, gathered.deleted,
                  gathered.deleted_times,
                  tuple_of(ranges.rows, ranges.common, ranges.sizes, ranges.inclusive, several(ranges.prefixes)),
                  several(gathered.columns));
}

}  // namespace native
