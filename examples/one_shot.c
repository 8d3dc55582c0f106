/* One call in C: a 2x2 filter of ones with stride 2 repeats every element of a 2x2 image in a 2x2
 * block, because each element of the result meets exactly one tap. */
#include <dgrad/dgrad.h>
#include <stdio.h>

int main(void) {
  const int64_t input_sizes[4] = {1, 4, 4, 1};  /* in_backprop: batch, rows, columns, channels */
  const int64_t filter_shape[4] = {2, 2, 1, 1}; /* rows, columns, in channels, out channels */
  const int64_t out_backprop_shape[4] = {1, 2, 2, 1}; /* batch, rows, columns, channels */
  const int64_t strides[4] = {1, 2, 2, 1};
  const float filter[4] = {1, 1, 1, 1};
  const float out_backprop[4] = {1, 2, 3, 4};
  const float expected[16] = {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
  float in_backprop[16];

  dgrad_arguments arguments = {0};
  arguments.struct_size = sizeof arguments;
  arguments.input_sizes = input_sizes;
  arguments.input_sizes_count = 4;
  arguments.filter_shape = filter_shape;
  arguments.filter_rank = 4;
  arguments.out_backprop_shape = out_backprop_shape;
  arguments.out_backprop_rank = 4;
  arguments.strides = strides;
  arguments.strides_count = 4;
  arguments.padding = DGRAD_VALID;
  arguments.data_format = DGRAD_NHWC;
  arguments.dtype = DGRAD_FLOAT32;

  dgrad_run_arguments run = {0};
  run.struct_size = sizeof run;
  run.filter = filter;
  run.filter_bytes = sizeof filter;
  run.out_backprop = out_backprop;
  run.out_backprop_bytes = sizeof out_backprop;
  run.in_backprop = in_backprop;
  run.in_backprop_bytes = sizeof in_backprop;

  if (dgrad_conv2d_backprop_input(&arguments, NULL, &run) != DGRAD_OK) {
    fprintf(stderr, "%s\n", dgrad_last_error());
    return 1;
  }
  int wrong = 0;
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      printf(" %g", in_backprop[row * 4 + column]);
      wrong += in_backprop[row * 4 + column] != expected[row * 4 + column];
    }
    printf("\n");
  }
  return wrong != 0;
}
