// How the vectors (or columns) of a product are cut into register tiles.
#ifndef DGRAD_ALGORITHMS_BLOCKS_H_
#define DGRAD_ALGORITHMS_BLOCKS_H_

#include <cstdint>

namespace dgrad {

struct Block {
  int64_t first = 0;
  int count = 1;
};

// Blocks of two; one of three when the number is odd; one of one only if there is one.
inline int64_t BlockCount(int64_t total) { return total == 1 ? 1 : total / 2; }
inline Block BlockAt(int64_t total, int64_t index) {
  const bool last = index == BlockCount(total) - 1;
  return {2 * index, static_cast<int>(last ? total - 2 * index : 2)};
}

}  // namespace dgrad

#endif  // DGRAD_ALGORITHMS_BLOCKS_H_
