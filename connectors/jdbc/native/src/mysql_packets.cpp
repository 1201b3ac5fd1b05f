// Packets of MariaDB's and MySQL's rows, as they came from the server, into Arrow columns.
// Source: MariaDB's protocol documentation, "0-packet", "Resultset row".
#include <new>
#include <optional>

#include "columns.h"
#include "lent.h"
#include "mysql_values.h"
#include "readers.h"

namespace native {
namespace {

constexpr size_t kHeader = 4;
constexpr uint32_t kLongest = 0xFFFFFF;
constexpr size_t kSample = 256;  // Rows after which the size of all is guessed.

uint32_t packet_length(const uint8_t* header) {
  return static_cast<uint32_t>(header[0]) | static_cast<uint32_t>(header[1]) << 8 | static_cast<uint32_t>(header[2]) << 16;
}

// No `wires`: rows of the text protocol.
bool add_rows(Columns* columns, const char* wires, const Lent& buffer, const int64_t* starts, size_t count) {
  const uint8_t* data = buffer.data();
  for (size_t row = 0; row < count; ++row) {
    const int64_t start = starts[row];
    if (start < static_cast<int64_t>(kHeader) || start > buffer.size()) return false;
    const uint32_t length = packet_length(data + start - kHeader);
    if (length > buffer.size() - start) return false;
    const uint8_t *from = data + start, *end = from + length;
    if (!(wires == nullptr ? add_text_row(columns, from, end) : add_binary_row(columns, wires, from, end))) return false;
    if (row + 1 == kSample) {
      for (Column& column : *columns) column.expect(count / kSample + 1);
    }
  }
  return first_invalid_text(*columns) < 0;
}

PyObject* read_rows(PyObject* buffer, PyObject* starts, const char* kinds, size_t count, const char* wires) {
  const Lent lent(buffer);
  if (!lent.ok()) return nullptr;
  const Lent places(starts);
  if (!places.ok()) return nullptr;
  Columns columns = columns_of(kinds, count);
  const size_t rows = static_cast<size_t>(places.size()) / sizeof(int64_t);
  std::optional<Made> made;
  const bool done = unlocked([&] {
    const auto* at = reinterpret_cast<const int64_t*>(places.data());
    if (add_rows(&columns, wires, lent, at, rows)) made.emplace(rows_of(&columns, static_cast<int64_t>(rows)));
  });
  if (!done) return nullptr;
  if (!made) Py_RETURN_NONE;
  return to_capsules(std::move(*made));
}

}  // namespace

PyObject* find_rows(PyObject*, PyObject* args) {
  PyObject* buffer;
  long long at, have, most;
  if (!PyArg_ParseTuple(args, "OLLL", &buffer, &at, &have, &most)) return nullptr;
  const Lent lent(buffer);
  if (!lent.ok()) return nullptr;
  if (at < 0 || have > lent.size()) {
    PyErr_SetString(PyExc_ValueError, "the packets are outside of the buffer");
    return nullptr;
  }
  Buffer<int64_t> starts;
  bool is_row = true;
  try {
    while (is_row && static_cast<int64_t>(starts.size()) < most && have - at >= static_cast<int64_t>(kHeader)) {
      const uint32_t length = packet_length(lent.data() + at);
      const int64_t start = at + static_cast<int64_t>(kHeader);
      if (have - start < length) break;
      // No row begins with these: they announce an end, an error, or a value that fills a packet.
      is_row = length > 0 && length < kLongest && lent.data()[start] <= 0xFD;
      if (!is_row) break;
      starts.push(start);
      at = start + length;
    }
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  PyObject* bytes = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(starts.data()),
                                              static_cast<Py_ssize_t>(starts.size() * sizeof(int64_t)));
  return Py_BuildValue("(NLO)", bytes, static_cast<long long>(at), is_row ? Py_False : Py_True);
}

PyObject* read_text_rows(PyObject*, PyObject* args) {
  PyObject *buffer, *starts;
  Argument kinds;
  if (!PyArg_ParseTuple(args, "OOs*", &buffer, &starts, kinds.parsed())) return nullptr;
  return read_rows(buffer, starts, kinds.data(), kinds.size(), nullptr);
}

PyObject* read_binary_rows(PyObject*, PyObject* args) {
  PyObject *buffer, *starts;
  Argument kinds, wires;
  if (!PyArg_ParseTuple(args, "OOs*s*", &buffer, &starts, kinds.parsed(), wires.parsed())) return nullptr;
  if (kinds.size() != wires.size()) {
    PyErr_SetString(PyExc_ValueError, "kinds and wires are of different lengths");
    return nullptr;
  }
  return read_rows(buffer, starts, kinds.data(), kinds.size(), wires.data());
}

}  // namespace native
