// Avro's binary encoding to Arrow columns, read row by row without a Python object.
// Source: the Avro 1.11 specification, "Binary Encoding".
#include "avro_decode.h"

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "lent.h"
#include "utf8.h"

namespace native {
namespace {

constexpr size_t kWord = 8;
constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kNullable = 2;  // The flag of a field in the C data interface.

// Where a row's next value begins, and where the row ends.
struct Place {
  const uint8_t* at;
  const uint8_t* end;

  size_t left() const { return static_cast<size_t>(end - at); }

  // False where there is no zigzag number of at most 64 bits.
  bool read_long(int64_t* value) {
    uint64_t folded = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at == end) return false;
      const uint8_t byte = *at++;
      if (shift == 63 && byte > 1) return false;
      folded |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        *value = static_cast<int64_t>(folded >> 1) ^ -static_cast<int64_t>(folded & 1);
        return true;
      }
    }
    return false;
  }
};

// A column of a plan (see avro_encode.cpp), and of the Arrow type that it is to have.
class Column {
 public:
  // `ok` becomes false where the plan does not go with the type.
  Column(std::string_view* plan, const ArrowSchema& declared, size_t rows, bool* ok) : declared_(declared) {
    kind_ = next(plan, ok);
    if (kind_ == '?') {
      nullable_ = true;
      null_branch_ = next(plan, ok) / 2;
      value_branch_ = next(plan, ok) / 2;
      kind_ = next(plan, ok);
    }
    const std::string_view format(declared.format);
    if (declared.dictionary != nullptr) *ok = false;
    if (kind_ == 'r') {
      const int fields = number(plan, ok);
      *ok = *ok && format == "+s" && fields > 0 && fields == declared.n_children;
      for (int i = 0; *ok && i < fields; ++i) {
        *ok = number(plan, ok) == i;
        if (*ok) fields_.push_back(std::make_unique<Column>(plan, *declared.children[i], rows, ok));
      }
      return;
    }
    width_ = width_of(format);
    if (width_ == 0) *ok = false;
    if (!*ok) return;
    if (kind_ == 's') {
      is_text_ = format == "u";
      offsets_.reserve(rows + 1);
      offsets_.push_reserved(0);
    } else {
      // A number is written as a whole word, of which the next one takes back what is too much.
      values_.reserve(rows * static_cast<size_t>(width_) + kWord);
    }
  }

  // The next value of a row. False where it is none of this type, or needs a closer look.
  bool read(Place* place) {
    if (nullable_) {
      int64_t branch;
      if (!place->read_long(&branch)) return false;
      if (branch == null_branch_) {
        push_null();
        return true;
      }
      if (branch != value_branch_) return false;
    }
    if (!read_value(place)) return false;
    if (nulls_ != 0) valid_.push(1);
    ++length_;
    return true;
  }

  Made finish() {
    Made made;
    made.format = declared_.format;
    made.name = declared_.name == nullptr ? "" : declared_.name;
    made.flags = declared_.flags & kNullable;
    made.length = static_cast<int64_t>(length_);
    made.nulls = static_cast<int64_t>(nulls_);
    made.buffers.push_back(nulls_ == 0 ? nullptr : packed_bits(valid_.data(), length_));
    if (kind_ == 'r') {
      for (const auto& field : fields_) made.children.push_back(field->finish());
    } else if (kind_ == 's') {
      made.buffers.push_back(offsets_.take());
      made.buffers.push_back(values_.take());
    } else if (kind_ == 'b') {
      made.buffers.push_back(packed_bits(values_.data(), length_));
    } else {
      made.buffers.push_back(values_.take());
    }
    return made;
  }

 private:
  bool read_value(Place* place) {
    switch (kind_) {
      case 'i': {
        int64_t value;
        if (!place->read_long(&value) || value < least_ || value > most_) return false;
        push_word(&value);
        return true;
      }
      case 'f': case 'g': {
        const auto width = static_cast<size_t>(width_);
        if (place->left() < width) return false;
        uint64_t word = 0;
        std::memcpy(&word, place->at, width);
        place->at += width;
        push_word(&word);
        return true;
      }
      case 'b':
        if (place->left() == 0 || *place->at > 1) return false;
        values_.push(*place->at++);
        return true;
      case 's': {
        int64_t size;
        if (!place->read_long(&size) || size < 0 || static_cast<uint64_t>(size) > place->left()) return false;
        const uint8_t* end = place->at + size;
        if (is_text_ && !is_utf8(place->at, end)) return false;
        if (values_.size() + static_cast<size_t>(size) > INT32_MAX) return false;
        values_.append(place->at, static_cast<size_t>(size));
        offsets_.push(static_cast<int32_t>(values_.size()));
        place->at = end;
        return true;
      }
      default:
        for (const auto& field : fields_) {
          if (!field->read(place)) return false;
        }
        return true;
    }
  }

  void push_null() {
    if (nulls_ == 0) valid_.fill(1, length_);
    valid_.push(0);
    ++nulls_;
    ++length_;
    const uint64_t nothing = 0;
    if (kind_ == 'r') {
      for (const auto& field : fields_) field->push_null();
    } else if (kind_ == 's') {
      offsets_.push(static_cast<int32_t>(values_.size()));
    } else {
      push_word(&nothing);
    }
  }

  void push_word(const void* word) {
    values_.reserve(kWord);
    std::memcpy(values_.end(), word, kWord);
    values_.set_end(values_.end() + width_);
  }

  static uint8_t next(std::string_view* plan, bool* ok) {
    if (plan->empty()) {
      *ok = false;
      return 0;
    }
    const char first = plan->front();
    plan->remove_prefix(1);
    return static_cast<uint8_t>(first);
  }
  static int number(std::string_view* plan, bool* ok) {
    const int high = next(plan, ok);
    return high << 8 | next(plan, ok);
  }

  // The bytes of a value, 1 where that says nothing; 0: not of the kind. The limits of whole numbers.
  int width_of(std::string_view format) {
    switch (kind_) {
      case 'i':
        if (format == "c") return limited(INT8_MIN, INT8_MAX, 1);
        if (format == "s") return limited(INT16_MIN, INT16_MAX, 2);
        if (format == "i" || format == "tdD") return limited(INT32_MIN, INT32_MAX, 4);
        if (format == "ttm") return limited(0, kDayMs - 1, 4);
        return format == "l" || format.substr(0, 4) == "tsm:" ? 8 : 0;
      case 's': return format == "u" || format == "z" ? 1 : 0;
      case 'f': return format == "f" ? 4 : 0;
      case 'g': return format == "g" ? 8 : 0;
      case 'b': return format == "b" ? 1 : 0;
      default: return 0;
    }
  }
  int limited(int64_t least, int64_t most, int width) {
    least_ = least;
    most_ = most;
    return width;
  }

  const ArrowSchema& declared_;
  uint8_t kind_ = 0;
  int width_ = 0;
  bool nullable_ = false, is_text_ = false;
  int64_t null_branch_ = 0, value_branch_ = 0;
  int64_t least_ = INT64_MIN, most_ = INT64_MAX;
  size_t length_ = 0, nulls_ = 0;
  Buffer<uint8_t> valid_;
  Buffer<uint8_t> values_;  // Numbers, one byte per boolean, or the bytes of texts.
  Buffer<int32_t> offsets_;
  std::vector<std::unique_ptr<Column>> fields_;
};

// Every row, from `head` to its very end.
bool read_rows(const ArrowArray& data, int64_t head, Column* column) {
  const auto* offsets = static_cast<const int32_t*>(data.buffers[1]) + data.offset;
  const auto* bytes = static_cast<const uint8_t*>(data.buffers[2]);
  for (int64_t row = 0; row < data.length; ++row) {
    if (offsets[row + 1] - offsets[row] < head) return false;
    Place place{bytes + offsets[row] + head, bytes + offsets[row + 1]};
    if (!column->read(&place) || place.at != place.end) return false;
  }
  return true;
}

PyObject* decoded(const ArrowArray& data, const ArrowSchema& declared, std::string_view plan, int64_t head) {
  bool ok = true;
  std::optional<Made> made;
  const bool done = unlocked([&] {
    Column column(&plan, declared, static_cast<size_t>(data.length), &ok);
    ok = ok && plan.empty() && read_rows(data, head, &column);
    if (ok) made.emplace(column.finish());
  });
  if (!done) return nullptr;
  if (!ok) Py_RETURN_NONE;
  return to_capsules(std::move(*made));
}

}  // namespace

PyObject* avro_decode(PyObject*, PyObject* args) {
  PyObject *exporter, *wire;
  Argument plan;
  Py_ssize_t head;
  if (!PyArg_ParseTuple(args, "OOy*n", &exporter, &wire, plan.parsed(), &head)) return nullptr;
  Given data(exporter);
  if (data.array == nullptr) return nullptr;
  if (std::string_view(data.schema->format) != "z" || data.array->null_count != 0) Py_RETURN_NONE;
  PyObject* capsule = PyObject_CallMethod(wire, "__arrow_c_schema__", nullptr);
  if (capsule == nullptr) return nullptr;
  const auto* declared = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(capsule, "arrow_schema"));
  PyObject* made = declared == nullptr ? nullptr : decoded(*data.array, *declared, plan.text(), head);
  Py_DECREF(capsule);
  return made;
}

}  // namespace native
