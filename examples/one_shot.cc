// One call in C++: a 2x2 filter of ones with stride 2 repeats every element of a 2x2 image in a 2x2
// block, because each element of the result meets exactly one tap.
#include <dgrad/dgrad.hpp>
#include <iostream>
#include <vector>

int main() {
  const std::vector<float> filter = {1, 1, 1, 1};        // [2, 2, 1, 1]
  const std::vector<float> out_backprop = {1, 2, 3, 4};  // [1, 2, 2, 1]
  try {
    const std::vector<float> in_backprop = dgrad::conv2d_backprop_input<float>(
        {.input_sizes = {1, 4, 4, 1}, .filter_shape = {2, 2, 1, 1}, .strides = {1, 2, 2, 1}},
        filter, out_backprop);
    for (size_t i = 0; i < in_backprop.size(); ++i) {
      std::cout << in_backprop[i] << (i % 4 == 3 ? '\n' : ' ');
    }
    const std::vector<float> expected = {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
    return in_backprop == expected ? 0 : 1;
  } catch (const dgrad::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
