// Arrow columns to JSON texts, one per row, written row by row without a Python object.
#include "json_encode.h"

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "java_text.h"
#include "lent.h"

namespace native {
namespace {

constexpr int64_t kSample = 64;  // Rows after which the length of all is guessed.

// Writes the values of one Arrow array; `write` is false where a value has to go the other way.
class Writer {
 public:
  // `ok` becomes false where the type has no writer here.
  Writer(const ArrowSchema& schema, const ArrowArray& array, bool* ok) : array_(array) {
    const std::string_view format(schema.format);
    kind_ = kind_of(format);
    if (array.null_count != 0 && array.n_buffers > 0) valid_ = array.buffers[0];
    if (kind_ == 0 || schema.dictionary != nullptr) *ok = false;
    for (int64_t i = 0; *ok && i < schema.n_children; ++i) {
      children_.push_back(std::make_unique<Writer>(*schema.children[i], *array.children[i], ok));
      names_.emplace_back();
      Text& name = names_.back();
      name.push(i == 0 ? '{' : ',');
      const char* plain = schema.children[i]->name;
      *ok = *ok && put_string(&name, reinterpret_cast<const uint8_t*>(plain), std::strlen(plain));
      name.push(':');
    }
    if (kind_ == 'S' && children_.empty()) *ok = false;
  }

  bool is_valid(int64_t row) const { return bit(valid_, array_.offset + row); }

  bool write(Text* text, int64_t row) const {
    if (!is_valid(row)) {
      put(text, "null", 4);
      return true;
    }
    const int64_t at = array_.offset + row;
    switch (kind_) {
      case 'b': bit(array_.buffers[1], at) ? put(text, "true", 4) : put(text, "false", 5); return true;
      case 'c': put_int(text, values<int8_t>()[at]); return true;
      case 's': put_int(text, values<int16_t>()[at]); return true;
      case 'i': put_int(text, values<int32_t>()[at]); return true;
      case 'l': put_int(text, values<int64_t>()[at]); return true;
      case 'f': put_float(text, values<float>()[at]); return true;
      case 'g': put_double(text, values<double>()[at]); return true;
      case 'u': return put_string(text, bytes(at), size(at));
      case 'z': put_base64(text, bytes(at), size(at)); return true;
      case 'd': put_decimal(text, values<uint8_t>() + at * 16); return true;
      case 'L': return write_list(text, at);
      default: return write_struct(text, at);
    }
  }

 private:
  // The type as one letter, 0 for one without a writer: logical types are those of their numbers.
  static char kind_of(std::string_view format) {
    if (format.size() == 1 && std::string_view("bcsilfguz").find(format[0]) != std::string_view::npos) return format[0];
    if (format == "tdD" || format == "ttm") return 'i';
    if (format == "tsm:UTC") return 'l';
    if (format.substr(0, 2) == "d:") {
      // A third number is the width in bits where it is not 128.
      const size_t comma = format.find(',');
      return format.find(',', comma + 1) == std::string_view::npos ? 'd' : 0;
    }
    if (format == "+l") return 'L';
    return format == "+s" ? 'S' : 0;
  }

  template <typename T>
  const T* values() const {
    return static_cast<const T*>(array_.buffers[1]);
  }
  const uint8_t* bytes(int64_t at) const {
    return static_cast<const uint8_t*>(array_.buffers[2]) + values<int32_t>()[at];
  }
  size_t size(int64_t at) const { return static_cast<size_t>(values<int32_t>()[at + 1] - values<int32_t>()[at]); }

  bool write_list(Text* text, int64_t at) const {
    text->push('[');
    const int32_t first = values<int32_t>()[at], end = values<int32_t>()[at + 1];
    for (int32_t item = first; item < end; ++item) {
      if (item > first) text->push(',');
      if (!children_[0]->write(text, item)) return false;
    }
    text->push(']');
    return true;
  }

  bool write_struct(Text* text, int64_t at) const {
    for (size_t i = 0; i < children_.size(); ++i) {
      text->append(names_[i].data(), names_[i].size());
      if (!children_[i]->write(text, at)) return false;
    }
    text->push('}');
    return true;
  }

  const ArrowArray& array_;
  char kind_;
  const void* valid_ = nullptr;
  std::vector<std::unique_ptr<Writer>> children_;
  std::vector<Text> names_;
};

// All rows between `prefix` and `suffix`; nothing when one of them has to go the other way, or all are too much.
bool write_rows(const Writer& writer, int64_t rows, std::string_view prefix, std::string_view suffix, Made* made) {
  Text text;
  Buffer<int32_t> offsets;
  Buffer<uint8_t> valid;
  offsets.reserve(static_cast<size_t>(rows) + 1);
  valid.reserve(static_cast<size_t>(rows));
  offsets.push_reserved(0);
  for (int64_t row = 0; row < rows; ++row) {
    valid.push_reserved(writer.is_valid(row));
    if (writer.is_valid(row)) {
      put(&text, prefix.data(), prefix.size());
      if (!writer.write(&text, row)) return false;
      put(&text, suffix.data(), suffix.size());
    } else {
      ++made->nulls;
    }
    if (text.size() > INT32_MAX) return false;
    if (row + 1 == kSample) text.reserve(text.size() / kSample * static_cast<size_t>(rows - row) / 8 * 9);
    offsets.push_reserved(static_cast<int32_t>(text.size()));
  }
  made->format = "z";
  made->length = rows;
  void* bits = made->nulls == 0 ? nullptr : packed_bits(valid.data(), valid.size());
  made->buffers = {bits, offsets.take(), text.take()};
  return true;
}

}  // namespace

PyObject* json_encode(PyObject*, PyObject* args) {
  PyObject* exporter;
  Argument prefix, suffix;
  if (!PyArg_ParseTuple(args, "Oy*y*", &exporter, prefix.parsed(), suffix.parsed())) return nullptr;
  Given given(exporter);
  if (given.array == nullptr) return nullptr;
  bool ok = true;
  Made made;
  const bool done = unlocked([&] {
    const Writer writer(*given.schema, *given.array, &ok);
    ok = ok && write_rows(writer, given.array->length, prefix.text(), suffix.text(), &made);
  });
  if (!done) return nullptr;
  if (!ok) Py_RETURN_NONE;
  return to_capsules(std::move(made));
}

}  // namespace native
