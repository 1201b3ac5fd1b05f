// Arrow columns to Avro's binary encoding, one record per row, written row by row without a Python object.
// Source: the Avro 1.11 specification, "Binary Encoding".
#include "avro_encode.h"

#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "lent.h"

namespace native {
namespace {

constexpr int64_t kSample = 64;  // Rows after which the length of all is guessed.
constexpr size_t kMostVarint = 10;

using Bytes = Buffer<uint8_t>;

void put_long(Bytes* to, int64_t value) {
  to->reserve(kMostVarint);
  uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  for (; rest >= 0x80; rest >>= 7) to->push_reserved(static_cast<uint8_t>(rest | 0x80));
  to->push_reserved(static_cast<uint8_t>(rest));
}

// The plan of a type, read from the front (see avro/native_plan.py):
//   i whole number, f float, g double, b boolean, s string or bytes
//   ? tag of null, tag of value, plan: a union of null and another type
//   r number of fields, then of each the place in the struct and the plan; numbers have two bytes, the high one first
class Writer {
 public:
  // `ok` becomes false where the plan does not go with the array's types.
  Writer(std::string_view* plan, const ArrowSchema& schema, const ArrowArray& array, bool* ok) : array_(array) {
    kind_ = next(plan, ok);
    if (array.null_count != 0 && array.n_buffers > 0) valid_ = array.buffers[0];
    if (kind_ == '?') {
      nullable_ = true;
      null_tag_ = static_cast<uint8_t>(next(plan, ok));
      value_tag_ = static_cast<uint8_t>(next(plan, ok));
      kind_ = next(plan, ok);
    }
    const std::string_view format(schema.format);
    if (schema.dictionary != nullptr) *ok = false;
    if (kind_ == 'r') {
      *ok = *ok && format == "+s";
      const int fields = number(plan, ok);
      for (int i = 0; *ok && i < fields; ++i) {
        const int place = number(plan, ok);
        if (place >= schema.n_children) *ok = false;
        if (*ok) fields_.push_back(std::make_unique<Writer>(plan, *schema.children[place], *array.children[place], ok));
      }
      return;
    }
    width_ = width_of(format);
    if (width_ == 0) *ok = false;
  }

  // False where there is no value, and the schema requires one.
  bool write(Bytes* to, int64_t row) const {
    const int64_t at = array_.offset + row;
    if (!bit(valid_, at)) {
      if (nullable_) to->push(null_tag_);
      return nullable_;
    }
    if (nullable_) to->push(value_tag_);
    switch (kind_) {
      case 'i': put_long(to, whole(at)); return true;
      case 'f': to->append(static_cast<const uint8_t*>(array_.buffers[1]) + at * 4, 4); return true;
      case 'g': to->append(static_cast<const uint8_t*>(array_.buffers[1]) + at * 8, 8); return true;
      case 'b': to->push(bit(array_.buffers[1], at) ? 1 : 0); return true;
      case 's': {
        const auto* offsets = static_cast<const int32_t*>(array_.buffers[1]);
        const auto size = static_cast<size_t>(offsets[at + 1] - offsets[at]);
        put_long(to, static_cast<int64_t>(size));
        to->append(static_cast<const uint8_t*>(array_.buffers[2]) + offsets[at], size);
        return true;
      }
      default:
        for (const auto& field : fields_) {
          if (!field->write(to, at)) return false;
        }
        return true;
    }
  }

 private:
  static char next(std::string_view* plan, bool* ok) {
    if (plan->empty()) {
      *ok = false;
      return 0;
    }
    const char first = plan->front();
    plan->remove_prefix(1);
    return first;
  }
  static int number(std::string_view* plan, bool* ok) {
    const int high = static_cast<uint8_t>(next(plan, ok));
    return high << 8 | static_cast<uint8_t>(next(plan, ok));
  }

  // The bytes of a number, 1 where that says nothing; 0: not of the kind.
  int width_of(std::string_view format) const {
    switch (kind_) {
      case 'i':
        if (format == "c") return 1;
        if (format == "s") return 2;
        if (format == "i" || format == "tdD" || format == "ttm") return 4;
        return format == "l" || format.substr(0, 4) == "tsm:" ? 8 : 0;
      case 's': return format == "u" || format == "z" ? 1 : 0;
      case 'f': case 'g': case 'b': return format == std::string_view(&kind_, 1) ? 1 : 0;
      default: return 0;
    }
  }
  int64_t whole(int64_t at) const {
    switch (width_) {
      case 1: return static_cast<const int8_t*>(array_.buffers[1])[at];
      case 2: return static_cast<const int16_t*>(array_.buffers[1])[at];
      case 4: return static_cast<const int32_t*>(array_.buffers[1])[at];
      default: return static_cast<const int64_t*>(array_.buffers[1])[at];
    }
  }

  const ArrowArray& array_;
  char kind_ = 0;
  int width_ = 0;
  bool nullable_ = false;
  uint8_t null_tag_ = 0, value_tag_ = 0;
  const void* valid_ = nullptr;
  std::vector<std::unique_ptr<Writer>> fields_;
};

bool write_rows(const Writer& writer, int64_t rows, std::string_view prefix, Made* made) {
  Bytes bytes;
  Buffer<int32_t> offsets;
  offsets.reserve(static_cast<size_t>(rows) + 1);
  offsets.push_reserved(0);
  for (int64_t row = 0; row < rows; ++row) {
    bytes.append(reinterpret_cast<const uint8_t*>(prefix.data()), prefix.size());
    if (!writer.write(&bytes, row) || bytes.size() > INT32_MAX) return false;
    offsets.push_reserved(static_cast<int32_t>(bytes.size()));
    if (row + 1 == kSample) bytes.reserve(bytes.size() / kSample * static_cast<size_t>(rows - row) / 8 * 9);
  }
  made->format = "z";
  made->length = rows;
  made->buffers = {nullptr, offsets.take(), bytes.take()};
  return true;
}

}  // namespace

PyObject* avro_encode(PyObject*, PyObject* args) {
  PyObject* exporter;
  Argument plan, prefix;
  if (!PyArg_ParseTuple(args, "Oy*y*", &exporter, plan.parsed(), prefix.parsed())) return nullptr;
  Given given(exporter);
  if (given.array == nullptr) return nullptr;
  bool ok = true;
  Made made;
  const bool done = unlocked([&] {
    std::string_view rest = plan.text();
    const Writer writer(&rest, *given.schema, *given.array, &ok);
    ok = ok && rest.empty() && write_rows(writer, given.array->length, prefix.text(), &made);
  });
  if (!done) return nullptr;
  if (!ok) Py_RETURN_NONE;
  return to_capsules(std::move(made));
}

}  // namespace native
