#include "crc32.h"

#include <cstring>

namespace native {
namespace {

// Of eight bytes at a time: what each of them, so many bytes before the end, adds ("slicing by 8").
struct Tables {
  uint32_t of[8][256];
  Tables() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
      of[0][byte] = value;
    }
    for (int behind = 1; behind < 8; ++behind) {
      for (int byte = 0; byte < 256; ++byte) {
        const uint32_t before = of[behind - 1][byte];
        of[behind][byte] = before >> 8 ^ of[0][before & 0xFF];
      }
    }
  }
};

}  // namespace

uint32_t crc32(uint32_t before, const uint8_t* data, size_t size) {
  static const Tables tables;
  uint32_t value = ~before;
  for (; size >= 8; size -= 8, data += 8) {
    uint32_t low, high;
    std::memcpy(&low, data, 4);  // The machines with wheels are little-endian, as the tables are.
    std::memcpy(&high, data + 4, 4);
    low ^= value;
    value = tables.of[7][low & 0xFF] ^ tables.of[6][low >> 8 & 0xFF] ^ tables.of[5][low >> 16 & 0xFF] ^
            tables.of[4][low >> 24] ^ tables.of[3][high & 0xFF] ^ tables.of[2][high >> 8 & 0xFF] ^
            tables.of[1][high >> 16 & 0xFF] ^ tables.of[0][high >> 24];
  }
  for (; size > 0; --size, ++data) value = value >> 8 ^ tables.of[0][(value ^ *data) & 0xFF];
  return ~value;
}

}  // namespace native
