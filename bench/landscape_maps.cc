// Which shapes the landscape has.
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "landscape.h"

namespace dgrad::bench {
namespace {

struct Shape {
  int64_t batch = 1, height = 14, width = 14, channels = 64, filter_height = 3, filter_width = 3,
          out_channels = 64, stride = 1, dilation = 1, groups = 1;
};

std::string Text(const Shape& s) {
  // As many rows of padding as SAME has with a dense stride.
  const auto pad = [&](int64_t taps) { return (taps - 1) * s.dilation; };
  const int64_t rows = pad(s.filter_height);
  const int64_t columns = pad(s.filter_width);
  const auto text = [](int64_t value) { return std::to_string(value); };
  return "n" + text(s.batch) + "_h" + text(s.height) + "w" + text(s.width) + "c" +
         text(s.channels) + "_k" + text(s.filter_height) + "x" + text(s.filter_width) + "_oc" +
         text(s.out_channels) + "_s" + text(s.stride) + "x" + text(s.stride) + "_p" +
         text(rows / 2) + "," + text(rows - rows / 2) + "," + text(columns / 2) + "," +
         text(columns - columns / 2) + "_d" + text(s.dilation) + "x" + text(s.dilation) + "_g" +
         text(s.groups);
}

MapAxis Range(const char* label, int64_t first, int64_t last) {
  MapAxis axis = {label, std::vector<int64_t>(static_cast<size_t>(last - first + 1))};
  std::iota(axis.values.begin(), axis.values.end(), first);
  return axis;
}

Map MakeMap(const char* title, const MapAxis& x, const MapAxis& y,
            const std::function<Shape(int64_t, int64_t)>& shape) {
  Map map = {title, x, y, {}};
  for (const int64_t a : x.values) {
    for (const int64_t b : y.values) {
      Point point;
      point.problem = Text(shape(a, b));
      map.points.push_back(point);
    }
  }
  return map;
}

Map MakeLine(const char* title, const MapAxis& x, const std::function<Shape(int64_t)>& shape) {
  return MakeMap(title, x, {"", {0}}, [&](int64_t a, int64_t) { return shape(a); });
}

}  // namespace

std::vector<Map> LandscapeMaps() {
  const MapAxis channels = Range("channels", 1, 70);
  const MapAxis widths = Range("width", 1, 40);
  const MapAxis filters = Range("filter rows and columns", 1, 9);
  const MapAxis strides = Range("stride", 1, 5);
  const MapAxis odd = {"channels of both sides",
                       {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 53, 67}};
  const MapAxis primes = {"height and width", {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}};
  std::vector<Map> maps;
  maps.push_back(MakeLine("result channels, from 64", channels,
                          [](int64_t c) { return Shape{.channels = c}; }));
  maps.push_back(MakeLine("channels of out_backprop, to 64", channels,
                          [](int64_t c) { return Shape{.out_channels = c}; }));
  maps.push_back(MakeLine("channels of both sides", channels,
                          [](int64_t c) { return Shape{.channels = c, .out_channels = c}; }));
  maps.push_back(MakeLine("channels of both sides, 1x1", channels, [](int64_t c) {
    return Shape{.channels = c, .filter_height = 1, .filter_width = 1, .out_channels = c};
  }));
  maps.push_back(MakeLine("depthwise channels", channels, [](int64_t c) {
    return Shape{.channels = c, .out_channels = c, .groups = c};
  }));
  maps.push_back(MakeLine("channels of each of 4 groups", channels, [](int64_t c) {
    return Shape{.channels = 4 * c, .out_channels = 4 * c, .groups = 4};
  }));
  maps.push_back(MakeLine("width of 16 rows, 32 channels", widths, [](int64_t w) {
    return Shape{.height = 16, .width = w, .channels = 32, .out_channels = 32};
  }));
  maps.push_back(MakeLine("width and height, 32 channels", widths, [](int64_t w) {
    return Shape{.height = w, .width = w, .channels = 32, .out_channels = 32};
  }));
  maps.push_back(MakeLine("width of 16 rows, 3 channels from 32", widths, [](int64_t w) {
    return Shape{.height = 16, .width = w, .channels = 3, .out_channels = 32};
  }));
  maps.push_back(MakeLine("width of one row, 1x3", widths, [](int64_t w) {
    return Shape{.height = 1, .width = w, .filter_height = 1};
  }));
  for (const int64_t dilation : {1, 2, 3}) {
    const std::string suffix = ", dilation " + std::to_string(dilation);
    const auto add = [&](const char* what, int64_t c, int64_t oc, int64_t groups) {
      maps.push_back(MakeMap((what + suffix).c_str(), filters, strides, [=](int64_t k, int64_t s) {
        return Shape{.height = 30,
                     .width = 30,
                     .channels = c,
                     .filter_height = k,
                     .filter_width = k,
                     .out_channels = oc,
                     .stride = s,
                     .dilation = dilation,
                     .groups = groups};
      }));
    };
    add("32 channels", 32, 32, 1);
    add("3 channels from 32", 3, 32, 1);
    add("depthwise, 64 channels", 64, 64, 64);
  }
  maps.push_back(MakeMap("odd and prime sizes", primes, odd, [](int64_t h, int64_t c) {
    return Shape{.height = h, .width = h, .channels = c, .out_channels = c};
  }));
  return maps;
}

}  // namespace dgrad::bench
