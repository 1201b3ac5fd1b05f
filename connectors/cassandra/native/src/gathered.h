// What mutations did to one table, as columns: one entry per event, cell, change of a collection, mark.
#pragma once

#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "buffer.h"
#include "byte_reader.h"

namespace native {

// Stand for "none" (log/event_arrays.py).
constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
constexpr int32_t kNoTtl = std::numeric_limits<int32_t>::min();

// Values by their places in the data.
struct Slices {
  Buffer<int64_t> starts, sizes;

  void push(const Slice& slice) {
    starts.push(slice.start);
    sizes.push(slice.size);
  }
};

// Cells, or marks that have the same times.
struct Times {
  Buffer<int64_t> writetimes, locals;
  Buffer<int32_t> ttls;

  void push(int64_t writetime, int32_t ttl, int64_t local) {
    writetimes.push(writetime);
    ttls.push(ttl);
    locals.push(local);
  }
};

// Changes of one column. `rows`: the events; of a collection or type `ends` is where the cells of each end.
struct Changes {
  Buffer<int64_t> rows, cleared, ends;
  Slices values, paths;
  Times times;
};

// Deleted ranges: of each the event, how many of the first clustering columns have one value at both bounds, and two
// entries in the rest, its bounds in the order of the table.
struct Ranges {
  Buffer<int64_t> rows, common, sizes;
  Buffer<uint8_t> inclusive;
  std::vector<Slices> prefixes;
};

struct Gathered {
  Buffer<int64_t> frames, writetimes;
  Buffer<uint8_t> ops, ids;
  std::vector<Slices> keys, clusterings;
  Buffer<int64_t> live, deleted;
  Times live_times, deleted_times;
  Ranges ranges;
  std::vector<Changes> columns;

  size_t events() const { return ops.size(); }
};

// The arrays as bytes, in the order that `log/native_events.py` reads them. nullptr with an exception set.
PyObject* to_python(const Gathered& gathered);

}  // namespace native
