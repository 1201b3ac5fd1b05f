// How far a text can be copied as it is: sixteen bytes per step where the processor has SSE2, else eight.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace native {

constexpr uint64_t kOnes = 0x0101010101010101ULL;
constexpr uint64_t kHighs = 0x8080808080808080ULL;

// Whether `byte` ends a run: a quote, a backslash, a control character, or from `Limit` on (0x80 or 0xF0).
template <uint8_t Limit>
inline bool is_special(uint8_t byte) {
  return byte < 0x20 || byte == '"' || byte == '\\' || byte >= Limit;
}

// The first special byte in [from, end), or `end`.
template <uint8_t Limit>
inline const uint8_t* find_special(const uint8_t* from, const uint8_t* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1F), limit = _mm_set1_epi8(static_cast<char>(Limit));
  while (end - from >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(_mm_max_epu8(bytes, limit), bytes));
    const int mask = _mm_movemask_epi8(found);
    if (mask != 0) return from + __builtin_ctz(static_cast<unsigned>(mask));
    from += 16;
  }
#else
  // A word without a special byte; one that only may have one is looked at byte by byte.
  while (end - from >= 8) {
    uint64_t word;
    std::memcpy(&word, from, 8);
    const uint64_t quote = word ^ (kOnes * '"'), backslash = word ^ (kOnes * '\\');
    const uint64_t found = (quote - kOnes) | (backslash - kOnes) | (word - kOnes * 0x20) | word;
    if ((found & kHighs) != 0) break;
    from += 8;
  }
#endif
  while (from < end && !is_special<Limit>(*from)) ++from;
  return from;
}

}  // namespace native
