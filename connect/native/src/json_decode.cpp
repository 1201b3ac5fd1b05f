#include "json_decode.h"

#include <new>
#include <optional>

#include "json_reader.h"

namespace native {
namespace {

// Every row into `column`; false when one of them is not this reader's. `is_compact` becomes false where space stands
// between the tokens of one.
bool read_rows(const ArrowArray& data, int64_t head, int64_t tail, JsonColumn* column, bool* is_compact) {
  const auto* offsets = static_cast<const int32_t*>(data.buffers[1]) + data.offset;
  const auto* bytes = static_cast<const uint8_t*>(data.buffers[2]);
  const void* valid = data.null_count == 0 ? nullptr : data.buffers[0];
  for (int64_t row = 0; row < data.length; ++row) {
    if (!bit(valid, data.offset + row)) {
      column->push_null();
      continue;
    }
    const int64_t from = offsets[row] + head, end = offsets[row + 1] - tail;
    JsonReader reader(bytes + from, bytes + end);
    if (from >= end || !reader.read(column)) return false;
    *is_compact = *is_compact && reader.is_compact();
  }
  return true;
}

PyObject* decoded(const ArrowArray& data, const ArrowSchema* declared, int64_t head, int64_t tail) {
  bool ok = true;
  bool is_whole = false;
  bool is_compact = true;
  std::optional<Made> made;
  const bool done = unlocked([&] {
    JsonColumn column = declared == nullptr ? JsonColumn("") : JsonColumn(*declared, &ok);
    ok = ok && read_rows(data, head, tail, &column, &is_compact) && column.kind() == Kind::kStruct;
    is_whole = column.is_whole();
    if (ok) made.emplace(column.finish(&ok));
  });
  if (!done) return nullptr;
  if (!ok) Py_RETURN_NONE;
  PyObject* capsules = to_capsules(std::move(*made));
  if (capsules == nullptr) return nullptr;
  return Py_BuildValue("NOO", capsules, is_whole ? Py_True : Py_False, is_compact ? Py_True : Py_False);
}

}  // namespace

PyObject* json_decode(PyObject*, PyObject* args) {
  PyObject* exporter;
  PyObject* wire;
  Py_ssize_t head, tail;
  if (!PyArg_ParseTuple(args, "OOnn", &exporter, &wire, &head, &tail)) return nullptr;
  Given data(exporter);
  if (data.array == nullptr) return nullptr;
  if (std::string_view(data.schema->format) != "z") Py_RETURN_NONE;
  if (wire == Py_None) return decoded(*data.array, nullptr, head, tail);
  PyObject* capsule = PyObject_CallMethod(wire, "__arrow_c_schema__", nullptr);
  if (capsule == nullptr) return nullptr;
  const auto* declared = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(capsule, "arrow_schema"));
  PyObject* made = declared == nullptr ? nullptr : decoded(*data.array, declared, head, tail);
  Py_DECREF(capsule);
  return made;
}

}  // namespace native
