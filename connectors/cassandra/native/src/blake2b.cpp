#include "blake2b.h"

#include <cstring>
#include <utility>

namespace native {
namespace {

constexpr size_t kBlock = 128;
constexpr uint64_t kStart[8] = {0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
                                0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};
constexpr uint8_t kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

inline uint64_t turned(uint64_t word, int bits) { return word >> bits | word << (64 - bits); }

inline void mix(uint64_t* v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = turned(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = turned(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = turned(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = turned(v[b] ^ v[c], 63);
}

template <size_t round>
inline void mix_all(uint64_t* v, const uint64_t* m) {
  constexpr const uint8_t* s = kOrder[round % 10];
  mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
  mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
  mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
  mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
  mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
  mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
  mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
  mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
}

// Each round by itself, so that its order is known where it is compiled.
template <size_t... rounds>
inline void mix_rounds(uint64_t* v, const uint64_t* m, std::index_sequence<rounds...>) {
  (mix_all<rounds>(v, m), ...);
}

// `counted`: the bytes up to the end of this block.
void compress(uint64_t* state, const uint8_t* block, uint64_t counted, bool is_last) {
  uint64_t m[16], v[16];
  std::memcpy(m, block, sizeof m);  // The machines with wheels are little-endian, as BLAKE2b is.
  std::memcpy(v, state, 64);
  std::memcpy(v + 8, kStart, sizeof kStart);
  v[12] ^= counted;
  if (is_last) v[14] = ~v[14];
  mix_rounds(v, m, std::make_index_sequence<12>{});
  for (int i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[i + 8];
}

}  // namespace

void blake2b(const uint8_t* data, size_t size, uint8_t* digest) {
  uint64_t state[8];
  std::memcpy(state, kStart, sizeof state);
  state[0] ^= 0x01010000 ^ kDigestBytes;
  size_t done = 0;
  for (; size - done > kBlock; done += kBlock) compress(state, data + done, done + kBlock, false);
  uint8_t last[kBlock] = {};
  if (size != done) std::memcpy(last, data + done, size - done);
  compress(state, last, size, true);
  std::memcpy(digest, state, kDigestBytes);
}

}  // namespace native
