// The cells of a page of rows, column by column. Source: CQL binary protocol v5, section 4.2.5.2. The twin is pages.py.
#include "arrow.h"
#include "functions.h"
#include "lent.h"

namespace native {
namespace {

constexpr int64_t kSizeBytes = 4;

// Where each cell begins, and its size, negative for null. False: the bytes end before the last cell does.
bool find(const Lent& page, int64_t rows, int64_t columns, int64_t* starts, int64_t* sizes) {
  const uint8_t* data = page.data();
  int64_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      if (page.size() - at < kSizeBytes) return false;
      const uint8_t* from = data + at;
      const int64_t size = static_cast<int32_t>(static_cast<uint32_t>(from[0]) << 24 |
                                                static_cast<uint32_t>(from[1]) << 16 |
                                                static_cast<uint32_t>(from[2]) << 8 | from[3]);
      at += kSizeBytes;
      if (size > page.size() - at) return false;
      starts[column * rows + row] = at;
      sizes[column * rows + row] = size;
      if (size > 0) at += size;
    }
  }
  return true;
}

}  // namespace

PyObject* find_cells(PyObject*, PyObject* args) {
  PyObject* given;
  Py_ssize_t rows, columns;
  if (!PyArg_ParseTuple(args, "Onn", &given, &rows, &columns)) return nullptr;
  const Lent page(given);
  if (!page.ok()) return nullptr;
  // Each cell has its size before it: what tells of more cells than there are bytes gets no memory for them.
  if (rows < 0 || columns <= 0 || rows > page.size() / kSizeBytes / columns) Py_RETURN_NONE;
  const Py_ssize_t bytes = rows * columns * static_cast<Py_ssize_t>(sizeof(int64_t));
  PyObject* starts = PyBytes_FromStringAndSize(nullptr, bytes);
  PyObject* sizes = PyBytes_FromStringAndSize(nullptr, bytes);
  if (starts == nullptr || sizes == nullptr) {
    Py_XDECREF(starts);
    Py_XDECREF(sizes);
    return nullptr;
  }
  bool is_whole = false;
  const bool done = unlocked([&] {
    is_whole = find(page, rows, columns, reinterpret_cast<int64_t*>(PyBytes_AsString(starts)),
                    reinterpret_cast<int64_t*>(PyBytes_AsString(sizes)));
  });
  if (done && is_whole) return Py_BuildValue("(NN)", starts, sizes);
  Py_DECREF(starts);
  Py_DECREF(sizes);
  if (!done) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace native
