#include "json_column.h"

#include <cmath>

#include "text_scan.h"

namespace native {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2**53: beyond, a double does not hold every integer.
constexpr size_t kMostFields = 2000;

struct IntFormat {
  const char* format;
  int64_t least, most;
  int width;
};
constexpr IntFormat kInts[] = {
    {"c", INT8_MIN, INT8_MAX, 1},    {"s", INT16_MIN, INT16_MAX, 2},   {"i", INT32_MIN, INT32_MAX, 4},
    {"l", INT64_MIN, INT64_MAX, 8},  {"tdD", INT32_MIN, INT32_MAX, 4}, {"ttm", INT32_MIN, INT32_MAX, 4},
};

template <typename Narrow>
void* narrowed(const Buffer<int64_t>& wide) {
  Buffer<Narrow> narrow;
  narrow.reserve(wide.size());
  for (size_t i = 0; i < wide.size(); ++i) narrow.push_reserved(static_cast<Narrow>(wide.data()[i]));
  return narrow.take();
}

}  // namespace

JsonColumn::JsonColumn(std::string name) : name_(std::move(name)) {
  const auto* text = reinterpret_cast<const uint8_t*>(name_.data());
  has_plain_name_ = find_special<0x80>(text, text + name_.size()) == text + name_.size();
}

JsonColumn::JsonColumn(const ArrowSchema& declared, bool* ok)
    : JsonColumn(std::string(declared.name == nullptr ? "" : declared.name)) {
  format_ = declared.format;
  declared_ = true;
  for (const IntFormat& known : kInts) {
    if (format_ == known.format) {
      kind_ = Kind::kInt;
      least_ = known.least, most_ = known.most, width_ = known.width;
      return;
    }
  }
  if (format_ == "b") {
    kind_ = Kind::kBool;
  } else if (format_ == "f") {
    kind_ = Kind::kFloat32;
  } else if (format_ == "g") {
    kind_ = Kind::kFloat64;
  } else if (format_ == "u") {
    kind_ = Kind::kText;
    offsets_.push(0);
  } else if (format_ == "+l") {
    kind_ = Kind::kList;
    offsets_.push(0);
    children_.push_back(std::make_unique<JsonColumn>(*declared.children[0], ok));
  } else if (format_ == "+s") {
    kind_ = Kind::kStruct;
    for (int64_t i = 0; i < declared.n_children; ++i) {
      children_.push_back(std::make_unique<JsonColumn>(*declared.children[i], ok));
      const bool is_new = places_.emplace(children_.back()->name_, children_.size() - 1).second;
      *ok = *ok && is_new;
    }
  } else {
    *ok = false;
  }
}

void JsonColumn::push_null() { push_nulls(1); }

void JsonColumn::push_nulls(size_t count) {
  if (count == 0) return;
  if (kind_ != Kind::kNull) {
    if (nulls_ == 0) valid_.fill(1, length_);
    valid_.fill(0, count);
    push_filler(count);
  }
  nulls_ += count;
  length_ += count;
}

void JsonColumn::push_filler(size_t count) {
  switch (kind_) {
    case Kind::kBool: bytes_.fill(0, count); break;
    case Kind::kInt: ints_.fill(0, count); break;
    case Kind::kFloat32: floats_.fill(0, count); break;
    case Kind::kFloat64: doubles_.fill(0, count); break;
    case Kind::kText: offsets_.fill(static_cast<int32_t>(bytes_.size()), count); break;
    case Kind::kList: offsets_.fill(static_cast<int32_t>(items()->length()), count); break;
    case Kind::kStruct:
      for (auto& child : children_) child->push_nulls(count);
      break;
    case Kind::kNull: break;
  }
}

bool JsonColumn::become(Kind kind) {
  if (kind_ == kind) return true;
  if (kind_ != Kind::kNull) return false;
  kind_ = kind;
  if (kind == Kind::kText || kind == Kind::kList) offsets_.push(0);
  if (kind == Kind::kList) children_.push_back(std::make_unique<JsonColumn>("item"));
  if (nulls_ != 0) valid_.fill(0, nulls_);
  push_filler(nulls_);
  return true;
}

bool JsonColumn::push_bool(bool value) {
  if (!become(Kind::kBool)) return false;
  bytes_.push(value);
  push_valid();
  return true;
}

bool JsonColumn::push_int(int64_t value) {
  if (kind_ == Kind::kInt) {
    if (value < least_ || value > most_) return false;
    ints_.push(value);
    push_valid();
    return true;
  }
  if (kind_ == Kind::kFloat64) {
    is_whole_ = false;
    return push_double(static_cast<double>(value));
  }
  return become(Kind::kInt) && push_int(value);
}

bool JsonColumn::push_double(double value) {
  if (kind_ == Kind::kInt && !declared_) {
    if (!turn_to_double()) return false;
  }
  if (!become(Kind::kFloat64)) return false;
  if (!declared_ && !(std::fabs(value) < kExact)) return false;
  doubles_.push(value);
  push_valid();
  return true;
}

bool JsonColumn::is_whole() const {
  bool whole = is_whole_;
  for (const auto& child : children_) whole = whole && child->is_whole();
  return whole;
}

bool JsonColumn::turn_to_double() {
  is_whole_ = false;
  doubles_.reserve(ints_.size() + 1);
  for (size_t i = 0; i < ints_.size(); ++i) {
    const double value = static_cast<double>(ints_.data()[i]);
    if (!(std::fabs(value) < kExact)) return false;
    doubles_.push_reserved(value);
  }
  std::free(ints_.take());
  kind_ = Kind::kFloat64;
  return true;
}

bool JsonColumn::push_float32(float value) {
  floats_.push(value);
  push_valid();
  return true;
}

uint8_t* JsonColumn::begin_text(size_t most) {
  if (!become(Kind::kText)) return nullptr;
  bytes_.reserve(most);
  return bytes_.end();
}

bool JsonColumn::end_text(const uint8_t* end) {
  bytes_.set_end(const_cast<uint8_t*>(end));
  offsets_.push(static_cast<int32_t>(bytes_.size()));
  push_valid();
  return bytes_.size() <= INT32_MAX;
}

void JsonColumn::push_list() {
  offsets_.push(static_cast<int32_t>(items()->length()));
  push_valid();
}

bool JsonColumn::find_field(std::string_view name, size_t* place) {
  const auto found = places_.find(name);
  if (found != places_.end()) {
    *place = found->second;
    return true;
  }
  // The C data interface ends a name at NUL.
  if (declared_ || children_.size() == kMostFields || name.find('\0') != std::string_view::npos) return false;
  *place = children_.size();
  children_.push_back(std::make_unique<JsonColumn>(std::string(name)));
  places_.emplace(children_.back()->name_, *place);
  children_.back()->push_nulls(length_);
  is_whole_ = is_whole_ && length_ == nulls_;
  return true;
}

Made JsonColumn::finish(bool* ok) {
  Made made;
  made.name = name_;
  made.length = static_cast<int64_t>(length_);
  made.nulls = static_cast<int64_t>(nulls_);
  made.format = format_;
  if (kind_ == Kind::kNull) {
    made.format = "n";
    return made;
  }
  made.buffers.push_back(nulls_ == 0 ? nullptr : packed_bits(valid_.data(), length_));
  switch (kind_) {
    case Kind::kBool:
      if (!declared_) made.format = "b";
      made.buffers.push_back(packed_bits(bytes_.data(), length_));
      break;
    case Kind::kInt:
      if (!declared_) made.format = "l";
      made.buffers.push_back(width_ == 8   ? static_cast<void*>(ints_.take())
                             : width_ == 4 ? narrowed<int32_t>(ints_)
                             : width_ == 2 ? narrowed<int16_t>(ints_)
                                           : narrowed<int8_t>(ints_));
      break;
    case Kind::kFloat32: made.buffers.push_back(floats_.take()); break;
    case Kind::kFloat64:
      made.format = "g";
      made.buffers.push_back(doubles_.take());
      break;
    case Kind::kText:
      made.format = "u";
      made.buffers.push_back(offsets_.take());
      made.buffers.push_back(bytes_.take());
      break;
    case Kind::kList:
      made.format = "+l";
      made.buffers.push_back(offsets_.take());
      // Arrow's reader gives such lists wrong lengths, so they go through the rows.
      *ok = *ok && items()->kind() != Kind::kNull;
      made.children.push_back(items()->finish(ok));
      break;
    case Kind::kStruct:
      made.format = "+s";
      // A struct without fields has no columns to hold its rows.
      *ok = *ok && !children_.empty();
      for (auto& child : children_) made.children.push_back(child->finish(ok));
      break;
    case Kind::kNull: break;
  }
  return made;
}

}  // namespace native
