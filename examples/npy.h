// A small reader of NumPy's .npy files for the examples: versions 1 and 2, C order, little-endian
// float16 (as uint16_t), float32, float64 and int32. Anything else is an error with a message.
#ifndef DGRAD_EXAMPLES_NPY_H_
#define DGRAD_EXAMPLES_NPY_H_

#include <bit>
#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace npy {

static_assert(std::endian::native == std::endian::little, "the reader does not swap bytes");

template <typename T>
struct Array {
  std::vector<int64_t> shape;
  std::vector<T> values;
};

// NumPy's name of an element type.
template <typename T>
struct Descr;
template <>
struct Descr<uint16_t> {
  static constexpr std::string_view kName = "<f2";
};
template <>
struct Descr<float> {
  static constexpr std::string_view kName = "<f4";
};
template <>
struct Descr<double> {
  static constexpr std::string_view kName = "<f8";
};
template <>
struct Descr<int32_t> {
  static constexpr std::string_view kName = "<i4";
};

// The header is a Python dictionary with the keys descr, fortran_order and shape, in any order:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

  // Fills *shape; throws unless the type is `descr` in C order.
  void Read(std::string_view descr, std::vector<int64_t>* shape) {
    bool has_descr = false, has_order = false, has_shape = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string_view key = String();
      Expect(':');
      if (key == "descr" && !has_descr) {
        const std::string_view given = String();
        if (given != descr) {
          Fail("has elements of type " + std::string(given) + ", expected " + std::string(descr));
        }
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        if (Word() != "False") Fail("is not in C order");
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        *shape = Tuple();
        has_shape = true;
      } else {
        Fail("has the unexpected header key " + std::string(key));
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (!rest_.empty()) Fail("has text after the header");
    if (!has_descr || !has_order || !has_shape) Fail("has an incomplete header");
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw std::runtime_error(path_ + " " + what);
  }

  void SkipSpace() {
    const size_t n = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(n == std::string_view::npos ? rest_.size() : n);
  }

  bool Accept(char c) {
    SkipSpace();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Fail(std::string("has a damaged header: no ") + c);
  }

  std::string_view Take(size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string_view String() {
    Expect('\'');
    const size_t end = rest_.find('\'');
    if (end == std::string_view::npos) Fail("has a damaged header: an open string");
    const std::string_view text = Take(end);
    rest_.remove_prefix(1);
    return text;
  }

  std::string_view Word() {
    SkipSpace();
    size_t n = 0;
    while (n < rest_.size() && rest_[n] >= 'A' && rest_[n] <= 'z') ++n;
    return Take(n);
  }

  std::vector<int64_t> Tuple() {
    std::vector<int64_t> values;
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      int64_t value = 0;
      size_t n = 0;
      for (; n < rest_.size() && rest_[n] >= '0' && rest_[n] <= '9'; ++n) {
        if (n == 18) Fail("has a dimension that is too large");
        value = value * 10 + (rest_[n] - '0');
      }
      if (n == 0) Fail("has a damaged header: no number in the shape");
      rest_.remove_prefix(n);
      values.push_back(value);
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view rest_;
  const std::string& path_;
};

template <typename T>
Array<T> Read(const std::string& path) {
  const auto fail = [&path](const std::string& what) {
    throw std::runtime_error(path + " " + what);
  };
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail("can't be opened");
  const auto file_bytes = static_cast<uint64_t>(file.tellg());
  file.seekg(0);

  unsigned char prefix[12] = {};
  const auto read = [&file](void* to, uint64_t bytes) {
    return static_cast<bool>(
        file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  };
  if (!read(prefix, 10) || std::string_view(reinterpret_cast<char*>(prefix), 6) != "\x93NUMPY") {
    fail("is not a .npy file");
  }
  const int version = prefix[6];
  if (version != 1 && version != 2) fail("has format version " + std::to_string(version));
  if (version == 2 && !read(prefix + 10, 2)) fail("is cut short");
  const uint64_t prefix_bytes = version == 1 ? 10 : 12;
  uint64_t header_bytes = prefix[8] | prefix[9] << 8;
  if (version == 2) header_bytes |= uint64_t{prefix[10]} << 16 | uint64_t{prefix[11]} << 24;
  if (header_bytes > file_bytes - prefix_bytes) fail("is cut short");
  std::string header(header_bytes, '\0');
  if (!read(header.data(), header_bytes)) fail("is cut short");

  Array<T> array;
  HeaderReader(header, path).Read(Descr<T>::kName, &array.shape);
  uint64_t count = 1;
  for (const int64_t size : array.shape) {
    const auto n = static_cast<uint64_t>(size);
    if (n != 0 && count > std::numeric_limits<uint64_t>::max() / sizeof(T) / n) {
      fail("has a shape that is too large");
    }
    count *= n;
  }
  if (count * sizeof(T) != file_bytes - prefix_bytes - header_bytes) {
    fail("has a size that does not fit its shape");
  }
  array.values.resize(count);
  if (!read(array.values.data(), count * sizeof(T))) fail("is cut short");
  return array;
}

}  // namespace npy

#endif  // DGRAD_EXAMPLES_NPY_H_
