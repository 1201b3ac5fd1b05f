// Reflected, polynomial 0x04C11DB7.
#include "crc32.h"

#include <array>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define CONNECT_CARRYLESS 1
#endif

namespace native {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // Its bits in the order in which bytes are read: the lowest one first.
constexpr size_t kWord = 8;

// x times a polynomial, modulo the one of the CRC.
constexpr uint32_t times_x(uint32_t value) { return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0); }

// What a byte adds to the CRC when `i` other bytes of its word come behind it.
constexpr std::array<std::array<uint32_t, 256>, kWord> tables() {
  std::array<std::array<uint32_t, 256>, kWord> made{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (size_t i = 0; i < kWord; ++i) {
      for (int step = 0; step < 8; ++step) value = times_x(value);
      made[i][byte] = value;
    }
  }
  return made;
}

constexpr auto kTables = tables();

uint32_t by_tables(uint32_t crc, const uint8_t* data, size_t size) {
  for (; size >= kWord; data += kWord, size -= kWord) {
    uint32_t next = 0;
    for (size_t i = 0; i < kWord; ++i) {
      const uint32_t before = i < 4 ? (crc >> (8 * i)) & 0xFF : 0;
      next ^= kTables[kWord - 1 - i][data[i] ^ before];
    }
    crc = next;
  }
  for (; size > 0; ++data, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ *data) & 0xFF];
  return crc;
}

#ifdef CONNECT_CARRYLESS

constexpr size_t kBlock = 16, kBlocks = 4 * kBlock;

// x to a power, modulo the CRC's polynomial, as a factor of carry-less products of reflected numbers.
constexpr long long power(int exponent) {
  uint32_t value = 0x80000000;
  for (int i = 0; i < exponent; ++i) value = times_x(value);
  return static_cast<long long>(static_cast<uint64_t>(value) << 1);
}

// A block that is as many bits ahead as `factors` are made for, as one of the same remainder further on.
__attribute__((target("pclmul"))) inline __m128i moved(__m128i block, __m128i factors) {
  return _mm_xor_si128(_mm_clmulepi64_si128(block, factors, 0x00), _mm_clmulepi64_si128(block, factors, 0x11));
}

__attribute__((target("pclmul"))) inline __m128i loaded(const uint8_t* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// All is folded into one block of the same remainder, whose CRC the tables find. At least `kBlocks` bytes.
__attribute__((target("pclmul"))) uint32_t by_folding(uint32_t crc, const uint8_t* data, size_t size) {
  constexpr long long kFour[] = {power(4 * 128 + 32), power(4 * 128 - 32)}, kOne[] = {power(128 + 32), power(128 - 32)};
  const __m128i four_blocks = _mm_set_epi64x(kFour[1], kFour[0]), one_block = _mm_set_epi64x(kOne[1], kOne[0]);
  __m128i lanes[4];
  for (size_t i = 0; i < 4; ++i) lanes[i] = loaded(data + i * kBlock);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  for (data += kBlocks, size -= kBlocks; size >= kBlocks; data += kBlocks, size -= kBlocks) {
    for (size_t i = 0; i < 4; ++i) {
      lanes[i] = _mm_xor_si128(moved(lanes[i], four_blocks), loaded(data + i * kBlock));
    }
  }
  __m128i all = lanes[0];
  for (size_t i = 1; i < 4; ++i) all = _mm_xor_si128(moved(all, one_block), lanes[i]);
  for (; size >= kBlock; data += kBlock, size -= kBlock) all = _mm_xor_si128(moved(all, one_block), loaded(data));
  alignas(kBlock) uint8_t folded[kBlock];
  _mm_store_si128(reinterpret_cast<__m128i*>(folded), all);
  return by_tables(by_tables(0, folded, kBlock), data, size);
}

uint32_t advanced(uint32_t crc, const uint8_t* data, size_t size) {
  static const bool has_products = __builtin_cpu_supports("pclmul") != 0;
  return has_products && size >= kBlocks ? by_folding(crc, data, size) : by_tables(crc, data, size);
}

#else

uint32_t advanced(uint32_t crc, const uint8_t* data, size_t size) { return by_tables(crc, data, size); }

#endif

}  // namespace

uint32_t crc32(uint32_t begin, const void* data, size_t size) {
  return ~advanced(~begin, static_cast<const uint8_t*>(data), size);
}

}  // namespace native
