// Reads strict RFC 8259 texts into a JsonColumn. False means "not proven exact here": nothing is ever guessed.
#pragma once

#include <cstdint>

#include "json_column.h"

namespace native {

class JsonReader {
 public:
  JsonReader(const uint8_t* from, const uint8_t* end) : at_(from), end_(end) {}

  // One value and nothing behind it but space.
  bool read(JsonColumn* column);
  // No space has stood between the tokens that were read.
  bool is_compact() const { return is_compact_; }

 private:
  bool value(JsonColumn* column, int depth);
  bool object(JsonColumn* column, int depth);
  bool array(JsonColumn* column, int depth);
  bool text(JsonColumn* column);
  bool number(JsonColumn* column);
  bool fraction(JsonColumn* column, const uint8_t* from, uint64_t digits, bool exact);
  bool push_whole(JsonColumn* column, const uint8_t* from, bool negative, uint64_t digits, int count);
  bool word(const char* word, size_t length);
  JsonColumn* name(JsonColumn* column, size_t* place);
  bool likely_name(JsonColumn* column, size_t place);
  bool other_name(JsonColumn* column, size_t* place);
  // The text behind a quote, decoded to `to`; null when it is none.
  uint8_t* decoded(uint8_t* to);
  uint8_t* escape(uint8_t* to);
  uint8_t* multibyte(uint8_t* to);
  bool hex(uint32_t* code);
  void skip_space() {
    if (at_ >= end_ || *at_ > ' ') return;
    const uint8_t* from = at_;
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
    is_compact_ = is_compact_ && at_ == from;
  }
  bool take(uint8_t byte) {
    if (at_ >= end_ || *at_ != byte) return false;
    ++at_;
    return true;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  bool is_compact_ = true;
};

}  // namespace native
