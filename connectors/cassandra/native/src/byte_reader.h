// Reads big-endian numbers and lengths, one behind the other, and never behind the end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace native {

// Thrown where bytes are not what is read here, be they damaged, unknown or rare: the Python twin decides about them.
struct Odd {};

// Some bytes of the data that is read. A negative size: there is no value.
struct Slice {
  int64_t start = 0;
  int64_t size = -1;
};

class ByteReader {
 public:
  // Reads data[at, end).
  ByteReader(const uint8_t* data, int64_t at, int64_t end) : data_(data), at_(at), end_(end) {}

  int64_t at() const { return at_; }
  bool is_at_end() const { return at_ == end_; }
  const uint8_t* here() const { return data_ + at_; }
  uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }

  Slice take(uint64_t size) {
    if (size > left()) throw Odd{};
    const Slice taken{at_, static_cast<int64_t>(size)};
    at_ += taken.size;
    return taken;
  }
  // How many things follow, told before them. Each takes at least so many bytes, so that no number costs memory alone.
  size_t count(uint64_t told, uint64_t least_bytes) const {
    if (told > left() / least_bytes) throw Odd{};
    return static_cast<size_t>(told);
  }
  uint8_t u8() { return data_[take(1).start]; }
  uint16_t u16() {
    const uint8_t* from = data_ + take(2).start;
    return static_cast<uint16_t>(from[0] << 8 | from[1]);
  }
  uint32_t u32() { return static_cast<uint32_t>(u16()) << 16 | u16(); }
  // The leading one bits of the first byte count the bytes that follow (org.apache.cassandra.utils.vint.VIntCoding).
  uint64_t vint() {
    const uint8_t first = u8();
    if (first < 0x80) return first;
    int more = 1;
    while (more < 8 && (first << more & 0x80) != 0) ++more;
    uint64_t value = more == 8 ? 0 : first & (0xFFu >> more);
    const uint8_t* from = data_ + take(static_cast<uint64_t>(more)).start;
    for (int i = 0; i < more; ++i) value = value << 8 | from[i];
    return value;
  }
  Slice vbytes() { return take(vint()); }

 private:
  const uint8_t* data_;
  int64_t at_, end_;
};

}  // namespace native
